"""The corpus of labelled cases."""

from knowledge.cases.case import Case
from knowledge.cases.corpus import check_cases, load_cases, shipped_files
from knowledge.cases.reading import Problem, Reading, read_cases, sound_cases
from knowledge.cases.stats import CorpusStats, stats

__all__ = [
    "Case",
    "CorpusStats",
    "Problem",
    "Reading",
    "check_cases",
    "load_cases",
    "read_cases",
    "shipped_files",
    "sound_cases",
    "stats",
]
