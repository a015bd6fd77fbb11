"""The taxonomy of distributed-training faults as data, and the importers of the studies behind it."""

from knowledge.taxonomy.entries import (
    CauseEntry,
    Entry,
    FixEntry,
    OpenSlot,
    StageEntry,
    SymptomEntry,
    TopicEntry,
    TypeEntry,
)
from knowledge.taxonomy.loader import load_taxonomy
from knowledge.taxonomy.model import Taxonomy

__all__ = [
    "CauseEntry",
    "Entry",
    "FixEntry",
    "OpenSlot",
    "StageEntry",
    "SymptomEntry",
    "Taxonomy",
    "TopicEntry",
    "TypeEntry",
    "load_taxonomy",
]
