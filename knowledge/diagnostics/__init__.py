"""Probes that tell the remaining causes apart: compose a script, read its result back, move the causes."""

from knowledge.diagnostics.compose import compose_script, script_of, select_probes
from knowledge.diagnostics.probe import CAUSES, Outcome, Probe, by_id, catalogue
from knowledge.diagnostics.result import ProbeAnswer, ProbeResult, has_result, parse_result
from knowledge.diagnostics.update import Finding, Move, RankDifference, Update, update

__all__ = [
    "CAUSES",
    "Finding",
    "Move",
    "Outcome",
    "Probe",
    "ProbeAnswer",
    "ProbeResult",
    "RankDifference",
    "Update",
    "by_id",
    "catalogue",
    "compose_script",
    "has_result",
    "parse_result",
    "script_of",
    "select_probes",
    "update",
]
