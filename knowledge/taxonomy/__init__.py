"""The taxonomy of distributed-training faults as data, and the importers of the studies behind it."""

from knowledge.taxonomy.model import (
    CauseEntry,
    Entry,
    FixEntry,
    OpenSlot,
    StageEntry,
    SymptomEntry,
    Taxonomy,
    TopicEntry,
    TypeEntry,
    load_taxonomy,
)

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
