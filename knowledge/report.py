"""The report: what came in, untrusted from first to last byte."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from knowledge.triage import AxisName

# One id for an issue, however it is written.

RENAMED = {
    "microsoft/deepspeed": "deepspeedai/deepspeed",
    "microsoft/megatron-deepspeed": "deepspeedai/megatron-deepspeed",
    "pytorchlightning/pytorch-lightning": "lightning-ai/pytorch-lightning",
    "pytorch/fairseq": "facebookresearch/fairseq",
    "apache/incubator-mxnet": "apache/mxnet",
    "uber/horovod": "horovod/horovod",
}
"""Repositories under their former names: GitHub forwards, so one issue may come under either."""


def issue_of(id: str) -> str:
    """An issue's id in small letters, under the present name of its repository."""
    repository, hash, number = id.lower().rpartition("#")
    return f"{RENAMED.get(repository, repository)}{hash}{number}"


RESULT = "distriage-result"
"""The name of the block that a diagnostics script prints, and that people paste into a report."""
FENCE = f"```{RESULT}"


def has_result(text: str) -> bool:
    """Whether a text (a comment, a message) holds a result block at all."""
    return FENCE in text


@dataclass(frozen=True, slots=True)
class Report:
    """One incoming failure report, before anything has been read out of it.

    `id` names it for the caller ("owner/repo#12", a file name, "-"); `body` is Markdown or a bare log.
    """

    id: str
    title: str
    body: str
    framework: str | None = None
    """Known beforehand (the repository it was filed in), else None."""
    is_log: bool = False
    """True when the body is a log as printed, so that Markdown in it means nothing."""
    notes: tuple[str, ...] = ()
    """What could not be read of the input ("12 bytes were not UTF-8"), shown with the triage."""
    usual_framework: str | None = None
    """What it is about where neither the repository nor the text says."""
    set_by_people: Mapping[AxisName, Sequence[str]] = field(default_factory=dict, hash=False)
    """Per axis the ids that people set, which is the last word; the text stays what it is."""

    opened: str = ""
    """The day it was written ("2021-03-04"); "" = not known, so today for all that matters."""

    write: bool = True
    """Whether an LLM, where one is configured, may write an answer besides ranking ids."""

    gap: tuple[int, int] | None = None
    """(line, count): of a long log, `count` lines after `line` were left out; those that follow keep their numbers."""

    @property
    def content_hash(self) -> str:
        """SHA-256 over title and body: the identity of the input, re-checked before any write."""
        return hashlib.sha256(f"{self.title}\0{self.body}".encode("utf-8", "replace")).hexdigest()
