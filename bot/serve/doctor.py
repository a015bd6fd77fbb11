"""`bot doctor`: looks at everything the service needs and says what to mend."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.db.connect import database_url, pending
from bot.ports import Checked
from bot.settings import Settings, load_service_settings, unknown_settings
from knowledge.errors import UserError

NEEDED = {"issues": "write", "metadata": "read", "contents": "read"}
"""The App's permissions; docs/github-app-manifest.json asks for the same."""


def examine() -> list[Checked]:
    """All findings, in the order in which to fix them."""
    try:
        settings = load_service_settings()
    except UserError as error:
        return [Checked("broken", "settings", error.message, error.remedy)]
    findings = [Checked("ok", "settings", "read")]
    findings += [
        Checked(
            "warning",
            "settings",
            said,
            "docs/operating.md lists all settings.",
        )
        for said in unknown_settings()
    ]
    for subject, check in (
        ("database", _database),
        ("model", _model),
        ("github", _github),
        ("slack", _slack),
        ("llm", _llm),
    ):
        findings.extend(_checked(subject, check, settings))
    return findings


def github_findings(settings: Settings) -> list[Checked]:
    """What there is to say of the GitHub App's settings, sign-in and permissions."""
    return _checked("github", _github, settings)


def _checked(
    subject: str, check: Callable[[Settings], Iterator[Checked]], settings: Settings
) -> list[Checked]:
    try:
        return list(check(settings))
    except UserError as error:
        return [Checked("broken", subject, error.message, error.remedy)]


def _database(settings: Settings) -> Iterator[Checked]:
    kind = "configured server" if settings.database_url else "embedded server"
    with database_url(settings) as url:
        behind = pending(url)
    if behind:
        yield Checked(
            "warning", "database", f"{kind} answers, but its schema is out of date", "Run `bot db upgrade`."
        )
    else:
        yield Checked("ok", "database", f"{kind} answers; its schema is up to date")


def _model(settings: Settings) -> Iterator[Checked]:
    from bot.runtime.core import EngineCore

    EngineCore(settings)
    yield Checked("ok", "model", "loaded")


def _github(settings: Settings) -> Iterator[Checked]:
    missing = settings.missing_github
    untouched = not settings.webhook_secrets and len(settings.missing_github_app) == 2
    if untouched and settings.slack_signing_secret is not None:
        yield Checked("ok", "github", "not set up; only Slack is")
        return
    for name in missing:
        yield Checked(
            "missing",
            "github",
            f"{name} is not set",
            "Until it is set, nothing is written (shadow mode). See docs/operating.md.",
        )
    settings.read_private_key()
    if not settings.missing_github_app:
        yield from _github_answers(settings)


def _slack(settings: Settings) -> Iterator[Checked]:
    from bot.slack.doctor import slack_findings

    yield from slack_findings(settings)


def _llm(settings: Settings) -> Iterator[Checked]:
    from bot.runtime.llm_setup import standing

    told = standing(settings)
    if told is not None:
        yield Checked("ok", "llm", told)


def _github_answers(settings: Settings) -> Iterator[Checked]:
    from bot.github.records import GitHubError
    from bot.serve.compose import make_app

    try:
        app = make_app(settings)
        installations = app.installations() if app is not None else []
        permissions = app.permissions() if app is not None else {}
    except GitHubError as error:
        yield Checked(
            "broken",
            "github",
            f"the App can't sign in (HTTP {error.status or 'none'})",
            "Check DISTRIAGE_GITHUB_APP_ID, the private key and DISTRIAGE_GITHUB_API_URL.",
        )
        return
    yield Checked("ok", "github", f"the App signs in; {len(installations)} installations")
    yield from _permissions(permissions)


def _permissions(given: dict[str, str]) -> Iterator[Checked]:
    lacking = [
        f"{name}: {level}" for name, level in NEEDED.items() if given.get(name) not in (level, "write")
    ]
    if lacking:
        yield Checked(
            "broken",
            "github",
            f"the App is missing permissions ({', '.join(lacking)})",
            "Grant them on the App's page under Permissions & events; each installation must then accept them.",
        )
    more = sorted(f"{n}: {level}" for n, level in given.items() if n not in NEEDED)
    if more:
        yield Checked(
            "missing",
            "github",
            f"the App has permissions that it does not need ({', '.join(more)})",
            "Remove them on the App's page; it needs only issues, metadata, and contents.",
        )
