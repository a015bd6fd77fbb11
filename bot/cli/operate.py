"""What an operator does from the command line to deliveries and corrections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from bot.cli.waiting import waiting
from bot.db.connect import migrated_database, sync_pool
from bot.db.deliveries import Deliveries
from bot.db.forget import forget
from bot.db.llm_ledger import forget_spending
from bot.github.store.given_labels import GivenLabels, GivenTables
from bot.jobs.queue import requeue
from bot.runtime.resources import open_service
from bot.settings import load_settings

Result = TypeVar("Result")


def with_deliveries(use: Callable[[Deliveries], Result]) -> Result:
    """Call `use` with the deliveries of the configured database."""
    with waiting("asking the database"), migrated_database(load_settings()) as url, sync_pool(url, 1) as pool:
        return use(Deliveries(pool))


def all_corrections() -> list[GivenLabels]:
    """Everything that people corrected, oldest first."""
    settings = load_settings()
    with waiting("asking the database"), migrated_database(settings) as url, sync_pool(url, 1) as pool:
        return GivenTables(pool, settings.github_web_url).every()


def forget_repository(name: str, *, really: bool) -> dict[str, int]:
    """Delete all that is stored of "owner/name", or only count it; table to number of rows."""
    settings = load_settings()
    with waiting("asking the database"), migrated_database(settings) as url:
        rows = forget(url, name, really=really)
    spent = forget_spending(settings, name) if really else 0
    return rows | ({"llm_spending": spent} if spent else {})


def retry_dead(delivery_id: str | None) -> list[str]:
    """Queue one dead delivery again, or all of them (None); returns the ids of those queued."""
    settings = load_settings()
    with migrated_database(settings) as url:

        async def go() -> list[str]:
            async with open_service(settings, url) as service:
                if delivery_id is not None:
                    wanted = [delivery_id]
                else:
                    dead = await asyncio.to_thread(Deliveries(service.threads).newest, "dead", 100_000)
                    wanted = [delivery.id for delivery in reversed(dead)]
                return [one for one in wanted if await requeue(service.pool, service.queue, one)]

        return asyncio.run(go())
