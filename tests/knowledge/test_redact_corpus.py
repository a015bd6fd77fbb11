"""Made-up secrets of many kinds leave in every spelling; look-alikes stay."""

from __future__ import annotations

import time

import pytest

from knowledge.redaction import redact
from knowledge.text.quote import code_span
from tests.knowledge.redaction import forms, named, tokens
from tests.knowledge.redaction.harmless import LINES
from tests.knowledge.redaction.parts import Secret

SEEN = [*tokens.cases(tokens.SEEN), *named.SEEN, *forms.SEEN]
HELD_OUT = [*tokens.cases(tokens.HELD_OUT), *named.HELD_OUT, *forms.HELD_OUT]
ALL = SEEN + HELD_OUT + named.FURTHER


@pytest.mark.parametrize("secret", ALL, ids=str)
def test_nothing_of_a_secret_stays(secret: Secret) -> None:
    cleaned = redact(f"before\n{secret.text}\nafter")
    assert [piece for piece in secret.gone if piece in cleaned.text] == []
    assert cleaned.text.startswith("before\n")
    assert cleaned.text.endswith("\nafter")
    assert cleaned.text.count("\n") == secret.text.count("\n") + 2


@pytest.mark.parametrize("secret", ALL, ids=str)
def test_redacting_again_finds_nothing(secret: Secret) -> None:
    once = redact(secret.text)
    assert redact(once.text).text == once.text


@pytest.mark.parametrize("line", LINES)
def test_a_look_alike_stays(line: str) -> None:
    assert redact(line).text == line
    assert redact(f"x\n{line}\ny").text == f"x\n{line}\ny"


@pytest.mark.parametrize("secret", forms.SEEN, ids=str)
def test_nothing_of_a_secret_reaches_quoted_text(secret: Secret) -> None:
    quoted = code_span(secret.text, limit=5000)
    assert [piece for piece in secret.gone if piece in quoted] == []


def test_equal_public_addresses_stay_equal_and_others_differ() -> None:
    text = "a 45.76.33.77:29500 b 45.76.33.77:29501 c 45.76.33.78:29500 d 10.0.0.7:29500"
    first, second, third, private = (word for word in redact(text).text.split() if ":" in word)
    assert first == "45.76.[redacted:address-" + first[-9:-7] + "]:29500"
    assert second == first[:-1] + "1"
    assert third.startswith("45.76.[redacted:address-")
    assert third != first
    assert private == "10.0.0.7:29500"


def test_what_a_diagnosis_reads_stays() -> None:
    line = 'node-7: File "/home/mkowalski/proj/train.py", line 88: connect to gpu-01:29500 failed (errno 113)'
    assert redact(line).text == line.replace("mkowalski", "[redacted:home]")


@pytest.mark.parametrize(
    "piece",
    [
        "password=abc9 ",
        'token: "x1y2z3',
        "http://a:b",
        "key_" + "AK" + "IA",
        "-----BEGIN RSA PRIVATE " + "KEY-----",
        "-----END RSA PRIVATE " + "KEY-----",
        "mysql -",
        "a@b.c",
        "/home/x",
        "1.2.3.",
        "eyJ" + "a" * 60 + ".",
        "pass",
    ],
)
def test_time_grows_with_length_alone(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.process_time()
        redact(text)
        return time.process_time() - start

    seconds(1000)
    assert seconds(400_000) < 12 * max(seconds(100_000), 0.01)


def test_the_corpus_is_as_wide_as_it_claims() -> None:
    assert len(ALL) >= 200
    assert len({secret.kind for secret in ALL}) >= 100
    assert len(LINES) >= 150
    assert not {secret.text for secret in ALL} & set(LINES)
