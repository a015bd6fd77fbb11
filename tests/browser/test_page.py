"""The maintainers' page in a real Chromium: sign in, read, correct by one click, filter."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from pydantic import SecretStr

from bot.github.store.postgres import PostgresStore
from bot.page.sign_in import SignIn
from bot.runtime.resources import open_service
from bot.serve.compose import surfaces
from bot.serve.web_app import make_app
from bot.settings import Settings
from tests.bot.service.test_page import NASTY, issue, record
from tests.browser.chromium import Page


@contextmanager
def served(settings: Settings, database: str, port: int) -> Iterator[None]:
    """The real application on a real socket, with three triages, one of them hostile."""
    started, stopping = threading.Event(), threading.Event()

    async def go() -> None:
        async with open_service(settings, database) as service:
            store = PostgresStore(service.threads)
            for number in (1, 2, 3):
                store.save_triage(record(issue(number), title=NASTY if number == 1 else f"Issue {number}"))
            app = make_app(service, surfaces(service))
            server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, lifespan="off"))
            task = asyncio.create_task(server.serve())
            while not server.started:
                await asyncio.sleep(0.01)
            started.set()
            while not stopping.is_set():
                await asyncio.sleep(0.05)
            server.should_exit = True
            await task

    thread = threading.Thread(target=lambda: asyncio.run(go()))
    thread.start()
    assert started.wait(20)
    try:
        yield
    finally:
        stopping.set()
        thread.join(20)


def test_a_maintainer_signs_in_reads_corrects_and_filters(page: Page, database: str, port: int) -> None:
    settings = Settings(admin_secret=SecretStr("browser"), public_url=f"http://127.0.0.1:{port}")
    with served(settings, database, port):
        page.go(f"http://127.0.0.1:{port}/")
        assert "Sign in with a link" in page.value("document.body.innerText")

        page.go(SignIn.of(settings).link(settings.public_url, 60))
        assert page.value("location.pathname + location.search") == "/"
        assert page.value("document.querySelectorAll('article').length") == 3
        assert page.value("document.querySelectorAll('script, article img').length") == 0
        assert page.value("getComputedStyle(document.querySelector('.choice')).display") == "inline-flex"

        assert page.value("document.querySelector('article pre').checkVisibility()") is False
        page.click("article details summary")
        page.until("document.querySelector('article pre').checkVisibility()")
        assert "A hang." in page.value("document.querySelector('article pre').innerText")

        page.click("#t2 button[value='D.2.1']")
        page.until("location.hash === '#t2' && document.querySelector('#t2 button.given') !== null")
        assert "✓ D.2.1" in page.value("document.querySelector('#t2 button.given').innerText")

        page.value("document.querySelector('select[name=corrected]').value = 'yes'")
        page.click(".filters button")
        page.until("document.querySelectorAll('article').length === 1")
        assert page.value("document.querySelector('article').id") == "t2"
        time.sleep(0.2)
        assert [
            text
            for text in page.complaints
            if "favicon" not in text and "404" not in text and "401" not in text
        ] == []
