"""Evidence: the report read closely (prose, code and logs apart, decisive lines, versions, launcher)."""

from knowledge.evidence.reading import Reading, read_report

__all__ = ["Reading", "read_report"]
