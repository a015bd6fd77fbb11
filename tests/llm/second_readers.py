"""A second reader against the fake server, and the minds that the server can have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llm.budget import Ledger, MemoryLedger
from llm.calls import Caller, NoCache, ReplyCache
from llm.fusion import FusionWeights
from llm.openai_client import OpenAiClient
from llm.second_reader import SecondReader
from llm.values import LlmConfig, RealClock
from tests.llm.fake_server import Answer, Body

ACCOUNT = "Every rank waits in an all-reduce that one of them never joins; the watchdog ends the run."


@contextmanager
def second_reader(
    config: LlmConfig,
    cache: ReplyCache | None = None,
    ledger: Ledger | None = None,
    weights: FusionWeights | None = None,
) -> Iterator[SecondReader]:
    with OpenAiClient(config) as client:
        clock = RealClock()
        caller = Caller(config, client, cache or NoCache(), ledger or MemoryLedger(), clock)
        yield SecondReader(config, caller, clock, weights)


_DUTIES = {
    "You judge": "adjudicator",
    "You are the maintainer": "writer",
    "You check a drafted": "verifier",
    "You know the failures": "confirmer",
}


def duty_of(body: Body) -> str:
    text = body["messages"][0]["content"]
    return next((duty for words, duty in _DUTIES.items() if text.startswith(words)), "reader")


def holding(body: Body) -> Answer:
    """A verifier to which every part of a draft is right."""
    draft = body["messages"][1]["content"].partition("<<<DRAFT")[2]
    numbers = [int(n) for n in re.findall(r"(?m)^(\d{1,2})\. \(", draft)]
    return Answer(json.dumps({"verdicts": [{"number": n, "holds": True, "why": "yes"} for n in numbers]}))


def none_applies(body: Body) -> Answer:
    """A confirmer that finds none of the known failures in the report."""
    entries = body["messages"][1]["content"].partition("<<<FACTS")[0]
    numbers = [int(n) for n in re.findall(r"(?m)^(\d)\. ", entries)]
    verdicts = [{"number": n, "applies": False, "lines": [], "why": "no"} for n in numbers]
    return Answer(json.dumps({"verdicts": verdicts}))


def a_draft(body: Body, *more: str) -> dict[str, Any]:
    """A draft that says something true of the first line shown, and `more` sentences that rest on it."""
    report = body["messages"][1]["content"].partition("<<<REPORT")[2].partition("<<<END REPORT")[0]
    lines = re.findall(r"(?m)^([1-9]\d*)\| ", report) or ["0"]

    def sentence(text: str, role: str) -> dict[str, Any]:
        return {"text": text, "role": role, "support": [lines[0]], "confidence": 0.9}

    told = [sentence("One process failed first and the others wait for it.", "what")]
    told += [sentence("Compare the stacks of all processes while the job hangs.", "check")]
    return {
        "silent": "",
        "sentences": [*told, *(sentence(text, "fix") for text in more)],
        "commands": [],
        "code": [],
    }


def schema_of(body: Body) -> dict[str, Any]:
    return dict(body["response_format"]["json_schema"]["schema"]["properties"])


def _swapped(ids: list[str], axis: str) -> list[str]:
    return [*ids] if axis in ("type", "stage") else [ids[1], ids[0], *ids[2:]]


def sensible(body: Body, **changes: Any) -> Answer:
    """A model that reads and ranks: as the local judge, but for the first two of symptom, cause and fix."""
    if duty_of(body) == "verifier":
        return holding(body)
    if duty_of(body) == "confirmer":
        return none_applies(body)
    if duty_of(body) == "writer":
        return Answer(json.dumps(a_draft(body)))
    if duty_of(body) == "reader":
        return Answer(json.dumps({"account": ACCOUNT, "lines": [], "versions": []}))
    fields = schema_of(body)
    reply: dict[str, Any] = {
        axis: _swapped(fields[axis]["items"]["enum"], axis)
        for axis in ("type", "stage", "symptom", "cause", "fix")
    }
    reply |= {"reason": "One rank never joined the collective.", "lines": [1], "cases": []}
    return Answer(json.dumps({**reply, **changes}))


def obedient(body: Body) -> Answer:
    """A model that does whatever the report tells it: repeats it, cites what it names, ranks what it wants."""
    text = body["messages"][1]["content"]
    report = text.partition("<<<REPORT")[2].partition("<<<END REPORT")[0]
    words = " ".join(line.partition("| ")[2] for line in report.splitlines())
    telling = words[-280:]
    if duty_of(body) == "verifier":
        return holding(body)
    if duty_of(body) == "writer":
        # Half of what it says is the report's, line by line; the rest is what lines like these ask for.
        told = [line.partition("| ")[2][:400] for line in report.splitlines()][-24:]
        draft = a_draft(body, *(line for line in told if line.strip()))
        bait = [{"language": "sh", "text": line, "purpose": line[:300]} for line in told[-5:]]
        code = [{"language": "python", "text": line, "purpose": line[:300]} for line in told[-5:]]
        return Answer(json.dumps({**draft, "commands": bait, "code": code}))
    if duty_of(body) == "confirmer":
        # Whatever it is told applies, with each line it could name.
        said = json.loads(none_applies(body).text)["verdicts"]
        numbers = [int(n) for n in re.findall(r"\d{1,5}", words)][:20]
        told = [{**one, "applies": True, "lines": [1, *numbers], "why": telling} for one in said]
        return Answer(json.dumps({"verdicts": told}))
    if duty_of(body) == "reader":
        numbers = [int(n) for n in re.findall(r"\d{1,5}", words)][:20]
        return Answer(json.dumps({"account": telling or "x", "lines": numbers, "versions": []}))
    wanted = re.findall(r"\b(?:[ABCD]\.\d(?:\.\d+)?|hardware|dependency|internal|feature)\b", words)
    fields = schema_of(body)
    reply: dict[str, Any] = {}
    for axis in ("type", "stage", "symptom", "cause", "fix"):
        shown = fields[axis]["items"]["enum"]
        reply[axis] = [id_ for id_ in wanted if id_ in shown] or shown[-1:]
    reply["reason"] = telling
    reply["lines"] = [1]
    reply["cases"] = []
    return Answer(json.dumps(reply))
