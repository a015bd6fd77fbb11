"""The exact requests that a triage would send, without sending them."""

from __future__ import annotations

from typing import Any

from bot.llm.adjudicator import adjudicator_request
from bot.llm.config import LlmConfig
from bot.llm.dialect import Dialect, arguments
from bot.llm.fence import new_token
from bot.llm.reader import reader_request
from bot.llm.second_reader import make_question
from bot.llm.values import ChatRequest
from knowledge.engine import Knowledge, examine
from knowledge.report import Report


def dry_run(report: Report, knowledge: Knowledge, config: LlmConfig) -> list[dict[str, Any]]:
    """One {"duty", "url", "headers", "body"} a duty, in the order of asking; the key is not shown.

    The body is what goes over the wire first; a server that refuses part of it gets less (`bot.llm.dialect`).
    The adjudicator's request lacks the reader's account, which only the LLM could give.
    """
    examined = examine(report, knowledge)
    requests: list[ChatRequest] = []
    if "reader" in config.duties:
        requests.append(reader_request(examined.reading, new_token())[0])
    if "adjudicator" in config.duties:
        question = make_question(examined, examined.judgement, None)
        requests.append(adjudicator_request(question, knowledge.taxonomy, new_token()))
    return [_shown(request, config) for request in requests]


def _shown(request: ChatRequest, config: LlmConfig) -> dict[str, Any]:
    return {
        "duty": request.duty,
        "url": config.base_url.rstrip("/") + "/chat/completions",
        "headers": {"Authorization": "Bearer ***" if config.api_key else "Bearer none"},
        "body": arguments(request, config, Dialect()),
    }
