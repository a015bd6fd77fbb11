"""The corpus of labelled cases."""

from knowledge.cases.case import Case, Ending
from knowledge.cases.corpus import CorpusStats, check_cases, load_cases, shipped_files, stats
from knowledge.cases.file import Problem, Reading, read_cases, sound_cases

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
