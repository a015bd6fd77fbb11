"""Slack's signature: slack-sdk's verifier agrees on valid requests, and nothing makes ours raise."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.signature import Clock, SignatureVerifier

from bot.slack.router import WINDOW, signed

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
NOW = 1_700_000_000.0


class At(Clock):
    def now(self) -> float:
        return NOW


VERIFIER = SignatureVerifier(SECRET, At())


def made(body: bytes, stamp: str) -> str:
    signature = VERIFIER.generate_signature(timestamp=stamp, body=body)
    assert signature is not None
    return signature


@given(body=st.text(max_size=300), shift=st.integers(-WINDOW, WINDOW))
def test_what_slack_signed_within_five_minutes_is_accepted_by_both(body: str, shift: int) -> None:
    raw, stamp = body.encode("utf-8", "replace"), str(int(NOW) + shift)
    signature = made(raw, stamp)
    assert VERIFIER.is_valid(raw, stamp, signature)
    assert signed(raw, stamp.encode(), signature.encode(), SECRET.encode(), NOW)


@given(shift=st.integers(WINDOW + 1, 10**9), later=st.booleans())
def test_outside_of_five_minutes_both_refuse(shift: int, later: bool) -> None:
    stamp = str(max(0, int(NOW) + (shift if later else -shift)))
    signature = made(b"x", stamp)
    assert not VERIFIER.is_valid(b"x", stamp, signature)
    assert not signed(b"x", stamp.encode(), signature.encode(), SECRET.encode(), NOW)


@given(
    body=st.binary(max_size=200),
    stamp=st.none() | st.binary(max_size=30) | st.just(str(int(NOW)).encode()),
    signature=st.none() | st.binary(max_size=90) | st.binary(max_size=64).map(lambda b: b"v0=" + b),
)
def test_no_bytes_of_headers_or_body_raise_or_pass(
    body: bytes, stamp: bytes | None, signature: bytes | None
) -> None:
    assert signed(body, stamp, signature, SECRET.encode(), NOW) is False


@given(body=st.binary(min_size=1, max_size=100), place=st.integers(0, 99))
def test_a_changed_body_is_refused(body: bytes, place: int) -> None:
    stamp = str(int(NOW))
    text = body.hex().encode()
    signature = made(text, stamp).encode()
    changed = bytearray(text)
    changed[place % len(changed)] ^= 1
    assert signed(text, stamp.encode(), signature, SECRET.encode(), NOW)
    assert not signed(bytes(changed), stamp.encode(), signature, SECRET.encode(), NOW)


def test_numbers_that_int_would_read_are_no_timestamps() -> None:
    stamp = str(int(NOW))
    signature = made(b"x", stamp).encode()
    for other in (
        f" {stamp}",
        f"+{stamp}",
        f"{stamp[:4]}_{stamp[4:]}",
        f"0{stamp}",
        "٣" * 10,
        "-1",
        "1e9",
        "",
    ):
        assert not signed(b"x", other.encode(), signature, SECRET.encode(), NOW), other


def test_an_empty_secret_signs_nothing() -> None:
    assert not signed(b"x", str(int(time.time())).encode(), b"v0=", b"", time.time())
