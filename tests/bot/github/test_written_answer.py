"""The answer that an LLM drafted: which mode shows it to whom, and how a maintainer posts it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

import pytest

from bot.db.deliveries import StoredDelivery
from bot.github.decide import what_to_say
from bot.github.records import CommentNote, DraftDecision
from bot.github.repo_config import LlmMode, RepoConfig
from bot.jobs.runner import TryLater
from bot.render.answer import VISIBLE_CHARS, answer_parts
from bot.render.comment import View, render_comment
from bot.serve.compose import LATE_RUNS, github_handler
from knowledge.report import Report
from knowledge.triage import AnswerSentence, AnswerSnippet, SecondReading, Triage, WrittenAnswer
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.fake_github import FakeIssue
from tests.bot.world import REPO, World

SAID = "Rank 3 never joined the collective that the watchdog ended."
OLD = "This looks like a known failure"


def answer(*, verified: bool = True, more: int = 0) -> WrittenAnswer:
    told = [AnswerSentence(text=SAID, role="what", lines=[1], confidence=0.9)]
    told += [
        AnswerSentence(text="The others wait for it. " * 8, role="why", lines=[1], confidence=0.9)
    ] * more
    told += [AnswerSentence(text="Compare the stacks of all ranks.", role="check", confidence=0.9)]
    run = AnswerSnippet(language="sh", text="py-spy dump --pid PID", purpose="Shows where each rank waits.")
    return WrittenAnswer(sentences=told, commands=[run], verified=verified, model="acme-7b")


class WritingCore(FakeCore):
    """Drafts an answer where the report may be written about and nobody is in a hurry."""

    def __init__(self, drafted: WrittenAnswer) -> None:
        super().__init__()
        self.drafted = drafted
        self.seen: list[tuple[bool, bool]] = []

    def triage(self, report: Report, quick: bool = False) -> Triage:
        self.seen.append((report.write, quick))
        made = super().triage(report, quick)
        return made.model_copy(update={"answer": self.drafted}) if report.write and not quick else made


def opened(world: World, mode: LlmMode, drafted: WrittenAnswer) -> tuple[FakeIssue, WritingCore]:
    core = WritingCore(drafted)
    world.ports = replace(world.ports, core=core)
    world.configure(f"mode: comment\nllm: {mode}\n")
    world.repo.permissions["maria"] = "write"
    issue = world.issue()
    world.opened(issue)
    return issue, core


def shown(issue: FakeIssue) -> str:
    return "\n".join(
        comment.body for comment in issue.comments if OLD in comment.body or SAID in comment.body
    )


@pytest.mark.parametrize(
    ("mode", "asked"),
    [("off", (False, True)), ("ids", (False, False)), ("draft", (True, False)), ("comment", (True, False))],
)
def test_the_mode_says_what_the_llm_is_asked_for(
    world: World, mode: LlmMode, asked: tuple[bool, bool]
) -> None:
    issue, core = opened(world, mode, answer())
    assert core.seen[0] == asked
    assert (SAID in shown(issue)) == (mode == "comment")


def test_an_unverified_answer_is_never_posted(world: World) -> None:
    issue, _ = opened(world, "comment", answer(verified=False))
    assert OLD in shown(issue)
    assert SAID not in shown(issue)
    world.say(issue, "maria", "/triage post")
    assert SAID not in shown(issue)


def test_a_maintainer_posts_the_draft_and_nobody_else_does(world: World) -> None:
    issue, core = opened(world, "draft", answer())
    world.say(issue, "eve", "/triage post")
    assert SAID not in shown(issue)
    world.say(issue, "maria", "/triage post")
    assert SAID in shown(issue)
    core.drafted = answer(verified=False)
    world.say(issue, "maria", "/triage explain")
    assert SAID in shown(issue), "what was posted stays while the text is the same"


def test_a_draft_for_a_changed_text_waits_for_a_decision_of_its_own(world: World) -> None:
    issue, core = opened(world, "draft", answer())
    world.say(issue, "maria", "/triage post")
    assert SAID in shown(issue)
    issue.body += " And it also happens on eight nodes."
    world.opened(issue, "edited")
    assert OLD in shown(issue)
    assert SAID not in shown(issue)
    kept = world.store.last_triage(world.ref(issue))
    assert kept is not None and kept.triage.answer == core.drafted, "the page shows it"


def test_the_answer_is_a_reason_to_speak_only_where_the_mode_says_so() -> None:
    triage = a_triage(findings=[], answer=answer())
    assert what_to_say(triage, RepoConfig(llm="comment"), False).reason == "written_answer"
    assert what_to_say(triage, RepoConfig(), False).what == "nothing"
    assert what_to_say(triage, RepoConfig(), False, posted=True).reason == "written_answer"
    assert RepoConfig().llm == "draft"


def test_the_comment_holds_the_answer_with_its_support_and_who_wrote_it() -> None:
    body = render_comment(View(a_triage(answer=answer()), FakeCore().name, written=True)).body
    visible = body.split("<details>")[0]
    assert SAID in visible and "(line 1)" not in visible
    assert "Which lines this is based on" in body and ": line 1" in body
    assert "`py-spy dump --pid PID`" in visible
    assert OLD not in visible
    assert "drafted by a language model (`acme-7b`)" in body
    assert "Causes, fixes, sources" in body


def test_the_visible_part_keeps_its_limit_and_the_core() -> None:
    parts, folded = answer_parts(answer(more=8), VISIBLE_CHARS)
    assert sum(map(len, parts)) <= VISIBLE_CHARS
    assert SAID in parts[0]
    assert any("Compare the stacks" in part for part in parts)
    assert any("py-spy dump" in part for part in folded), "what a sentence points at is kept"


class LateCore(WritingCore):
    """Is not done with the answer in its first `late` triages."""

    def __init__(self, late: int) -> None:
        super().__init__(answer())
        self.late = late

    def triage(self, report: Report, quick: bool = False) -> Triage:
        made = super().triage(report, quick)
        note = SecondReading(used=True, model="acme-7b", fallback_reason="timeout", late=True)
        in_time = len(self.seen) > self.late
        return made if in_time else made.model_copy(update={"answer": None, "second_reading": note})


def stored(world: World, issue: FakeIssue, waits: int) -> StoredDelivery:
    payload = world.fake.payload(REPO, issue, "opened")
    now = datetime.now(UTC)
    return StoredDelivery(
        "d", "github", "issues", "opened", "l", payload, "queued", 1, None, None, None, now, None, waits=waits
    )


def test_an_answer_that_comes_late_is_edited_into_the_comment(world: World) -> None:
    world.ports = replace(world.ports, core=LateCore(1))
    world.configure("mode: comment\nllm: comment\n")
    issue = world.issue()
    handle = github_handler(world.ports)
    with pytest.raises(TryLater):
        handle(stored(world, issue, waits=0))
    first = world.ours(issue)
    assert len(first) == 1, "what is known is said at once"
    assert OLD in first[0].body
    assert handle(stored(world, issue, waits=1)).outcome == "written"
    assert len(world.ours(issue)) == 1
    assert SAID in shown(issue)


def test_an_answer_that_a_command_waits_for_comes_late_too(world: World) -> None:
    issue, _ = opened(world, "comment", answer(verified=False))
    world.ports = replace(world.ports, core=LateCore(1))
    comment = world.fake.add_comment(issue, "maria", "/triage")
    data = {"id": comment.id, "body": comment.body, "user": comment.user}
    payload = world.fake.payload(REPO, issue, "created", comment=data, sender=comment.user)
    given = replace(stored(world, issue, waits=0), event="issue_comment", payload=payload)
    handle = github_handler(world.ports)
    with pytest.raises(TryLater):
        handle(given)
    assert handle(replace(given, waits=1)).reason == "again"
    assert SAID in shown(issue)
    assert handle(replace(given, waits=1)).reason == "done_before"


def test_a_model_that_is_always_late_is_not_waited_for_for_ever(world: World) -> None:
    world.ports = replace(world.ports, core=LateCore(9))
    world.configure("mode: comment\nllm: comment\n")
    issue = world.issue()
    handle = github_handler(world.ports)
    with pytest.raises(TryLater):
        handle(stored(world, issue, waits=LATE_RUNS - 1))
    assert handle(stored(world, issue, waits=LATE_RUNS)).outcome == "unchanged"


def test_where_no_answer_is_wanted_nobody_waits_for_one(world: World) -> None:
    world.ports = replace(world.ports, core=LateCore(9))
    world.configure("mode: comment\nllm: ids\n")
    assert github_handler(world.ports)(stored(world, world.issue(), waits=0)).outcome == "written"


def decided(
    world: World, issue: FakeIssue, decision: Literal["post", "reject"], *sentences: str, about: str = ""
) -> str:
    """What the page does when a maintainer decides, and what becomes of it."""
    ref, store = world.ref(issue), world.store
    kept = store.last_triage(ref)
    assert kept is not None
    hash_ = about or kept.input_hash
    made = DraftDecision(ref, hash_, decision, sentences, "maintainers' page", world.clock.now())
    store.save_draft_decision(made)
    if decision == "post":
        note = store.comment_note(ref) or CommentNote(None, None)
        store.save_comment_note(ref, replace(note, state="live"))
    return world.deliver("issues", world.fake.payload(REPO, issue, "decided")).kind


def test_a_draft_is_posted_as_a_maintainer_left_it(world: World) -> None:
    issue, _ = opened(world, "draft", answer())
    assert SAID not in shown(issue)
    assert decided(world, issue, "post", SAID, "Rank 3 is the one to look at, @maria.") == "written"
    assert SAID in shown(issue)
    assert "Rank 3 is the one to look at, `@maria`." in issue.comments[-1].body
    assert "Compare the stacks of all ranks." not in issue.comments[-1].body
    world.opened(issue, "reopened")
    assert "Rank 3 is the one to look at, `@maria`." in issue.comments[-1].body, (
        "and stays while the text does"
    )


def test_a_rejected_draft_leaves_the_comment_and_does_not_come_back(world: World) -> None:
    issue, core = opened(world, "comment", answer())
    assert SAID in shown(issue)
    assert decided(world, issue, "reject") == "written"
    assert SAID not in shown(issue)
    world.opened(issue, "reopened")
    assert SAID not in shown(issue)
    kept = world.store.last_triage(world.ref(issue))
    assert kept is not None and kept.triage.answer == core.drafted, "the page still shows it"


def test_a_text_that_changes_after_a_post_gets_a_draft_that_nobody_has_decided_about(world: World) -> None:
    issue, core = opened(world, "draft", answer())
    world.say(issue, "maria", "/triage post")
    assert SAID in shown(issue)
    unread = "Reinstall the driver on every node."
    core.drafted = answer().model_copy(
        update={"sentences": [AnswerSentence(text=unread, role="fix", confidence=0.9)]}
    )
    issue.body += "\nIt also fails with 3 nodes."
    world.opened(issue, "edited")
    assert unread not in world.ours(issue)[-1].body
    world.say(issue, "maria", "/triage post")
    assert unread in world.ours(issue)[-1].body


def test_a_draft_of_an_earlier_text_posts_no_later_one(world: World) -> None:
    issue, core = opened(world, "draft", answer())
    before = world.store.last_triage(world.ref(issue))
    assert before is not None
    core.drafted = answer(more=1)
    issue.body += "\nIt also fails with 3 nodes."
    world.opened(issue, "edited")
    decided(world, issue, "post", SAID, about=before.input_hash)
    assert "The others wait for it." not in world.ours(issue)[-1].body


def test_a_command_is_run_and_then_its_output_read() -> None:
    parts, _ = answer_parts(answer())
    assert "Run `py-spy dump --pid PID`. Shows where each rank waits." in parts


def test_a_reason_that_follows_a_fix_stays_behind_it() -> None:
    told = [said("A.", "what"), said("B.", "fix"), said("C.", "question"), said("D.", "why")]
    assert paragraphs(told) == ["A.", "B. D.", "C."], "and one question is a sentence, no list"
    assert paragraphs([*told, said("E.", "question")])[-1] == "- C.\n- E."


def said(text: str, role: Literal["what", "why", "check", "fix", "question"]) -> AnswerSentence:
    return AnswerSentence(text=text, role=role, confidence=0.9)


def paragraphs(told: list[AnswerSentence], *snippets: AnswerSnippet) -> list[str]:
    commands = [one for one in snippets if one.language == "sh"]
    code = [one for one in snippets if one.language == "python"]
    return answer_parts(
        WrittenAnswer(sentences=told, commands=commands, code=code, verified=True, model="m")
    )[0]


def test_what_is_run_stands_behind_its_sentence() -> None:
    told = [said("A.", "what"), said("B.", "check"), said("C.", "fix")]

    def command(after: int) -> AnswerSnippet:
        return AnswerSnippet(language="sh", text="ibstat", purpose="Shows ports.", after=after)

    assert paragraphs(told, command(1)) == ["A.", "Run `ibstat`. Shows ports.", "B. C."]
    assert paragraphs(told, command(2)) == ["A.", "B. Run `ibstat`. Shows ports. C."]
    assert paragraphs(told, command(0)) == ["A.", "B. C.", "Run `ibstat`. Shows ports."]
    code = AnswerSnippet(language="python", text="print(1)", purpose="It prints 1.", after=2)
    assert paragraphs(told, code) == ["A.", "B.", "```python\nprint(1)\n```", "It prints 1. C."]


def test_a_sentence_whose_code_is_in_the_fold_points_there() -> None:
    told = [said("A.", "what"), said("Add the method, as a workaround:", "fix"), said("Or use B.", "fix")]
    code = AnswerSnippet(language="python", text="print(1)\n" * 9, purpose="It prints 1.", after=2)
    short = WrittenAnswer(sentences=told, commands=[], code=[code], verified=True, model="m")
    assert answer_parts(short, 100) == answer_parts(short), "code has room of its own"
    code = code.model_copy(update={"text": "print(1)\n" * 90})
    made = WrittenAnswer(sentences=told, commands=[], code=[code], verified=True, model="m")
    assert answer_parts(made)[0][1] == "Add the method, as a workaround:"
    parts, folded = answer_parts(made, 80)
    assert parts == ["A.", "Add the method, as a workaround (see below). Or use B."] and folded
    last = made.model_copy(update={"sentences": told[:2], "code": [code.model_copy(update={"after": 0})]})
    assert answer_parts(last)[0][1] == "Add the method, as a workaround:", "what comes last follows it"


def test_a_long_paragraph_is_split_where_the_next_step_begins() -> None:
    told = [said("A.", "what"), *(said(f"Do {n}.", "fix") for n in range(4)), said("So it is.", "why")]
    assert paragraphs(told)[1:] == ["Do 0. Do 1. Do 2. Do 3. So it is."]
    told[-1] = said("The ranks wait.", "why")
    assert paragraphs(told)[1:] == ["Do 0. Do 1. Do 2. Do 3.", "The ranks wait."]
