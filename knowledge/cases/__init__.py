"""The corpus of labelled cases."""

from knowledge.cases.corpus import (
    Case,
    CorpusStats,
    Ending,
    Problem,
    Reading,
    check_cases,
    load_cases,
    read_cases,
    shipped_files,
    sound_cases,
    stats,
)

__all__ = [
    "Case",
    "CorpusStats",
    "Ending",
    "Problem",
    "Reading",
    "check_cases",
    "load_cases",
    "read_cases",
    "shipped_files",
    "sound_cases",
    "stats",
]
