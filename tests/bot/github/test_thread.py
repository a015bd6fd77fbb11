"""What is written below an issue: who said it, what of it is part of the report, and when it is read again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.github.handler import MOST_UPDATES, says_what_it_was
from bot.github.payload import storable
from bot.github.ports import Comment
from bot.github.routes import new_delivery
from bot.github.thread import (
    ADDED,
    ADDED_LOG,
    MOST_CHARS,
    Role,
    Said,
    adds_something,
    said_below,
    text_of,
    whole_text,
)
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import a_triage, thin
from tests.bot.fake_github import FakeIssue, user
from tests.bot.world import REPO, World, result_block

LOG = "```\n2026-05-03 10:02:31 rank 3: ncclSystemError: connection refused\n```"
VERSIONS = "We use torch 2.3.1 and CUDA 12.1 on all nodes."
STACK = 'Process 101: python train.py\nThread 101 (active): "MainThread"\n    all_reduce (distributed_c10d.py:1700)'
THANKS = "Thanks, I will try that tomorrow and let you know!"


def comment(login: str, body: str, association: str = "NONE") -> Comment:
    return Comment(1, login, login.endswith("[bot]"), body, association)


@pytest.mark.parametrize(
    ("body", "by_author", "expected"),
    [
        (LOG, True, True),
        (LOG, False, True),
        (VERSIONS, True, True),
        ("Traceback (most recent call last):\n  x\nValueError: no", True, True),
        ("[rank0]: it stops\n[rank1]: it stops", False, True),
        ("It only happens on the second node. " * 8, True, True),
        ("It only happens on the second node. " * 8, False, False),
        (THANKS, True, False),
        ("+1", True, False),
        ("", True, False),
        ("`torchrun --nproc_per_node 8 train.py`", True, True),
        ("410 img/s on one, 380 img/s on eight", True, True),
        ("![a picture](https://github.com/user-attachments/assets/1)", True, True),
        ("```\n>>> import torch\n```", True, True),
        ("Fixed in PyTorch 2.4.0, please upgrade.", False, False),
        ("PyTorch version: 2.4.0\nCUDA version: 12.1", False, True),
        ("Try this:\n```python\nmodel = DDP(model, find_unused_parameters=True)\n```", False, False),
        (ADDED, False, False),
        (ADDED_LOG, False, True),
        ("> " + "torch 2.3.1 and so on\n> " * 20 + "\nyes", True, False),
        (ADDED, True, True),
    ],
)
def test_what_adds_something(body: str, by_author: bool, expected: bool) -> None:
    assert adds_something(body, by_author) is expected


@pytest.mark.parametrize(
    ("login", "association", "role"),
    [
        ("reporter", "NONE", "author"),
        ("reporter", "MEMBER", "author"),
        ("maria", "MEMBER", "maintainer"),
        ("eve", "CONTRIBUTOR", "another reporter"),
    ],
)
def test_who_said_what(login: str, association: str, role: Role) -> None:
    assert said_below([comment(login, LOG, association)], "reporter") == [Said(role, LOG)]


def test_bots_commands_and_plus_ones_say_nothing() -> None:
    comments = [
        comment("helper[bot]", LOG),
        comment("reporter", f"/triage result\n{result_block()}"),
        comment("eve", "+1"),
        comment("bob", "same here, any news?"),
        comment("reporter", THANKS),
    ]
    assert said_below(comments, "reporter") == []


def test_another_reporters_log_is_known_as_such_and_not_part_of_the_report() -> None:
    said = said_below([comment("eve", LOG), comment("reporter", VERSIONS)], "reporter")
    assert [one.role for one in said] == ["another reporter", "author"]
    whole = whole_text("It hangs.", said)
    assert "ncclSystemError" not in whole
    assert whole == f"It hangs.\n\n### Added by the author\n\n{VERSIONS}"


def test_without_additions_the_report_is_the_opening_post_to_the_letter() -> None:
    assert whole_text("It ```hangs.\n", []) == "It ```hangs.\n"


def test_an_open_code_block_does_not_swallow_what_comes_after() -> None:
    whole = whole_text("```\nlog", [Said("author", "~~~\nmore"), Said("maintainer", VERSIONS)])
    assert whole.split("\n\n") == [
        "```\nlog\n```",
        "### Added by the author",
        "~~~\nmore\n~~~",
        "### Added by a maintainer",
        VERSIONS,
    ]


def test_of_very_much_the_newest_counts() -> None:
    said = [Said("author", str(n) * (MOST_CHARS // 3)) for n in range(9)]
    whole = whole_text("It hangs.", said)
    assert len(whole) < MOST_CHARS + 100
    assert ("8" * 99 in whole, "7" * 99 in whole, "5" * 99 in whole) == (True, True, False)


def test_a_result_pasted_without_the_command_is_text() -> None:
    [said] = said_below([comment("reporter", result_block())], "reporter")
    assert "distriage-result\n" not in said.text


def test_what_was_asked_for_and_came_is_asked_no_more(knowledge: Knowledge) -> None:
    body = "Training hangs at the first all-reduce of PyTorch DDP.\n\n" + LOG
    before = triage(Report("a/b#1", "Hang", body), knowledge)
    assert any(item.id == "stacks" for item in before.missing)
    came = comment("reporter", f"torch 2.3.1, CUDA 12.1, NCCL 2.20.5.\n\n```\n{STACK}\n```")
    after = triage(Report("a/b#1", "Hang", whole_text(body, said_below([came], "reporter"))), knowledge)
    assert not any(item.id == "stacks" for item in after.missing)
    assert after.evidence.versions["torch"] == "2.3.1"


@pytest.fixture
def commented(world: World) -> FakeIssue:
    world.configure("mode: comment\n")

    def answer(report: Report) -> Triage:
        return a_triage(report) if "2.3.1" in report.body else thin(report)

    world.core.answer = answer
    issue = world.issue()
    world.opened(issue)
    assert "of all ranks." in world.ours(issue)[0].body
    return issue


def test_what_the_author_adds_changes_the_one_comment(world: World, commented: FakeIssue) -> None:
    assert world.say(commented, "reporter", VERSIONS).reason == "edited"
    [ours] = world.ours(commented)
    assert "of all ranks." not in ours.body
    assert "torch 2.3.1" in ours.body


def test_what_the_author_takes_back_is_gone(world: World, commented: FakeIssue) -> None:
    world.say(commented, "reporter", VERSIONS)
    added = commented.comments.pop()
    assert world.repeat(commented, added, "deleted").reason == "edited"
    assert "2.3.1" not in world.ours(commented)[0].body


@pytest.mark.parametrize(("login", "body"), [("reporter", THANKS), ("eve", LOG), ("maria", LOG)])
def test_other_comments_start_nothing(world: World, commented: FakeIssue, login: str, body: str) -> None:
    before = world.core.calls
    assert world.say(commented, login, body).reason == "remark", "for the history alone"
    assert world.core.calls == before


def test_a_secret_in_a_comment_is_redacted_like_one_in_the_text(knowledge: Knowledge) -> None:
    said = said_below([comment("reporter", f"{VERSIONS} token ghp_{'a1B2' * 9}")], "reporter")
    value = triage(Report("a/b#1", "Hang", whole_text("It hangs.", said)), knowledge)
    assert value.evidence.redactions
    assert "ghp_" not in value.model_dump_json()


def test_of_what_the_author_adds_nothing_is_stored_and_bursts_are_one(world: World) -> None:
    issue = world.issue()
    data = {"id": 3, "body": VERSIONS, "user": user("reporter")}
    payload = world.fake.payload(REPO, issue, "created", comment=data)
    assert storable(payload, keep_text=False)["comment"]["body"] == ADDED
    first = new_delivery("d1", "issue_comment", payload, keep_text=False, comment_delay=5.0)
    assert first is not None
    assert (first.delay, first.coalesce_key) == (5.0, first.lock)
    opened = new_delivery("d2", "issues", world.fake.payload(REPO, issue, "opened"), keep_text=False)
    assert opened is not None
    assert opened.coalesce_key == first.coalesce_key


def test_without_credentials_a_comment_leaves_the_opening_post_to_be_triaged(world: World) -> None:
    """It can have superseded the opening, which waited with it."""
    world.ports = replace(world.ports, app=None)
    issue = world.issue()
    assert world.say(issue, "reporter", VERSIONS).kind == "shadow"


def test_who_deleted_their_account_is_not_the_author_who_did(world: World) -> None:
    [said] = said_below([comment("ghost", LOG)], "ghost")
    assert said.role == "another reporter"


def test_a_comment_that_is_too_long_keeps_both_ends_and_no_half_of_a_secret() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQ" * 4000 + "\n-----END PRIVATE KEY-----\n"
    text = "first\n" + key + "x " * MOST_CHARS + "\nlast"
    whole = whole_text("It hangs.", [Said("author", text)])
    assert len(whole) < MOST_CHARS + 200
    assert ("first" in whole, "last" in whole, "MIIEvQMIIEvQ" in whole) == (True, True, False)


def test_a_result_in_a_gist_is_text_and_a_gist_is_shown_once() -> None:
    link = "https://gist.github.com/me/" + "a" * 20
    gists = {"a" * 20: text_of([("a.log", f"one\n{result_block()}")])}
    whole = whole_text(f"See {link}", [Said("author", f"Again: {link}")], gists)
    assert "distriage-result\n" not in whole
    assert whole.count("one\n") == 1


def test_a_comment_that_an_edit_empties_is_read_again(world: World, commented: FakeIssue) -> None:
    world.say(commented, "reporter", VERSIONS)
    added = commented.comments[-1]
    before, added.body = added.body, "never mind"
    assert world.repeat(commented, added, "edited", before).reason == "edited"
    assert "2.3.1" not in world.ours(commented)[0].body


def test_after_twenty_updates_only_a_maintainer_has_it_read_again(world: World, commented: FakeIssue) -> None:
    for n in range(MOST_UPDATES):
        commented.body += f" {n}"
        assert world.opened(commented, "edited").reason != "many_updates"
    before = world.core.calls
    assert world.say(commented, "reporter", VERSIONS).reason == "many_updates"
    assert world.core.calls == before
    world.repo.permissions["maria"] = "write"
    world.say(commented, "maria", "/triage")
    assert "2.3.1" in world.ours(commented)[0].body


def test_a_label_of_a_request_waits_for_the_repository_to_have_it(world: World) -> None:
    world.configure("mode: both\n")
    world.core.answer = thin
    first = world.issue()
    world.opened(first)
    assert first.labels == []
    world.configure("mode: both\nrequest_label: waiting\ncreate_labels: true\n")
    second = world.issue()
    world.opened(second)
    assert second.labels == ["waiting"]
    world.configure("mode: both\nrequest_label: null\ncreate_labels: true\n")
    third = world.issue()
    world.opened(third)
    assert third.labels == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fixed by setting NCCL_SOCKET_IFNAME=eth0.", True),
        ("It turned out that the cable was loose", True),
        ("The problem was a wrong MASTER_ADDR.", True),
        ("It works now with torch 2.4", True),
        ("Was this fixed in 2.4?", False),
        ("Any news?", False),
        ("The problem is that it hangs.", False),
    ],
)
def test_what_names_the_cure(text: str, expected: bool) -> None:
    assert says_what_it_was(text) is expected


def test_of_a_gist_only_files_with_a_text_are_read() -> None:
    assert (
        text_of([("empty.log", " \n"), ("core", "\0ELF"), ("a.log", "one")]) == "a.log\n\n```text\none\n```"
    )


def test_a_version_that_the_author_corrects_stands_above_the_post() -> None:
    said = [
        Said("author", "Sorry, I meant torch 2.3.1."),
        Said("maintainer", "Actually torch 2.4.0 has the fix."),
        Said("author", "And it is wrong with more ranks."),
    ]
    whole = whole_text("We use torch 2.1.0.", said)
    assert whole.startswith("### Corrected by the author\n\ntorch 2.3.1\n\nWe use torch 2.1.0.")
    assert "Corrected" not in whole_text("We use torch 2.1.0.", said[1:])
