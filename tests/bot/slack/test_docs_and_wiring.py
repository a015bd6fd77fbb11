"""The manifest, the page and the service say the same; the real core's answers pass the gate."""

from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.routing import APIRoute
from pydantic import SecretStr

import bot.slack.api
from bot.runtime.core import NamedCore
from bot.runtime.resources import Work
from bot.serve.compose import surfaces, with_slack
from bot.settings import Settings
from bot.slack.answer import View, render
from bot.slack.doctor import WITHOUT
from bot.slack.inbound import event, reply_of
from bot.slack.install import SCOPES
from bot.slack.interactions import SHORTCUT, paste_view, wrong_view
from bot.slack.records import Open, Queue
from bot.slack.store import KEEP_DAYS, REPLY_USES
from bot.slack.tokens import Vault
from bot.slack.words import HELP
from knowledge.engine import Knowledge, triage
from knowledge.report import FENCE, Report
from knowledge.taxonomy import load_taxonomy
from tests.bot.fake_core import FakeCore
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import SECRET
from tests.bot.slack.fake_slack import MANIFEST, SCOPE_OF
from tests.bot.slack.limits import broken_message, broken_view

DOCS = Path(__file__).parents[3] / "docs"
PATHS = {"/slack/commands", "/slack/interactions", "/slack/events"}


@pytest.fixture
def manifest() -> Any:
    return yaml.safe_load((DOCS / "slack-app-manifest.yaml").read_text("utf-8"))


def test_the_manifest_names_our_scopes_paths_and_shortcut(manifest: Any) -> None:
    assert tuple(manifest["oauth_config"]["scopes"]["bot"]) == SCOPES
    assert addresses(manifest) == PATHS
    assert manifest["features"]["shortcuts"][0]["callback_id"] == SHORTCUT
    assert manifest["features"]["slash_commands"][0]["command"] in HELP
    assert manifest["oauth_config"]["redirect_urls"] == ["https://distriage.example/slack/oauth_redirect"]


def addresses(manifest: Any) -> set[str]:
    urls = [
        manifest["features"]["slash_commands"][0]["url"],
        manifest["settings"]["interactivity"]["request_url"],
        manifest["settings"]["event_subscriptions"]["request_url"],
    ]
    return {url.removeprefix("https://distriage.example") for url in urls}


def test_the_manifest_keeps_to_slacks_limits(manifest: Any) -> None:
    """https://docs.slack.dev/reference/app-manifest"""
    assert len(manifest["display_information"]["name"]) <= 35
    assert len(manifest["display_information"]["description"]) <= 140
    assert len(manifest["features"]["bot_user"]["display_name"]) <= 80
    (shortcut,) = manifest["features"]["shortcuts"]
    assert (len(shortcut["name"]) <= 24, len(shortcut["description"]) <= 150) == (True, True)
    assert manifest["features"]["app_home"]["messages_tab_enabled"], "scripts and late answers arrive there"


_BY_HELPER = {
    "files_upload_v2": {"files.getUploadURLExternal", "files.completeUploadExternal"},
    "auth_test": {"auth.test"},
    "oauth_v2_access": {"oauth.v2.access"},
}
_SCOPE_OF_EVENT = {"message.channels": "channels:history", "message.groups": "groups:history"}


def test_the_scopes_are_those_that_our_calls_and_events_need(manifest: Any) -> None:
    source = inspect.getsource(bot.slack.api)
    called = set(re.findall(r'"([a-z]+(?:\.[A-Za-z0-9]+)+)"', source)) & set(SCOPE_OF)
    for helper, methods in _BY_HELPER.items():
        assert f".{helper}(" in source
        called |= methods
    assert called == set(SCOPE_OF), "the fake knows the methods that we call, and no others"
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    needed = {scope for method in called if (scope := SCOPE_OF[method])}
    needed |= {_SCOPE_OF_EVENT[name] for name in events if name in _SCOPE_OF_EVENT}
    assert needed | {"commands"} == set(SCOPES) == set(WITHOUT)


def test_every_event_of_the_manifest_is_handled(manifest: Any) -> None:
    message = {
        "type": "message",
        "thread_ts": "1.0",
        "ts": "2.0",
        "text": FENCE,
        "channel": "C1",
        "user": "U1",
    }
    examples: dict[str, dict[str, Any]] = {
        "app_uninstalled": {"type": "app_uninstalled"},
        "tokens_revoked": {"type": "tokens_revoked", "tokens": {"bot": ["B1"]}},
        "message.channels": {**message, "channel_type": "channel"},
        "message.groups": {**message, "channel_type": "group"},
    }
    assert set(examples) == set(manifest["settings"]["event_subscriptions"]["bot_events"])
    for inner in examples.values():
        outer = {"type": "event_callback", "team_id": "T1", "event_id": "E", "event": inner}
        assert isinstance(event(outer, 0.0), Queue), inner


def test_the_page_names_every_setting_path_and_scope() -> None:
    page = (DOCS / "slack.md").read_text("utf-8")
    names = [f"DISTRIAGE_{name.upper()}" for name in Settings.model_fields if name.startswith("slack_")]
    operating = (DOCS / "operating.md").read_text("utf-8")
    for name in names:
        assert name in page or name in operating, name
    for part in (*PATHS, *SCOPES, "/slack/install", "/slack/oauth_redirect", f"{KEEP_DAYS} days"):
        assert part in page, part
    assert REPLY_USES == 5


def paths(routers: list[Any]) -> set[str]:
    return {r.path for router in routers for r in router.routes if isinstance(r, APIRoute)}


def test_the_service_has_the_routes_and_the_handler_when_slack_is_on(
    opened: OpenService, tmp_path: Path
) -> None:
    async def go() -> None:
        async with opened(data_dir=tmp_path) as off:
            assert not paths(surfaces(off)) & PATHS
            assert set(with_slack(off, Work({}), FakeCore()).handlers) == set()
        async with opened(data_dir=tmp_path, slack_signing_secret=SecretStr(SECRET)) as on:
            assert paths(surfaces(on)) >= PATHS == addresses(MANIFEST)
            assert "/slack/install" not in paths(surfaces(on))
            assert set(with_slack(on, Work({}), FakeCore()).handlers) == {"slack"}
        several = {"slack_client_id": "i", "slack_client_secret": SecretStr("s")}
        async with opened(data_dir=tmp_path, slack_signing_secret=SecretStr(SECRET), **several) as many:
            assert paths(surfaces(many)) >= PATHS | {"/slack/install", "/slack/oauth_redirect"}

    asyncio.run(go())


def test_the_modal_with_the_whole_taxonomy_is_within_slacks_limits() -> None:
    taxonomy = load_taxonomy()
    core = NamedCore(FakeCore(), taxonomy)
    opened = Open("wrong", "T1", "t", "U1", "C1", None, "0a")
    view = wrong_view(opened, taxonomy.ids, core.name, of_issue=True)
    assert broken_view(view.view) == []


def test_a_modals_metadata_fits_with_the_longest_ids_and_addresses() -> None:
    vault = Vault(["k" * 40])
    reply = reply_of("https://hooks.slack.com/" + "x" * 976, vault, 1e9)
    assert reply is not None
    opened = Open("paste", "T1", "t", "U" * 40, "C" * 40, reply, "0" * 24)
    for view in (
        paste_view(opened, files=True),
        wrong_view(opened, load_taxonomy().ids, lambda axis, id_: "n" * 300),
    ):
        assert broken_view(view.view) == []
    assert reply_of("https://hooks.slack.com/" + "x" * 977, vault, 1e9) is None


@pytest.mark.parametrize(
    "body",
    [
        "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1174, OpType=ALLREDUCE)",
        "RuntimeError: CUDA error: out of memory <!channel>\n" * 300,
        "how do I set the learning rate with 8 GPUs? @here",
        "",
        "\x00\ud800",
    ],
)
def test_the_real_cores_answers_pass_the_gate(knowledge: Knowledge, body: str) -> None:
    made = triage(Report(id="slack:1", title="", body=body, is_log=True), knowledge)
    core = NamedCore(FakeCore(), knowledge.taxonomy)
    for extras in (False, True):
        passed = render(View("0a", made, core.name, extras=extras))
        message = {
            "text": passed.text,
            "blocks": list(passed.blocks),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        assert broken_message(message) == []
