"""A back-fill in a process of its own, to be killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection

from bot.db.connect import sync_pool
from bot.github.app import App
from bot.history.backfill import fill
from bot.history.store import PostgresHistory
from bot.ports import Recorded, Recorder
from knowledge.history.record import Post
from tests.bot.fake_github import APP_ID
from tests.bot.history.fake_past import NAME
from tests.knowledge.history.tiny import AGAIN, made


class FlatRecorder(Recorder):
    """One record for all: what is read does not matter here."""

    def __init__(self) -> None:
        self._record = made([AGAIN])[0]

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        return Recorded("words", tuple(replace(self._record, id=p.id, opened=p.opened) for p in posts))


def run(database: str, api: str, key: str, out: Connection) -> None:
    """Fill; says how far it got after each page, and "through" at the end."""
    app = App(APP_ID, key, api, seconds_between_writes=0)
    installation, repo = app.find_repository(NAME)
    with sync_pool(database, 1) as pool:
        store = PostgresHistory(pool)
        kept = store.begin(NAME, "words", repo.id, installation)
        fill(store, kept, app.history_of(installation, repo), FlatRecorder(), lambda p: out.send(p.read))
    out.send("through")
