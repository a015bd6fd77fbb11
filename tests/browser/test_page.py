"""The maintainers' page in a real Chromium: sign in, read, judge by keys and clicks, filter; for eyes and for axe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.page.sign_in import SignIn
from bot.settings import Settings
from knowledge.engine import Knowledge
from tests.bot.service.test_page import NASTY, issue, record
from tests.browser.axe import FILE, serious_faults
from tests.browser.chromium import Page
from tests.browser.scene import COMMENTED, running

HOSTILE = 61
"""Number of the triage whose texts are hostile; the newest."""
DRAFT = 57
"""Number of one with a drafted answer."""
PAGES = (
    "/",
    f"/triages/{DRAFT}",
    f"/triages/{HOSTILE}",
    f"/triages/{DRAFT}/issue",
    "/tracker",
    "/replay?history=1",
    "/replay?history=2",
    "/replays",
    "/weeks",
)
SCREEN = 1080 - 140
"""Pixels of height that a 1080-line screen leaves below the bars of browser and system."""


@pytest.fixture(scope="module")
def settings(knowledge: Knowledge) -> Iterator[Settings]:
    """Of a service that runs."""
    with running(knowledge, extra=[record(issue(1))]) as settings:
        yield settings


@pytest.fixture
def inbox(page: Page, settings: Settings) -> Page:
    """The list, signed in, in a window of 1920 by 1080."""
    page.see(1920, SCREEN)
    page.go(SignIn.of(settings).link(settings.public_url, 600))
    page.until("document.querySelectorAll('.inbox tbody tr').length === 50")
    return page


def test_nobody_sees_anything_before_signing_in(page: Page, settings: Settings) -> None:
    page.go(settings.public_url)
    assert "Sign in with a link" in page.value("document.body.innerText")


def test_forty_triages_fit_a_screen_of_1080_lines(inbox: Page) -> None:
    bottom = inbox.value("document.querySelectorAll('.inbox tbody tr')[39].getBoundingClientRect().bottom")
    assert bottom <= SCREEN
    # Dense, and still as large as what one reads elsewhere.
    assert inbox.value("parseFloat(getComputedStyle(document.querySelector('.inbox td')).fontSize)") >= 12.5


def test_keys_walk_the_list_open_a_triage_and_lead_on(inbox: Page) -> None:
    where = "[...document.querySelectorAll('.inbox a')].indexOf(document.activeElement)"
    for key, row in (("j", 0), ("j", 1), ("j", 2), ("k", 1), ("k", 0), ("k", 0), ("j", 1)):
        inbox.key(key)
        assert inbox.value(where) == row
    inbox.key("Enter")
    inbox.until("location.pathname === '/triages/60'")
    inbox.until("document.querySelector('h1') !== null && document.readyState === 'complete'")
    inbox.key("j")
    inbox.until("location.pathname === '/triages/59' && document.readyState === 'complete'")
    inbox.key("k")
    inbox.until("location.pathname === '/triages/60' && document.readyState === 'complete'")
    inbox.key("u")
    inbox.until("location.pathname === '/' && document.readyState === 'complete'")
    # What is typed into a field moves nothing.
    inbox.value("document.querySelector('.filters select').focus()")
    inbox.key("j")
    assert inbox.value("document.activeElement.name") == "repo"


def test_a_maintainer_corrects_by_one_click_and_takes_it_back(inbox: Page, settings: Settings) -> None:
    inbox.go(f"{settings.public_url}/triages/{HOSTILE}")
    inbox.click("button[value='B.2']")
    inbox.until("location.hash === '#labels' && document.querySelector('button.given') !== null")
    assert "✓ B.2" in inbox.value("document.querySelector('button.given').innerText")
    inbox.go(f"{settings.public_url}/?corrected=yes")
    inbox.until(f"document.querySelector('.inbox a').getAttribute('href').startsWith('/triages/{HOSTILE}')")
    inbox.go(f"{settings.public_url}/triages/{HOSTILE}")
    inbox.click("button[name=undo]")
    inbox.until("document.querySelector('button[name=undo]') === null")
    assert inbox.value("document.querySelector('button.given')") is None


def test_a_match_of_the_replay_is_judged_where_it_stands_and_taken_back(
    inbox: Page, settings: Settings
) -> None:
    inbox.go(f"{settings.public_url}/replay?history=1")
    inbox.click("[action='/votes'] button[value=no]")
    inbox.until("location.hash === '#issue-2' && document.querySelector('button.given') !== null")
    assert inbox.value("document.querySelector('#issue-2 button.given').innerText") == "✓ Wrong"
    inbox.click("#issue-2 button[name=undo]")
    inbox.until("document.readyState === 'complete' && document.querySelector('button.given') === null")


def test_filters_narrow_the_list_and_pages_turn(inbox: Page) -> None:
    inbox.value("document.querySelector('select[name=outcome]').value = 'silent'")
    inbox.click(".filters button")
    inbox.until("location.search.includes('outcome=silent') && document.readyState === 'complete'")
    words = inbox.value("[...document.querySelectorAll('.inbox .o')].map(e => e.innerText).join()")
    assert set(words.split(",")) == {"Silent", "Draft"}
    inbox.click(".bar nav a")
    inbox.until("document.querySelector('[rel=next]') !== null")
    inbox.click("[rel=next]")
    inbox.until("document.querySelectorAll('.inbox tbody tr').length === 11")


def test_the_issue_s_text_comes_into_its_triage_with_the_evidence_marked(
    inbox: Page, settings: Settings
) -> None:
    inbox.go(f"{settings.public_url}/triages/{DRAFT}")
    inbox.until("document.querySelectorAll('[data-load] mark').length > 0")
    assert inbox.value("document.querySelectorAll('[data-load] .lines').length") >= 1


def test_all_of_it_works_without_a_script(page: Page, settings: Settings) -> None:
    page.see(1280, 900)
    page.scripts(on=False)
    page.go(SignIn.of(settings).link(settings.public_url, 600))
    page.click(".inbox a")
    page.until(f"location.pathname === '/triages/{HOSTILE}'")
    page.go(f"{settings.public_url}/triages/{COMMENTED}")
    assert page.value("document.querySelectorAll('[data-load] mark').length") == 0
    assert page.value("document.querySelectorAll('[data-load] .lines li').length") > 0, "the quoted lines"
    page.click("[data-load] a")
    page.until(f"location.pathname === '/triages/{COMMENTED}/issue'")
    page.until("document.querySelectorAll('mark').length > 0")
    page.go(f"{settings.public_url}/triages/{COMMENTED}")
    assert page.value("document.querySelector('.comment + details pre').checkVisibility()") is False
    page.click(".comment + details summary")
    page.until("document.querySelector('.comment + details pre').checkVisibility()")


def test_plots_say_their_numbers_on_hover_and_stay_in_the_page(inbox: Page, settings: Settings) -> None:
    inbox.go(f"{settings.public_url}/weeks")
    assert inbox.value("document.querySelectorAll('.plot svg').length") == 5
    titles = inbox.value("[...document.querySelectorAll('.plot g title')].map(t => t.textContent)")
    assert len(titles) == 5 * 12
    assert all(title.startswith("Week of 20") for title in titles)
    # A bar is hit at its whole height, however small its number.
    heights = inbox.value(
        "[...document.querySelectorAll('.plot .hit')].map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) > 60


def test_axe_notices_a_fault(page: Page) -> None:
    if not FILE.exists():
        pytest.skip("axe-core is not installed: make test-browser")
    page.value("document.body.innerHTML = '<main><input><p style=color:#ccc>pale</p></main>'")
    assert {"label", "color-contrast"} <= {fault["rule"] for fault in serious_faults(page)}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_its_window_or_has_a_serious_fault(
    page: Page, settings: Settings, width: int, dark: bool
) -> None:
    if not FILE.exists():
        pytest.skip("axe-core is not installed: make test-browser")
    page.see(width, 900, dark=dark)
    page.go(settings.public_url)
    assert serious_faults(page) == []
    page.go(SignIn.of(settings).link(settings.public_url, 600))
    for path in PAGES:
        page.go(settings.public_url + path)
        page.until(
            "document.querySelectorAll('[data-load]').length <= document.querySelectorAll('#loaded').length"
        )
        page.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert page.value("document.documentElement.scrollWidth <= window.innerWidth"), path
        assert serious_faults(page) == [], path


@pytest.mark.parametrize("path", ["/replay?history=1", "/tracker"])
def test_dates_and_headings_of_tables_stay_whole_on_a_phone(
    inbox: Page, settings: Settings, path: str
) -> None:
    inbox.see(390, 900)
    inbox.go(settings.public_url + path)
    heights = inbox.value(
        "[...document.querySelectorAll('.tracker th, .tracker > tbody:first-child td')]"
        ".filter(e => e.checkVisibility() && !e.textContent.trim().includes(' '))"
        ".map(e => [e.textContent, e.closest('thead') ? e.scrollWidth - e.clientWidth : e.offsetHeight - 24])"
    )
    assert heights and all(over <= 0 for _, over in heights), heights


def test_hostile_texts_stay_texts_and_nothing_is_asked_of_others(inbox: Page, settings: Settings) -> None:
    for path in PAGES:
        inbox.go(settings.public_url + path)
        assert inbox.value("document.querySelectorAll('main img, main script').length") == 0
        hosts = inbox.value("performance.getEntriesByType('resource').map(e => new URL(e.name).host)")
        assert set(hosts) <= {settings.public_url.removeprefix("http://")}
    inbox.go(f"{settings.public_url}/triages/{HOSTILE}")
    assert NASTY in inbox.value("document.querySelector('.comment').innerText")
    complaints = [text for text in inbox.complaints if "404" not in text and "401" not in text]
    assert complaints == []
