"""The first duty: a long, noisy report becomes a clean account, which the local judge then judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from knowledge.evidence import Reading
from knowledge.report import Report
from llm.fence import Fence
from llm.replies import ReaderReply, check, reader_schema
from llm.shown_lines import NOTE_TOKENS, ShownLines, choose_lines
from llm.texts import make_request
from llm.values import ChatRequest

QUESTION_TOKENS = 7_000
"""Of the reader's whole question, estimated; the report gets what the rest leaves."""
ACCOUNT_WORDS = 150
_LINES = 8


@dataclass(frozen=True, slots=True)
class Account:
    """The report as the reader tells it. Its lines and versions are real: what was made up is dropped."""

    text: str
    lines: tuple[int, ...]
    versions: Mapping[str, str]
    dropped: int
    """Lines and versions that the model made up."""


def reader_request(reading: Reading, token: str) -> tuple[ChatRequest, ShownLines]:
    """The request and the lines it shows."""

    def request(shown: ShownLines) -> ChatRequest:
        def fill(fence: Fence) -> dict[str, str]:
            report = fence.around("REPORT", shown.text)
            return {"framework": _word(reading.framework), "report": report, "partly": shown.partly}

        return make_request("reader", fill, reader_schema(), token, reading.report.content_hash)

    rest = request(ShownLines({})).estimated
    shown = choose_lines(reading, QUESTION_TOKENS - rest - NOTE_TOKENS)
    return request(shown), shown


def read_account(value: Mapping[str, Any], shown: ShownLines) -> Account:
    """The account in a reply, held against the lines that were shown. Raises `WrongSchema`."""
    reply = check(ReaderReply, value)
    lines = [n for n in dict.fromkeys(reply.lines) if n in shown.lines]
    stated = {v.component.strip().lower(): v.version.strip() for v in reply.versions}
    text = shown.text.lower()
    versions = {c: v for c, v in stated.items() if c and v and v.lower() in text}
    dropped = len(set(reply.lines)) - len(lines) + len(stated) - len(versions)
    # Back-ticks could open a code block, in which the judge would read prose as a log.
    words = reply.account.replace("`", " ").split()[:ACCOUNT_WORDS]
    return Account(" ".join(words), tuple(lines[:_LINES]), versions, dropped)


def as_report(account: Account, reading: Reading, shown: ShownLines) -> Report:
    """The account as a report of its own: prose, versions, and the cited lines as the report has them."""
    parts = [account.text]
    if account.versions:
        parts.append(", ".join(f"{name} {version}" for name, version in account.versions.items()) + ".")
    cited = [shown.lines[n].replace("`", "'") for n in account.lines if n > 0]
    if cited:
        parts.append("\n".join(["```", *cited, "```"]))
    return replace(reading.report, body="\n\n".join(parts), is_log=False, notes=())


def _word(framework: str | None) -> str:
    return framework if framework and framework.isascii() and framework.isalnum() else "not known"
