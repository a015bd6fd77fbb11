"""Version facts: which versions are known not to work together, each with its source."""

from __future__ import annotations

from knowledge.versions.facts import Requirement, VersionFact, explained_conflicts, find_conflicts, load_facts

__all__ = ["Requirement", "VersionFact", "explained_conflicts", "find_conflicts", "load_facts"]
