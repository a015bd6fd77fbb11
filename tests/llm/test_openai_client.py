"""The client against a real socket: every fault becomes our word for it, in time."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from llm import faults
from llm.dialect import Dialect
from llm.openai_client import OpenAiClient
from llm.values import ChatRequest, LlmConfig, Tokens
from tests.llm.fake_server import Answer, FakeLlm

ASKED = ChatRequest("reader", "system words", "user words " * 20, {"type": "object"}, "key")


def test_a_good_reply_comes_whole_with_its_tokens(llm: FakeLlm, client: OpenAiClient) -> None:
    llm.answers.append(Answer('{"a": "é"}'))
    reply = client.complete(ASKED, 5)
    assert (reply.text, reply.tokens) == ('{"a": "é"}', Tokens(1000, 100))


def test_the_request_holds_model_key_schema_and_both_texts(llm: FakeLlm, client: OpenAiClient) -> None:
    client.complete(ASKED, 5)
    body = llm.requests[0]
    assert body["model"] == "acme-7b"
    assert [m["content"] for m in body["messages"]] == [ASKED.system, ASKED.user]
    assert body["response_format"]["json_schema"]["schema"] == ASKED.schema
    assert "tools" not in body
    assert llm.seen_headers[0]["authorization"] == "Bearer key-1"


def test_without_a_key_the_one_of_the_environment_is_not_sent(
    llm: FakeLlm, config: LlmConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "somebody-elses")
    with OpenAiClient(replace(config, api_key="")) as client:
        client.complete(ASKED, 5)
    assert llm.seen_headers[0]["authorization"] == "Bearer none"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Answer(status=500), faults.ServerError),
        (Answer(status=503), faults.ServerError),
        (Answer(status=401), faults.Denied),
        (Answer(status=403), faults.Denied),
        (Answer(status=404), faults.BadRequest),
        (Answer(status=429), faults.RateLimited),
        (Answer(status=307, headers={"Location": "http://127.0.0.1:9/v1"}), faults.BadRequest),
        (Answer(refusal="I will not."), faults.Refused),
        (Answer(finish="content_filter"), faults.Refused),
        (Answer('{"a": ', finish="length"), faults.Truncated),
        (Answer(finish=None), faults.Truncated),
        (Answer(finish=None, done=False), faults.Truncated),
        (Answer(finish="tool_calls"), faults.Truncated),
        (Answer(cut_after=0), faults.Unreachable),
        (Answer("{}" * 50, cut_after=2), faults.Unreachable),
        (Answer(model="other-70b"), faults.WrongModel),
        (Answer(raw=b"data: {not json\n\n"), faults.ServerError),
        (Answer(raw=b'data: {"error": {"message": "out of memory"}}\n\n'), faults.ServerError),
        (Answer(raw=b"<html>proxy login</html>"), faults.Truncated),
        (Answer("x" * 300_000), faults.TooLong),
    ],
    ids=lambda value: "" if isinstance(value, Answer) else value.reason,
)
def test_fault(llm: FakeLlm, client: OpenAiClient, answer: Answer, fault: type[faults.LlmFault]) -> None:
    llm.answers.append(answer)
    with pytest.raises(fault):
        client.complete(ASKED, 5)


@pytest.mark.parametrize(
    "raw",
    [
        b"data: []\n\n",
        b"data: 3\n\n",
        b'data: "x"\n\n',
        b"data: null\n\n",
        b'data: {"choices": "none"}\n\n',
        b'data: {"choices": [null]}\n\n',
        b'data: {"choices": [{"delta": 3, "finish_reason": 4}]}\n\n',
        b'data: {"choices": [{"delta": {"content": {"a": 1}}}], "usage": {"prompt_tokens": "many"}}\n\n',
        b"\xff\xfe\x00garbage",
        b"data: [DONE]\n\n",
        b"",
    ],
)
def test_a_stream_of_another_shape_is_a_fault_and_no_defect(
    llm: FakeLlm, client: OpenAiClient, raw: bytes
) -> None:
    llm.answers.append(Answer(raw=raw))
    with pytest.raises(faults.LlmFault):
        client.complete(ASKED, 5)


@pytest.mark.parametrize(
    "answer",
    [Answer(silent=30), Answer("{}" * 500, drip=0.05), Answer(raw=b"data: " + b" " * 2000, drip=0.05)],
    ids=["silent", "dripping", "dripping one endless line"],
)
def test_a_slow_server_is_left_at_the_deadline(llm: FakeLlm, client: OpenAiClient, answer: Answer) -> None:
    llm.answers.append(answer)
    start = time.monotonic()
    with pytest.raises(faults.TimedOut):
        client.complete(ASKED, 0.6)
    assert time.monotonic() - start < 1.5


def test_a_timeout_costs_what_was_probably_read_and_written(llm: FakeLlm, client: OpenAiClient) -> None:
    llm.answers.append(Answer("abc" * 100, cut_after=None, linger=0, drip=0.002, finish=None))
    with pytest.raises(faults.TimedOut) as caught:
        client.complete(ASKED, 1.0)
    assert caught.value.tokens.input == pytest.approx(len(ASKED.system + ASKED.user) / 3, abs=1)


def test_a_server_that_never_ends_its_stream_does_not_keep_a_finished_reply(
    llm: FakeLlm, client: OpenAiClient
) -> None:
    llm.answers.append(Answer('{"a": 1}', linger=20))
    start = time.monotonic()
    assert client.complete(ASKED, 10).text == '{"a": 1}'
    assert time.monotonic() - start < 3


def test_nobody_listens(config: LlmConfig) -> None:
    nobody = replace(config, base_url="http://127.0.0.1:9/v1")
    with OpenAiClient(nobody) as client, pytest.raises(faults.Unreachable):
        client.complete(ASKED, 5)


def test_retry_after_is_told(llm: FakeLlm, client: OpenAiClient) -> None:
    llm.answers.append(Answer(status=429, headers={"Retry-After": "7"}))
    with pytest.raises(faults.RateLimited) as caught:
        client.complete(ASKED, 5)
    assert caught.value.after == 7.0


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": -5, "completion_tokens": 1}, {"prompt_tokens": "x"}, "y"]
)
def test_usage_that_makes_no_sense_is_estimated(llm: FakeLlm, client: OpenAiClient, usage: object) -> None:
    llm.answers.append(Answer("{}" * 30, usage=usage))
    assert client.complete(ASKED, 5).tokens == Tokens(-(-len(ASKED.system + ASKED.user) // 3), 20)


@pytest.mark.parametrize(
    ("refuses", "dialect", "asked"),
    [
        (("json_schema",), Dialect(structure="json_object"), 2),
        (("json_schema", "json_object"), Dialect(structure="text"), 3),
        (("temperature",), Dialect(temperature=False), 2),
        (("max_tokens",), Dialect(limit="max_completion_tokens"), 2),
        (
            ("stream_options", "response_format"),
            Dialect(structure="text", stream_options=False),
            4,
        ),
    ],
)
def test_what_a_server_does_not_know_is_left_out_and_remembered(
    llm: FakeLlm, client: OpenAiClient, refuses: tuple[str, ...], dialect: Dialect, asked: int
) -> None:
    llm.refuses = refuses
    assert client.complete(ASKED, 5).text == "{}"
    assert (client.dialect, len(llm.requests)) == (dialect, asked)
    client.complete(ASKED, 5)
    assert len(llm.requests) == asked + 1


def test_a_request_refused_in_every_dialect_is_not_remembered(llm: FakeLlm, client: OpenAiClient) -> None:
    llm.brain = lambda body: Answer(status=400, error={"message": "context too long"})
    with pytest.raises(faults.BadRequest):
        client.complete(ASKED, 5)
    assert client.dialect == Dialect()


def test_messages_of_the_server_reach_no_fault(llm: FakeLlm, client: OpenAiClient) -> None:
    llm.answers.append(Answer(status=500, error={"message": "could not serve: user words"}))
    with pytest.raises(faults.ServerError) as caught:
        client.complete(ASKED, 5)
    assert json.dumps(str(caught.value)) == '"server_error: 500"'
    assert caught.value.__cause__ is None
