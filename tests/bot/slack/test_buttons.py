"""The buttons under an answer: More, Get diagnostics script, Not right, Share."""

from __future__ import annotations

import asyncio
from typing import Any

from bot.github.store.postgres import GivenTables
from bot.slack import words
from bot.slack.answer import MORE, SCRIPT, SHARE, WRONG
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import bench
from tests.bot.slack.fake_slack import ROOM, FakeSlack
from tests.bot.slack.limits import buttons, shown

SCRIPT_TEXT = "#!/bin/sh\necho '```distriage-result <!channel> & more'\n" + "# line\n" * 9000


def long_script(report: Report) -> Triage:
    return a_triage(report, script=SCRIPT_TEXT)


def test_more_unfolds_the_askers_own_answer_in_place(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged())[MORE]
            assert (await b.press(MORE, id_)).content == b""
            await b.settled()
            message = fake.to("U1")[-1]
            assert message["replace_original"] is True
            assert "Similar issues" in shown(message)
            assert MORE not in buttons(message)

    asyncio.run(go())


def test_the_script_comes_whole_as_a_snippet_to_the_presser_alone(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake, FakeCore(long_script)) as b, b.worker():
            await b.press(SCRIPT, buttons(await b.triaged())[SCRIPT])
            await b.settled()
            assert fake.snippets == [("DU1", SCRIPT_TEXT.encode())]
            (said,) = fake.uploaded
            assert (said["filename"], said["snippet_type"]) == ("diagnose.sh", "shell")
            assert said["initial_comment"] == words.SCRIPT_COMMENT
            steps = ("files.getUploadURLExternal", "files.completeUploadExternal")
            assert [c for c in fake.calls if c.startswith("files.")] == list(steps)
            assert fake.to("U1")[-1]["text"] == words.SCRIPT_SENT
            fake.scopes -= {"files:write"}
            await b.press(SCRIPT, buttons(await b.triaged())[SCRIPT])
            await b.settled()
            assert fake.to("U1")[-1]["text"] == words.SCRIPT_NOT_SENT

    asyncio.run(go())


def test_slacks_retry_of_a_button_or_a_submitted_box_is_done_once(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged())[SCRIPT]
            await b.press(WRONG, id_)
            view = fake.views[0]
            for _ in range(3):
                await b.press(SCRIPT, id_, trigger_id="t-same")
                await b.submit(view, choose(cause="hardware"), trigger_id="t-same-too")
            await b.settled()
            assert len(fake.snippets) == 1
            assert len(b.ports.store.corrections(id_)) == 1
            assert len(fake.to("U1")) == 3, "the answer, where the script is, the corrected answer"

    asyncio.run(go())


def test_share_posts_once_however_often_it_is_pressed(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged())[SHARE]
            await asyncio.gather(*(b.press(SHARE, id_) for _ in range(4)))
            await b.settled()
            (((channel, _), message),) = fake.public.items()
            assert channel == ROOM
            assert "Shared by the person who asked." in shown(message)
            assert "to update this answer" in shown(message)
            assert SHARE not in buttons(message)
            assert [m["text"] for m in fake.to("U1")[1:]] == [words.ALREADY_SHARED] * 3

    asyncio.run(go())


def test_where_the_app_is_no_member_it_shares_by_the_response_url(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            fake.member_of.clear()
            id_ = buttons(await b.triaged())[SHARE]
            await b.press(SHARE, id_)
            await b.settled()
            (message,) = fake.public.values()
            assert message["response_type"] == "in_channel"
            assert "Shared by the person who asked." in shown(message)
            assert "is updated" not in shown(message), "nobody can change it any more"
            await b.press(SHARE, id_)
            await b.settled()
            assert len(fake.public) == 1

    asyncio.run(go())


def test_what_cannot_be_shared_yet_can_be_shared_later(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            fake.member_of.clear()
            id_ = buttons(await b.triaged())[SHARE]
            await b.press(SHARE, id_, response_url=None, channel={"id": "DU1"})
            await b.settled()
            assert fake.public == {}
            assert fake.to("U1")[-1]["text"] == words.NOT_SHARED
            fake.member_of.add(ROOM)
            await b.press(SHARE, id_)
            await b.settled()
            assert len(fake.public) == 1

    asyncio.run(go())


def test_nobody_else_reaches_an_answer_before_it_is_shared(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged())[SHARE]
            for action in (MORE, SCRIPT, SHARE, WRONG):
                await b.press(action, id_, user="U2")
                await b.settled()
            assert [m["text"] for m in fake.to("U2")] == [words.NOT_YOURS] * 4
            assert (fake.public, fake.views, fake.snippets) == ({}, [], [])
            for action in (MORE, SCRIPT, SHARE):
                await b.press(action, id_, team={"id": "T2"})
                await b.settled()
            assert [m["text"] for m in fake.to("U1")[1:]] == [words.NO_LONGER_KEPT] * 3

    asyncio.run(go())


def test_a_shared_answer_unfolds_for_the_presser_alone(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged())[SHARE]
            await b.press(SHARE, id_)
            await b.settled()
            before = dict(fake.public)
            await b.press(MORE, id_, user="U2")
            await b.settled()
            (message,) = fake.to("U2")
            assert (message["response_type"], message["replace_original"]) == ("ephemeral", False)
            assert "Similar issues" in shown(message)
            assert fake.public == before

    asyncio.run(go())


def choose(**labels: str) -> dict[str, Any]:
    return {axis: {axis: {"selected_option": {"value": id_}}} for axis, id_ in labels.items()}


def test_not_right_stores_a_correction_and_shows_it(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged("NCCL timeout on rank 3"))[WRONG]
            await b.press(WRONG, id_)
            (view,) = fake.views
            assert [block["block_id"] for block in view["blocks"][1:]] == [
                "type",
                "stage",
                "symptom",
                "cause",
                "fix",
            ]
            offered = view["blocks"][3]["element"]["option_groups"]
            assert [len(group["options"]) for group in offered] == [2, 3, 8, 18]
            nothing = await b.submit(view, choose())
            assert nothing.json()["response_action"] == "errors"
            clash = await b.submit(view, choose(stage="A", symptom="D.2.1"))
            assert "symptom" in clash.json()["errors"]
            done = await b.submit(view, choose(stage="B", symptom="B.2", cause="hardware", fix="no-such-id"))
            assert (done.status_code, done.content) == (200, b"")
            await b.settled()
            (stored,) = b.ports.store.corrections(id_)
            assert stored.labels == {"stage": ("B",), "symptom": ("B.2",), "cause": ("hardware",)}
            assert (stored.by, stored.body) == ("U1", "NCCL timeout on rank 3")
            message = fake.to("U1")[-1]
            assert message["replace_original"] is True
            first = "*Hang &amp; timeout while setting up, set by a person*"
            assert shown(message).splitlines()[0] == first
            assert "Set by a person: " in shown(message)
            assert "Known failure" not in shown(message), "what people set contradicts it"

    asyncio.run(go())


def test_an_earlier_issue_with_the_same_failure_is_kept_and_is_no_label(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged("NCCL timeout, see https://github.com/acme/train/issues/9"))[WRONG]
            await b.press(WRONG, id_)
            assert fake.views[0]["blocks"][-1]["block_id"] == "same"
            await b.submit(fake.views[0], {"same": {"same": {"value": "#4"}}})
            await b.settled()
            (stored,) = b.ports.store.corrections(id_)
            assert (stored.labels, stored.same) == ({}, "4")
            assert fake.to("U1")[-1]["text"] == words.STORED_SAME
            assert GivenTables(b.service.threads).every() == []

    asyncio.run(go())


def test_a_correction_of_a_shared_answer_changes_it_for_all(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            id_ = buttons(await b.triaged())[SHARE]
            await b.press(SHARE, id_)
            await b.settled()
            await b.press(WRONG, id_, user="U2")
            await b.submit(fake.views[0], choose(cause="hardware"), user="U2")
            await b.settled()
            (message,) = fake.public.values()
            assert "Cause: Faulty or unsuitable hardware, set by a person." in shown(message)
            assert fake.to("U2")[-1]["text"] == words.STORED

    asyncio.run(go())
