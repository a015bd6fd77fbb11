"""The second call on a draft, with fresh context: it sees the report and tries to refute each part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm.draft import Draft
from llm.faults import WrongSchema
from llm.fence import Fence
from llm.replies import VerifierReply, check, verifier_schema
from llm.texts import make_request
from llm.values import ChatRequest
from llm.verify import numbered_parts
from llm.writer import WriterQuestion


def verifier_request(draft: Draft, question: WriterQuestion, token: str) -> ChatRequest:
    """The request about a draft that the program let pass; report and draft stand within the fence."""

    def fill(fence: Fence) -> dict[str, str]:
        known = [*(f"[{id_}] {text}" for id_, text in {**question.entries, **question.cases}.items())]
        return {
            "known": fence.around("KNOWN", "\n".join([*known, question.facts])),
            "report": fence.around("REPORT", question.shown.text),
            "partly": question.shown.partly,
            "draft": fence.around("DRAFT", "\n".join(numbered_parts(draft))),
        }

    return make_request("verifier", fill, verifier_schema(), token)


def read_verdicts(value: Mapping[str, Any], draft: Draft) -> frozenset[int]:
    """Numbers of the parts that do not hold; one without a word on it does not. Raises `WrongSchema`."""
    reply = check(VerifierReply, value)
    parts = set(range(1, len(numbered_parts(draft)) + 1))
    holding = {v.number for v in reply.verdicts if v.holds} - {
        v.number for v in reply.verdicts if not v.holds
    }
    if not reply.verdicts or not {v.number for v in reply.verdicts} <= parts:
        raise WrongSchema(detail="verdicts")
    return frozenset(parts - holding)
