"""A worker ends when it is told to, also when a database call swallows the telling."""

from __future__ import annotations

import asyncio

from bot.jobs.queue import end


def test_a_task_that_swallowed_a_cancel_is_told_again() -> None:
    asyncio.run(swallow_one())


async def swallow_one() -> None:
    swallowed = 0

    async def rescue_for_ever() -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed += 1
                if swallowed > 1:
                    raise

    task = asyncio.create_task(rescue_for_ever())
    await asyncio.sleep(0)
    await asyncio.wait_for(end(task), 5)
    assert task.cancelled()
    assert swallowed == 2


def test_a_task_that_fails_while_ending_is_no_trouble() -> None:
    asyncio.run(fail_while_ending())


async def fail_while_ending() -> None:
    async def broken() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise OSError("the connection was gone")

    task = asyncio.create_task(broken())
    await asyncio.sleep(0)
    await asyncio.wait_for(end(task), 5)
    assert isinstance(task.exception(), OSError)
