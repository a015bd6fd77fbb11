"""The exact requests that a triage would send, without sending them."""

from __future__ import annotations

from typing import Any

from knowledge.engine import Knowledge, conclude, examine
from knowledge.report import Report
from llm.address import address_of
from llm.adjudicator import adjudicator_request
from llm.config import LlmConfig
from llm.dialect import Dialect, arguments
from llm.fence import new_token
from llm.reader import reader_request
from llm.second_reader import bare, make_question
from llm.values import ChatRequest
from llm.writer import writer_question, writer_request

_AFTER_READER = (
    "The reader's account is added at the end, and moves the candidates' probabilities: "
    "only the LLM's first answer could tell it."
)


_AFTER_RANKING = (
    "Known failures, versions and cases are those of the local triage. "
    "The verifier is asked about the draft that comes back."
)


def dry_run(report: Report, knowledge: Knowledge, config: LlmConfig) -> list[dict[str, Any]]:
    """One {"duty", "report", "url", "headers", "body"} a duty, in the order of asking; the key is not shown.

    The body is what goes over the wire first; a server that refuses part of it gets less (`llm.dialect`).
    An adjudicator that is asked after the reader has a "remark" on what its request cannot show yet.
    """
    examined = examine(bare(report), knowledge)
    shown: list[dict[str, Any]] = []
    if "reader" in config.duties:
        shown.append(_shown(report, reader_request(examined.reading, new_token())[0], config))
    if "adjudicator" in config.duties:
        request = adjudicator_request(
            make_question(examined, knowledge.taxonomy), knowledge.taxonomy, new_token()
        )
        remark = {"remark": _AFTER_READER} if shown else {}
        shown.append({**_shown(report, request, config), **remark})
    if "writer" in config.duties:
        question = writer_question(conclude(examined, knowledge), examined.reading)
        ask = _shown(report, writer_request(question, new_token()), config)
        shown.append({**ask, "remark": _AFTER_RANKING})
    return shown


def _shown(report: Report, request: ChatRequest, config: LlmConfig) -> dict[str, Any]:
    address = address_of(config.base_url)
    key = "***" if config.api_key else "none"
    return {
        "duty": request.duty,
        "report": report.id,
        "url": address.url,
        "headers": address.key_header(key),
        "body": arguments(request, config, Dialect()),
    }
