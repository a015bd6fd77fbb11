from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bot.service.databases import fresh_database, running_server
from tests.browser.chromium import PROGRAM, Page, open_page


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    with running_server() as url, fresh_database(url) as fresh:
        yield fresh


@pytest.fixture
def page() -> Iterator[Page]:
    if PROGRAM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with open_page() as one:
        yield one
