"""Every setting: the environment with the prefix DISTRIAGE_, checked when it is read.

docs/operating.md lists them all; tests/bot/service/test_operating.py keeps that list complete.
"""

from __future__ import annotations

import json
import os
import re
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from knowledge.errors import SettingsError

PREFIX = "DISTRIAGE_"
SHORTEST_TOKEN = 20


class Settings(BaseModel):
    """What an operator can set; each field is the variable DISTRIAGE_<NAME IN CAPITALS>.

    An empty variable counts as unset. Build it with `load_settings` to get `SettingsError` with a remedy.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    def __init__(self, **given: Any) -> None:
        """What is not given is read from the environment."""
        super().__init__(**{**_environment(), **given})

    data_dir: Path = Field(
        default_factory=lambda: user_data_path("distriage", appauthor=False, use_site_for_root=True),
        description="folder for everything stored on disk: embedded PostgreSQL, caches, generated secrets",
    )
    cache_dir: Path | None = Field(
        default=None,
        description="folder for the converted model and the index; may be read-only once they are there (as in the "
        "container image); unset = `cache` in the data folder",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="postgresql:// URL of the server shared by all workers; unset = embedded PostgreSQL in "
        "the data folder (one machine)",
    )
    model_dir: Path | None = Field(
        default=None,
        description="folder with the all-MiniLM-L6-v2 files; unset = the installed model package",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="minimum log level"
    )
    admin_secret: SecretStr | None = Field(
        default=None,
        description="key that signs the admin page's links; unset = generated once in the data folder",
    )
    public_url: str = Field(
        default="http://127.0.0.1:8000",
        description="public URL of the service; used in admin links",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65_535,
        description="port on which `bot serve` answers /metrics, and nothing else; unset = on its main port",
    )
    worker_concurrency: int = Field(
        default=4, ge=1, le=64, description="jobs that one worker runs concurrently"
    )

    triage_processes: int = Field(
        default=1,
        ge=1,
        le=16,
        description="triage processes per worker (about 200 MB and 20 triages a second each)",
    )
    edit_delay: float = Field(
        default=3.0,
        ge=0,
        le=60,
        description="seconds to wait after an edit, so that a burst of edits is one triage",
    )

    comment_delay: float = Field(
        default=120.0,
        ge=0,
        le=3600,
        description="seconds to wait after a comment that adds to a report, so that several are one triage",
    )
    keep_days: int | None = Field(
        default=None,
        ge=7,
        description="days after which triages, results, requests and resolutions of GitHub issues are deleted; "
        "unset = never",
    )

    keep_texts: bool = Field(
        default=False,
        description="whether histories keep each issue's redacted text; if not, texts that were kept are deleted when "
        "a worker starts",
    )

    github_webhook_secret: SecretStr | None = Field(
        default=None,
        description="webhook secret of the GitHub App (comma-separated list while rotating); unset = "
        "every delivery is refused",
    )
    github_app_id: int | None = Field(default=None, gt=0, description="numeric id of the GitHub App")
    github_private_key: SecretStr | None = Field(
        default=None, description="private key of the GitHub App as PEM text (\\n is read as a line break)"
    )
    github_private_key_file: Path | None = Field(
        default=None, description="file with the GitHub App's private key, as an alternative to the text"
    )
    github_client_id: str | None = Field(
        default=None,
        description="client id of the GitHub App, for signing in to the page with GitHub; unset = by link only",
    )
    github_client_secret: SecretStr | None = Field(
        default=None, description="client secret for the GitHub client id"
    )
    github_api_url: str = Field(
        default="https://api.github.com",
        description="root of the REST API; for GitHub Enterprise https://HOST/api/v3",
    )

    slack_signing_secret: SecretStr | None = Field(
        default=None, description="signing secret of the Slack app; unset = Slack is off"
    )
    slack_bot_token: SecretStr | None = Field(
        default=None, description="bot token (xoxb-...) of a Slack app installed in one workspace"
    )
    slack_client_id: str | None = Field(
        default=None, description="client id of a Slack app that several workspaces install (OAuth)"
    )
    slack_client_secret: SecretStr | None = Field(
        default=None, description="client secret for the Slack client id"
    )
    slack_token_key: SecretStr | None = Field(
        default=None,
        description="key that encrypts workspace tokens in the database (32+ characters; a list, "
        "comma-separated, while rotating); unset = generated once in the data folder",
    )
    slack_rate_limit: int = Field(
        default=20, ge=1, le=1000, description="triage requests allowed per Slack workspace and minute"
    )
    slack_api_url: str = Field(
        default="https://slack.com/api/",
        description="root of Slack's Web API, ending in /api/; for GovSlack https://slack-gov.com/api/",
    )

    slack_wave_channels: str | None = Field(
        default=None,
        description="ids of the Slack channels for messages about waves, comma-separated: `C012` for all repositories, "
        "`owner=C012` or `owner/repo=C012` for some (the closest counts), `T034/C012` where several workspaces "
        "installed the app; unset = the page alone",
    )

    wave_reports: int = Field(
        default=4,
        ge=2,
        le=1000,
        description="people who must report one failure within three days before that can be a wave",
    )
    backfill_on_install: int = Field(
        default=5000,
        ge=0,
        description="issues to read of each repository, the newest first, when the App is installed on it; 0 = none",
    )

    api_token: SecretStr | None = Field(
        default=None,
        description="token for POST /api/triage, 20+ characters (comma-separated list while rotating, or one "
        "for each client); unset = the API is off",
    )
    api_rate_limit: int = Field(
        default=60, ge=1, le=10_000, description="calls of the API allowed per token and minute"
    )

    llm_base_url: str | None = Field(
        default=None, description="OpenAI-compatible endpoint, e.g. http://127.0.0.1:11434/v1; unset = no LLM"
    )
    llm_api_key: SecretStr | None = Field(
        default=None, description="key for the LLM endpoint; local servers need none"
    )
    llm_model: str | None = Field(default=None, description="name of the model at the LLM endpoint")
    llm_timeout: float = Field(
        default=15.0, gt=0, le=20, description="maximum seconds that one triage waits for the LLM"
    )
    llm_daily_budget: float | None = Field(
        default=None,
        ge=0,
        description="US dollars a day; once spent, answers are local only; unset = no limit",
    )
    llm_repository_daily_budget: float | None = Field(
        default=None, ge=0, description="the same per repository; unset = no separate limit"
    )
    llm_concurrency: int = Field(default=2, ge=1, le=64, description="concurrent LLM calls per process")
    llm_price_input: float = Field(default=0.0, ge=0, description="US dollars per million input tokens")
    llm_price_output: float = Field(default=0.0, ge=0, description="US dollars per million output tokens")
    llm_duties: Literal[
        "reader",
        "adjudicator",
        "confirmer",
        "writer",
        "reader,adjudicator",
        "reader,confirmer",
        "reader,writer",
        "adjudicator,confirmer",
        "adjudicator,writer",
        "confirmer,writer",
        "reader,adjudicator,confirmer",
        "reader,adjudicator,writer",
        "reader,confirmer,writer",
        "adjudicator,confirmer,writer",
        "reader,adjudicator,confirmer,writer",
    ] = Field(
        default="reader,adjudicator,confirmer,writer",
        description="what the LLM does: read, adjudicate, confirm known failures, write (and verify) the answer",
    )
    llm_reason: Literal["ids-only", "plain"] = Field(
        default="ids-only",
        description="ids-only shows none of the LLM's text; plain shows its reason if the gate accepts it",
    )
    llm_use: Literal["measured", "always"] = Field(
        default="measured",
        description="measured: skip the LLM if `bot eval --fit-fusion` showed no gain; always: use it anyway",
    )
    llm_answers_as: str | None = Field(
        default=None, description="model name in replies, if it differs from DISTRIAGE_LLM_MODEL"
    )
    llm_max_output: int = Field(
        default=2000, ge=200, le=32_000, description="maximum tokens per LLM reply, reasoning included"
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.github_private_key and self.github_private_key_file:
            raise ValueError(
                "DISTRIAGE_GITHUB_PRIVATE_KEY and DISTRIAGE_GITHUB_PRIVATE_KEY_FILE are both set. "
                "Unset one of them."
            )
        if bool(self.github_client_id) != bool(self.github_client_secret):
            raise ValueError(
                "only one of DISTRIAGE_GITHUB_CLIENT_ID and DISTRIAGE_GITHUB_CLIENT_SECRET is set. "
                "Set both, or neither."
            )
        if any(len(token) < SHORTEST_TOKEN for token in self.api_tokens):
            raise ValueError(
                f"DISTRIAGE_API_TOKEN is shorter than {SHORTEST_TOKEN} characters. "
                "Generate one with: openssl rand -hex 32"
            )
        wrong = [part for part in _parts(self.slack_wave_channels) if not _WAVE_CHANNEL.fullmatch(part)]
        if wrong:
            raise ValueError(
                f"DISTRIAGE_SLACK_WAVE_CHANNELS: {wrong[0][:80]!r} is not a channel. "
                "Write C012, owner=C012 or owner/repo=T034/C012."
            )
        if bool(self.llm_base_url) != bool(self.llm_model):
            raise ValueError(
                "only one of DISTRIAGE_LLM_BASE_URL and DISTRIAGE_LLM_MODEL is set. Set both, or neither."
            )
        if bool(self.slack_client_id) != bool(self.slack_client_secret):
            raise ValueError(
                "only one of DISTRIAGE_SLACK_CLIENT_ID and DISTRIAGE_SLACK_CLIENT_SECRET is set. "
                "Set both, or neither."
            )
        if self.slack_bot_token and self.slack_client_id:
            raise ValueError(
                "DISTRIAGE_SLACK_BOT_TOKEN and DISTRIAGE_SLACK_CLIENT_ID are both set. Keep the token for "
                "one workspace, or the client for several."
            )
        return self

    @property
    def cache(self) -> Path:
        """Where the converted model and the index are."""
        return self.cache_dir or self.data_dir / "cache"

    @property
    def github_web_url(self) -> str:
        """Where people read issues: the host of the API's root, github.com for api.github.com."""
        root = self.github_api_url.rstrip("/").removesuffix("/api/v3")
        return "https://github.com" if root == "https://api.github.com" else root

    @cached_property
    def webhook_secrets(self) -> tuple[bytes, ...]:
        """The GitHub webhook secrets, in order, without blanks; empty = none configured."""
        return _listed(self.github_webhook_secret)

    @cached_property
    def api_tokens(self) -> tuple[bytes, ...]:
        """The tokens of the API; empty = the API is off."""
        return _listed(self.api_token)

    def wave_channel(self, full_name: str) -> str | None:
        """The channel ("C012", "T034/C012") that is told of waves in a repository; None = nobody is."""
        of: dict[str, str] = {}
        for part in _parts(self.slack_wave_channels):
            scope, _, channel = part.rpartition("=")
            of[scope.lower()] = channel
        name = full_name.lower()
        return of.get(name) or of.get(name.partition("/")[0]) or of.get("")

    def read_private_key(self) -> str | None:
        """The GitHub App's private key as PEM text, from the variable or its file; None when not configured.

        Raises `SettingsError` when the file cannot be read or holds no PEM key.
        """
        if self.github_private_key is not None:
            text = self.github_private_key.get_secret_value().replace("\\n", "\n")
        elif self.github_private_key_file is not None:
            try:
                text = self.github_private_key_file.read_text(encoding="ascii")
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(
                    f"Can't read the GitHub App's private key: {error}.",
                    "Point DISTRIAGE_GITHUB_PRIVATE_KEY_FILE at the .pem file from the App's page.",
                ) from error
        else:
            return None
        if not _is_private_key(text):
            raise SettingsError(
                "The GitHub App's private key isn't a PEM key.",
                "Use the complete .pem file from the App's page, including its BEGIN and END lines.",
            )
        return text

    @property
    def missing_github_app(self) -> list[str]:
        """Names of the variables without which GitHub can be neither read nor written; then all is shadow."""
        missing = []
        if self.github_app_id is None:
            missing.append("DISTRIAGE_GITHUB_APP_ID")
        if self.github_private_key is None and self.github_private_key_file is None:
            missing.append("DISTRIAGE_GITHUB_PRIVATE_KEY or DISTRIAGE_GITHUB_PRIVATE_KEY_FILE")
        return missing

    @property
    def missing_github(self) -> list[str]:
        """Names of all variables that the GitHub App still needs."""
        webhook = [] if self.webhook_secrets else ["DISTRIAGE_GITHUB_WEBHOOK_SECRET"]
        return webhook + self.missing_github_app


_WAVE_CHANNEL = re.compile(r"(?:[\w.-]+(?:/[\w.-]+)?=)?(?:[TE][A-Z0-9]+/)?[CG][A-Z0-9]+")


def _environment() -> dict[str, str]:
    """Set variables with our prefix, by the name of their field."""
    at = len(PREFIX)
    return {
        name[at:].lower(): value
        for name, value in os.environ.items()
        if value and name.upper()[:at] == PREFIX
    }


def _listed(secret: SecretStr | None) -> tuple[bytes, ...]:
    """The parts of a comma-separated secret, without blanks."""
    return tuple(part.encode() for part in _parts(secret.get_secret_value() if secret else None))


def _parts(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _is_private_key(text: str) -> bool:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError):
        # TypeError: it is locked by a pass phrase, which GitHub's are not.
        return False
    return True


def unknown_variables() -> list[str]:
    """Names of set variables that begin like ours and are none: a misspelt setting has no effect."""
    known = set(_variables())
    return sorted(
        name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known
    )


def unknown_settings() -> list[str]:
    """A sentence for each of `unknown_variables`, with the setting that was probably meant."""
    said = []
    for name in unknown_variables():
        near = get_close_matches(name.upper(), _variables(), 1, 0.8)
        meant = f"; did you mean {near[0]}?" if near else ""
        said.append(f"{name} is not a setting and has no effect{meant}")
    return said


def _variables() -> list[str]:
    return [PREFIX + name.upper() for name in Settings.model_fields]


def load_settings() -> Settings:
    """Reads the environment; raises `SettingsError` that names the variable, never its value."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        if not first["loc"]:
            problem = str(first["ctx"]["error"]) if "ctx" in first else first["msg"]
            message, _, remedy = problem.partition(". ")
            raise SettingsError(f"{message}.", remedy) from None
        name = PREFIX + str(first["loc"][0]).upper()
        wrong = re.sub(r"^(Input|String|Value) should ", "must ", first["msg"]).partition(", unable to ")[0]
        said = f"{name} {wrong}." if wrong.startswith("must ") else f"{name}: {wrong}."
        raise SettingsError(said, "See docs/operating.md for valid values.") from None


CREATED_APP = "github-app.json"
"""In the data folder: the App that was created by one click (bot/page/create_app.py)."""


def load_service_settings() -> Settings:
    """The settings with the created App's id, key and secret, where the environment names no App.

    For what talks to GitHub; a process that reads reports has no use for the key. Raises `SettingsError`.
    """
    settings = load_settings()
    if settings.github_app_id or settings.github_private_key or settings.github_private_key_file:
        return settings
    path = settings.data_dir / CREATED_APP
    try:
        kept = json.loads(path.read_text("utf-8"))
        # GitHub chose this one; a secret that was set before can be for webhooks that need no App.
        secrets = [str(kept["webhook_secret"])]
        if settings.github_webhook_secret is not None:
            secrets.append(settings.github_webhook_secret.get_secret_value())
        found = {
            "github_app_id": int(kept["id"]),
            "github_private_key": SecretStr(str(kept["pem"])),
            "github_webhook_secret": SecretStr(",".join(secrets)),
        }
        if settings.github_client_id is None and kept.get("client_id") and kept.get("client_secret"):
            found["github_client_id"] = str(kept["client_id"])
            found["github_client_secret"] = SecretStr(str(kept["client_secret"]))
    except (FileNotFoundError, NotADirectoryError):
        return settings
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(
            f"Can't read {path} ({type(error).__name__}).",
            "Give the service's user access to it, or delete it and create the App again.",
        ) from error
    return settings.model_copy(update=found)
