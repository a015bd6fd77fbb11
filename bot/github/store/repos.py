"""Installations, the repositories they cover, their switches and their configuration files."""

from __future__ import annotations

from datetime import datetime

from bot.db.clean import clean_text
from bot.github.records import ConfigCache, InstallationNote, RepoRef
from bot.github.store.columns import Table


class RepoTables(Table):
    """The part of `bot.github.ports.Store` that is about repositories."""

    def config(self, repo_id: int) -> ConfigCache | None:
        """See the protocol."""
        row = self._row("SELECT * FROM repo_configs WHERE repo_id = %s", (repo_id,))
        return ConfigCache(row["etag"], row["good_text"], row["error"], row["noted_error"]) if row else None

    def save_config(self, repo_id: int, cache: ConfigCache) -> None:
        """See the protocol."""
        self._put(
            "repo_configs",
            {
                "repo_id": repo_id,
                "etag": cache.etag,
                "good_text": clean_text(cache.good_text) if cache.good_text is not None else None,
                "error": clean_text(cache.error) if cache.error is not None else None,
                "noted_error": clean_text(cache.noted_error) if cache.noted_error is not None else None,
            },
            key=("repo_id",),
        )

    def claim_config_note(self, repo_id: int, error: str | None) -> bool:
        """See the protocol."""
        text = clean_text(error) if error is not None else None
        query = (
            "UPDATE repo_configs SET noted_error = %(error)s WHERE repo_id = %(repo)s"
            " AND noted_error IS DISTINCT FROM %(error)s::text"
        )
        return self._run(query, {"repo": repo_id, "error": text}) > 0

    def repo_on(self, repo_id: int) -> bool:
        """See the protocol."""
        row = self._row("SELECT is_on FROM repo_switches WHERE repo_id = %s", (repo_id,))
        return bool(row["is_on"]) if row else True

    def set_repo_on(self, repo_id: int, on: bool, by: str, at: datetime) -> None:
        """See the protocol."""
        self._put(
            "repo_switches",
            {"repo_id": repo_id, "is_on": on, "by_login": clean_text(by), "at": at},
            key=("repo_id",),
        )

    def save_installation(self, note: InstallationNote) -> None:
        """See the protocol."""
        row = {"id": note.id, "account": clean_text(note.account), "state": note.state}
        self._put("installations", row, key=("id",))

    def save_repos(self, installation_id: int, added: list[RepoRef], removed: list[RepoRef]) -> None:
        """See the protocol."""
        with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO installation_repos (installation_id, repo_id, full_name) VALUES (%s, %s, %s)"
                " ON CONFLICT (installation_id, repo_id) DO UPDATE SET full_name = excluded.full_name",
                [(installation_id, repo.id, clean_text(repo.full_name)) for repo in added],
            )
            cursor.executemany(
                "DELETE FROM installation_repos WHERE installation_id = %s AND repo_id = %s",
                [(installation_id, repo.id) for repo in removed],
            )
