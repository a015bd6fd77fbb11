"""A repository's configuration at hand: by ETag, and when the file is broken, the last good one.

A broken file never breaks triage; where the last good one asked for it, maintainers get one note.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.gate.markdown import pass_markdown
from bot.github.errors import Gone, NotAllowed, TryAgain
from bot.github.ports import File, GitHub, Ports, Store
from bot.github.posting import own_comments, spend, with_marker
from bot.github.records import ConfigCache, IssueRef, RepoRef
from bot.github.repo_config import CONFIG_PATH, ConfigError, RepoConfig, parse_config
from bot.render.comment import render_config_error
from knowledge.triage import AxisName

_NO_HASH = "0" * 64
_UNUSABLE = "the file is larger than 64 KiB, or not a text file"


def load_config(github: GitHub, ports: Ports, repo: RepoRef) -> RepoConfig:
    """The configuration in force. `TryAgain` when it can neither be read nor remembered."""
    known = ports.store.config(repo.id)
    try:
        file = github.file(repo, CONFIG_PATH, known.etag if known else None)
    except TryAgain:
        if known is None:
            raise
        return _good(known)
    now = cache_after(known, file, ports.core.ids)
    if now != known:
        ports.store.save_config(repo.id, now)
    return _good(now)


def known_config(store: Store, repo_id: int) -> RepoConfig:
    """The configuration as it was last read; the defaults where it never was."""
    known = store.config(repo_id)
    return _good(known) if known is not None else RepoConfig()


def cache_after(
    known: ConfigCache | None, file: File, ids: Callable[[AxisName], frozenset[str]]
) -> ConfigCache:
    """What is to be remembered after reading the file. Pure."""
    noted = known.noted_error if known else None
    if file.state == "same" and known is not None:
        return known
    good = known.good_text if known else None
    if file.state == "unusable":
        return ConfigCache(file.etag, good, _UNUSABLE, noted)
    if file.text is None:
        return ConfigCache(None, None, None, noted)
    try:
        config = parse_config(file.text, ids)
    except ConfigError as error:
        return ConfigCache(file.etag, good, str(error), noted)
    return ConfigCache(file.etag, config.model_dump_json(), None, noted)


def note_errors(github: GitHub, ports: Ports, ref: IssueRef, config: RepoConfig) -> int:
    """Tell of a broken (or mended) file on the issue that the last good one names; returns writes made.

    The note is claimed before it is written, so that many workers write it once; where GitHub fails the claim is
    given back, and a later triage writes it. It never stops a triage.
    """
    known = ports.store.config(ref.repo.id)
    if known is None or config.report_errors_to is None or config.mode == "shadow":
        return 0
    if known.error == known.noted_error or not ports.store.claim_config_note(ref.repo.id, known.error):
        return 0
    place = IssueRef(ref.installation_id, ref.repo, config.report_errors_to)
    try:
        return _note(github, ports, place, known.error)
    except (Gone, NotAllowed):
        return 0
    except TryAgain:
        ports.store.claim_config_note(ref.repo.id, known.noted_error)
        return 0


def _note(github: GitHub, ports: Ports, place: IssueRef, error: str | None) -> int:
    draft = render_config_error(error)
    body = pass_markdown(with_marker("config", _NO_HASH, draft.body), draft.links)
    issue = github.issue(place)
    mine = own_comments(github.comments(place), github.login, "config")
    if issue.locked or (not mine and error is None):
        return 0
    spend(ports, place.installation_id, 1)
    if mine:
        github.edit_comment(place, mine[0].id, body)
    else:
        github.create_comment(place, body)
    return 1


def _good(cache: ConfigCache) -> RepoConfig:
    if cache.good_text is None:
        return RepoConfig()
    return RepoConfig.model_validate_json(cache.good_text)
