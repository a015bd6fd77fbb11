"""Payloads: parsed whatever they hold, stored without what need not be stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.github.events import CommandGiven, Ignored, IssueText, coalesce_key, lock, parse
from bot.github.payload import TEXT_LIMIT, storable
from tests.bot.fake_github import FakeGitHub
from tests.bot.world import BODY, REPO

EVENTS = ["issues", "issue_comment", "installation", "installation_repositories", "ping", "push"]
SECRET = "ghp_" + "a1B2" * 9

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    "action installation repository sender issue comment label changes number body title user login id full_name "
    "state locked repositories repositories_added pull_request created_at"
)
known_keys = st.sampled_from(KEYS.split())
payloads = st.recursive(
    json_values | st.sampled_from(["opened", "edited", "created", "/triage off", 7]),
    lambda inner: st.dictionaries(known_keys, inner, max_size=7) | st.lists(inner, max_size=2),
    max_leaves=25,
)


def payload(**more: Any) -> dict[str, Any]:
    fake = FakeGitHub()
    return fake.payload(REPO, fake.open_issue(REPO, "Training hangs", BODY), "opened") | more


@given(st.sampled_from(EVENTS), st.dictionaries(known_keys, payloads, max_size=8), st.booleans())
def test_no_payload_raises(event: str, data: dict[str, Any], keep_text: bool) -> None:
    parse(event, data)
    kept = storable(data, keep_text)
    json.dumps(kept).encode()
    parse(event, kept)


def test_a_kept_payload_means_the_same() -> None:
    data = payload()
    whole = parse("issues", data)
    assert parse("issues", storable(data, keep_text=True)) == whole
    assert isinstance(whole, IssueText)
    assert lock(whole) == "github:100:1"
    assert coalesce_key(whole) == lock(whole)


@pytest.mark.parametrize("action", ["swept", "reopened", "decided"])
def test_what_a_later_edit_does_not_do_is_not_done_with_by_it(action: str) -> None:
    event = parse("issues", payload(action=action))
    assert isinstance(event, IssueText)
    assert (coalesce_key(event), lock(event)) == (None, "github:100:1")


def test_with_credentials_no_text_is_kept() -> None:
    kept = storable(
        payload(comment={"id": 3, "body": f"/triage result {BODY}", "user": {"login": "a"}}), False
    )
    assert "Watchdog" not in json.dumps(kept)
    assert "hangs" not in json.dumps(kept)
    assert kept["comment"]["body"] == "/triage"
    kept["action"] = "created"
    assert isinstance(parse("issue_comment", kept), CommandGiven)


def test_without_credentials_text_is_kept_redacted_and_bounded() -> None:
    data = payload()
    data["issue"]["body"] = f"{SECRET} \0 \ud800 {'x' * 3 * TEXT_LIMIT}"
    body = storable(data, keep_text=True)["issue"]["body"]
    assert SECRET not in body
    assert len(body) == TEXT_LIMIT
    assert "\0" not in body
    body.encode()


def test_unknown_fields_are_not_kept() -> None:
    data = payload(extra={"secret": SECRET})
    data["issue"]["timeline_url"] = SECRET
    assert SECRET not in json.dumps(storable(data, keep_text=True))


def test_lists_within_lists_do_not_exhaust_the_stack() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert storable({"repositories": [deep, {"id": 1, "full_name": "a/b"}]}, keep_text=True) == {
        "repositories": [{"id": 1, "full_name": "a/b"}]
    }


@pytest.mark.parametrize(
    ("event", "change", "reason"),
    [
        ("issues", {"action": "assigned"}, "other_action"),
        ("issues", {"action": "pinned"}, "other_action"),
        ("issues", {"action": "edited", "changes": {}}, "not_the_text"),
        ("issues", {"installation": None}, "no_installation"),
        ("issues", {"issue": None}, "malformed"),
        ("issues", {"action": "labeled"}, "malformed"),
        ("issue_comment", {"action": "deleted"}, "other_action"),
        ("issue_comment", {"action": "created"}, "malformed"),
        ("ping", {}, "ping"),
        ("push", {}, "other_event"),
    ],
)
def test_ignored(event: str, change: dict[str, Any], reason: str) -> None:
    assert parse(event, payload(**change)) == Ignored(reason)
