"""Histories in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import dict_row

from bot.db.connect import Row, Table, clean_json, clean_text
from bot.history.records import Forgotten, KeptIssue, LabelChange, Marked, Outcome, Progress, RepoHistory
from knowledge.history.record import Record
from knowledge.judging.features import Floats
from knowledge.report import Report

_OUTCOME = (
    "is_open", "state", "reason", "closed_at", "closed_by", "fix_commit", "fixed_at", "released", "others",
    "duplicates", "why",
)  # fmt: skip
_FACTS = ("title", "url", "content_hash", "opened", *_OUTCOME)
_EVIDENCE = ("version", "record", "vectors", "small")
_BATCH = 2_000
_FEW = 100
"""Rows that are read at once: between two searches, few are new."""
_NEWER = (
    "SELECT version, record, vectors, small FROM history_issues WHERE repo = %s AND version > %s"
    " ORDER BY version, id"
)


def _insert() -> str:
    names = ("repo", "id", *_FACTS, *_EVIDENCE)
    return (
        f"INSERT INTO history_issues ({', '.join(names)}) VALUES ({', '.join(f'%({n})s' for n in names)})"
        f" ON CONFLICT (repo, id) DO UPDATE SET {', '.join(map(_changed, (*_FACTS, *_EVIDENCE)))}"
    )


def _changed(name: str) -> str:
    if name == "released":
        # A fix that is still the same one stays in its release.
        return (
            "released = CASE WHEN history_issues.fix_commit = excluded.fix_commit AND excluded.released = ''"
            " THEN history_issues.released ELSE excluded.released END"
        )
    return f"{name} = excluded.{name}"


_INSERT = _insert()
_UPDATE = (
    f"UPDATE history_issues SET {', '.join(f'{n} = %({n})s' for n in _FACTS if n != 'released')},"
    " released = CASE WHEN fix_commit = %(fix_commit)s AND %(released)s = '' THEN released ELSE %(released)s END"
    " WHERE repo = %(repo)s AND id = %(id)s"
)


_MARKS = """(
  (SELECT count(*) FROM history_issues WHERE repo = r.key AND duplicates <> '{}')
  + (SELECT count(*) FROM history_votes WHERE repo = r.key AND kind = 'same')
)"""


_DROP_COMMENT = """
UPDATE history_replays SET result = jsonb_set(result, '{comments}', (
  SELECT coalesce(jsonb_agg(one ORDER BY place), '[]')
  FROM jsonb_array_elements(result -> 'comments') WITH ORDINALITY AS listed (one, place)
  WHERE one #>> '{issue,name}' <> %(name)s))
WHERE repo = %(repo)s AND result @> jsonb_build_object('comments', jsonb_build_array(
  jsonb_build_object('issue', jsonb_build_object('name', %(name)s::text))))
"""


_FORGOTTEN = (
    "(repo_id = ANY(%(ids)s) OR installation_id = %(installation)s"
    " OR (lower(full_name) = ANY(%(names)s) AND (repo_id IS NULL OR %(ids)s::bigint[] = '{}')))"
)
"""Of these repositories, or of the installation."""


class PostgresHistory(Table):
    """`bot.history.records.HistoryStore` over a pool; safe to call from several threads and processes."""

    def begin(
        self, full_name: str, encoder: str, repo_id: int | None, installation_id: int | None
    ) -> RepoHistory:
        """See the protocol."""
        found = self.find(full_name, repo_id)
        values = {
            "name": clean_text(full_name),
            "encoder": encoder,
            "repo": repo_id,
            "installation": installation_id,
        }
        if found is None:
            self._run(
                "INSERT INTO history_repos (repo_id, installation_id, full_name, encoder)"
                " VALUES (%(repo)s, %(installation)s, %(name)s, %(encoder)s) ON CONFLICT DO NOTHING",
                values,
            )
        else:
            self._run(
                "UPDATE history_repos SET full_name = %(name)s, repo_id = coalesce(%(repo)s, repo_id),"
                " installation_id = coalesce(%(installation)s, installation_id) WHERE key = %(key)s",
                {**values, "key": found.key},
            )
        begun = self.find(full_name, repo_id)
        if begun is None:
            raise Forgotten(f"the history of {full_name} was deleted meanwhile")
        return begun

    def begin_again(
        self, full_name: str, encoder: str, repo_id: int | None, installation_id: int | None
    ) -> RepoHistory:
        """See the protocol."""
        values = {
            "ids": [repo_id] if repo_id else [],
            "names": [clean_text(full_name).lower()],
            "installation": None,
        }
        with (
            self._pool.connection() as connection,
            connection.transaction(),
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            old = f"SELECT * FROM history_repos WHERE {_FORGOTTEN} FOR UPDATE".encode()
            kept = cursor.execute(old, values).fetchall()
            keys = [row["key"] for row in kept]
            by_hand = next((row["threshold"] for row in kept if row["by_hand"]), None)
            votes = cursor.execute("SELECT * FROM history_votes WHERE repo = ANY(%s)", (keys,)).fetchall()
            cursor.execute("DELETE FROM history_repos WHERE key = ANY(%s)", (keys,))
            [row] = cursor.execute(
                "INSERT INTO history_repos (repo_id, installation_id, full_name, encoder, threshold, by_hand)"
                " VALUES (%s, %s, %s, %s, %s, %s) RETURNING *",
                (repo_id, installation_id, clean_text(full_name), encoder, by_hand, by_hand is not None),
            ).fetchall()
            cursor.executemany(
                "INSERT INTO history_votes (repo, id, kind, subject, by_login, role, agrees, at, corrected)"
                " VALUES (%(repo)s, %(id)s, %(kind)s, %(subject)s, %(by_login)s, %(role)s, %(agrees)s, %(at)s,"
                " %(corrected)s) ON CONFLICT DO NOTHING",
                [{**vote, "repo": row["key"]} for vote in votes],
            )
        return _repo(row)

    def find(self, full_name: str, repo_id: int | None = None) -> RepoHistory | None:
        """See the protocol."""
        row = self._row(
            "SELECT * FROM history_repos WHERE repo_id = %(repo)s OR (lower(full_name) = lower(%(name)s)"
            " AND (repo_id IS NULL OR %(repo)s::bigint IS NULL)) ORDER BY repo_id NULLS LAST, key DESC LIMIT 1",
            {"repo": repo_id, "name": clean_text(full_name)},
        )
        return _repo(row) if row else None

    def by_key(self, key: int) -> RepoHistory | None:
        """The history with this key."""
        row = self._row("SELECT * FROM history_repos WHERE key = %s", (key,))
        return _repo(row) if row else None

    def siblings(self, repo: RepoHistory, most: int) -> list[RepoHistory]:
        """Other repositories of its owner that the App covers and that have a history, the largest first."""
        rows = self._rows(
            "SELECT * FROM history_repos AS r WHERE key <> %(key)s AND repo_id IS NOT NULL"
            " AND lower(split_part(full_name, '/', 1)) = lower(split_part(%(name)s, '/', 1))"
            " AND installation_id = (SELECT installation_id FROM history_repos WHERE key = %(key)s)"
            " AND EXISTS (SELECT 1 FROM history_issues WHERE repo = r.key)"
            " ORDER BY version DESC, key LIMIT %(most)s",
            {"key": repo.key, "name": repo.full_name, "most": most},
        )
        return [_repo(row) for row in rows]

    def save_replay(self, key: int, at: datetime, result: Row) -> None:
        """Keep what a replay came to, in place of an earlier one."""
        self._run(
            "INSERT INTO history_replays (repo, at, result) SELECT key, %s, %s FROM history_repos WHERE key = %s"
            " ON CONFLICT (repo) DO UPDATE SET at = excluded.at, result = excluded.result",
            (at, clean_json(result), key),
        )

    def kept_replay(self, key: int) -> tuple[datetime, Row] | None:
        """The last replay, and when it was computed."""
        row = self._row("SELECT at, result FROM history_replays WHERE repo = %s", (key,))
        return (row["at"], row["result"]) if row else None

    def save_page(self, key: int, page: Sequence[KeptIssue], progress: Progress | None = None) -> None:
        """See the protocol. The repository's row is locked first, so that versions commit in their order."""
        with self._pool.connection() as connection, connection.transaction():
            found = connection.execute(
                "UPDATE history_repos SET version = version + 1, progress = coalesce(%s::jsonb, progress)"
                " WHERE key = %s RETURNING version",
                (clean_json(asdict(progress)) if progress else None, key),
            ).fetchone()
            if found is None:
                raise Forgotten("the history was deleted meanwhile")
            rows = [(issue, _values(key, issue)) for issue in page]
            with connection.cursor() as cursor:
                new = [values | _evidence(issue.record, found[0]) for issue, values in rows if issue.record]
                cursor.executemany(_INSERT.encode(), new)
                cursor.executemany(_UPDATE.encode(), [values for issue, values in rows if not issue.record])
            _save_texts(connection, key, page)
            _save_labels(connection, key, page)

    def hashes(self, key: int, ids: Sequence[str]) -> dict[str, str]:
        """See the protocol."""
        rows = self._rows(
            "SELECT id, content_hash FROM history_issues WHERE repo = %s AND id = ANY(%s)", (key, list(ids))
        )
        return {row["id"]: row["content_hash"] for row in rows}

    def newer(self, key: int, version: int) -> Iterator[tuple[int, Record]]:
        """See the protocol. Many come by a server-side cursor: a large history is never in memory as a whole."""
        few = self._rows(f"{_NEWER} LIMIT %s", (key, version, _FEW + 1))
        if len(few) <= _FEW:
            yield from ((row["version"], _record(row)) for row in few)
            return
        with (
            self._pool.connection() as connection,
            connection.transaction(),
            connection.cursor(name="newer", row_factory=dict_row) as cursor,
        ):
            cursor.itersize = _BATCH
            cursor.execute(_NEWER, (key, version))
            for row in cursor:
                yield row["version"], _record(row)

    def records(self, key: int, ids: Sequence[str]) -> dict[str, Record]:
        """See the protocol."""
        rows = self._rows(
            "SELECT id, record, vectors, small FROM history_issues WHERE repo = %s AND id = ANY(%s)",
            (key, list(ids)),
        )
        return {row["id"]: _record(row) for row in rows}

    def issues(self, key: int, ids: Sequence[str]) -> dict[str, KeptIssue]:
        """See the protocol."""
        rows = self._rows("SELECT * FROM history_issues WHERE repo = %s AND id = ANY(%s)", (key, list(ids)))
        labels: dict[str, list[LabelChange]] = {}
        for row in self._rows(
            "SELECT * FROM history_labels WHERE repo = %s AND id = ANY(%s) ORDER BY at, label",
            (key, list(ids)),
        ):
            change = LabelChange(row["label"], row["added"], row["by_login"], row["by_person"], row["at"])
            labels.setdefault(row["id"], []).append(change)
        return {row["id"]: _issue(row, tuple(labels.get(row["id"], ()))) for row in rows}

    def texts(self, key: int, ids: Sequence[str]) -> dict[str, Report]:
        """See the protocol."""
        rows = self._rows(
            "SELECT id, title, body FROM history_texts JOIN history_issues USING (repo, id)"
            " WHERE repo = %s AND id = ANY(%s)",
            (key, list(ids)),
        )
        return {row["id"]: Report(row["id"], row["title"], row["body"]) for row in rows}

    def forget_texts(self) -> int:
        """See the protocol."""
        self._run("""DELETE FROM history_replays WHERE result @> '{"comments": [{"quoted": true}]}'""", ())
        return self._run("DELETE FROM history_texts", ())

    def marks(self, key: int) -> dict[str, tuple[str, ...]]:
        """See the protocol."""
        rows = self._rows(
            "SELECT id, duplicates FROM history_issues WHERE repo = %s AND duplicates <> '{}'", (key,)
        )
        return {row["id"]: tuple(row["duplicates"]) for row in rows}

    def count(self, key: int) -> int:
        """See the protocol."""
        row = self._row("SELECT count(*) AS n FROM history_issues WHERE repo = %s", (key,))
        return int(row["n"]) if row else 0

    def unreleased(self, key: int) -> list[tuple[str, datetime]]:
        """See the protocol."""
        rows = self._rows(
            "SELECT fix_commit, min(fixed_at) AS at FROM history_issues WHERE repo = %s AND fix_commit <> ''"
            " AND released = '' AND fixed_at IS NOT NULL GROUP BY fix_commit ORDER BY at, fix_commit",
            (key,),
        )
        return [(row["fix_commit"], row["at"]) for row in rows]

    def save_released(self, key: int, tags: Mapping[str, str]) -> None:
        """See the protocol."""
        with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE history_issues SET released = %s WHERE repo = %s AND fix_commit = %s",
                [(clean_text(tag), key, commit) for commit, tag in tags.items()],
            )

    def save_threshold(self, key: int, threshold: float | None) -> None:
        """See the protocol."""
        self._run(
            "UPDATE history_repos SET threshold = %(t)s, by_hand = %(t)s::float8 IS NOT NULL WHERE key = %(key)s",
            {"t": threshold, "key": key},
        )

    def save_fitted(self, key: int, threshold: float | None) -> None:
        """See the protocol."""
        self._run("UPDATE history_repos SET threshold = %s WHERE key = %s AND NOT by_hand", (threshold, key))

    def marked(self) -> list[Marked]:
        """See the protocol."""
        rows = self._rows(
            f"SELECT r.*, {_MARKS} AS marks FROM history_repos AS r"
            " WHERE repo_id IS NOT NULL AND installation_id IS NOT NULL ORDER BY key",
            (),
        )
        return [Marked(_repo(row), row["marks"], row["fitted"]) for row in rows]

    def note_marks(self, key: int) -> None:
        """See the protocol."""
        self._run(f"UPDATE history_repos AS r SET fitted = {_MARKS} WHERE key = %s", (key,))

    def drop(self, key: int, id: str) -> None:
        """See the protocol."""
        self._run("DELETE FROM history_issues WHERE repo = %s AND id = %s", (key, id))
        self._run(_DROP_COMMENT, {"repo": key, "name": f"#{id}" if id.isdecimal() else id})

    def forget(
        self, repo_ids: Iterable[int] = (), names: Iterable[str] = (), installation_id: int | None = None
    ) -> int:
        """See the protocol."""
        return self._run(
            f"DELETE FROM history_repos WHERE {_FORGOTTEN}",
            {
                "ids": list(repo_ids),
                "names": [clean_text(name).lower() for name in names],
                "installation": installation_id,
            },
        )


def _repo(row: Row) -> RepoHistory:
    return RepoHistory(
        row["key"],
        row["full_name"],
        row["repo_id"],
        row["encoder"],
        Progress(**row["progress"]),
        row["threshold"],
        row["heads"],
        row["installation_id"],
    )


def _values(key: int, issue: KeptIssue) -> Row:
    out = issue.outcome
    return {
        "repo": key,
        "id": clean_text(issue.id),
        "title": clean_text(issue.title),
        "url": clean_text(issue.url),
        "content_hash": issue.content_hash,
        "opened": issue.opened,
        **{name: _clean(getattr(out, name)) for name in _OUTCOME},
    }


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    return [clean_text(one) for one in value] if isinstance(value, tuple) else value


def _evidence(record: Record | None, version: object) -> Row:
    assert record is not None
    vectors = np.asarray(record.vectors, "<f2").tobytes()
    return {
        "version": version,
        "record": clean_json(record.to_json()),
        "vectors": vectors,
        "small": record.small,
    }


def _record(row: Row) -> Record:
    return Record.from_json(row["record"], unpacked(row["vectors"]), bytes(row["small"]))


def _save_texts(connection: psycopg.Connection[Any], key: int, page: Sequence[KeptIssue]) -> None:
    """A text goes with the evidence: where that is new and the text is not given, an older one is out of date."""
    new = [issue for issue in page if issue.record]
    connection.execute(
        "DELETE FROM history_texts WHERE repo = %s AND id = ANY(%s)", (key, [clean_text(i.id) for i in new])
    )
    rows = [(key, clean_text(i.id), clean_text(i.text)) for i in new if i.text is not None]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO history_texts (repo, id, body) VALUES (%s, %s, %s)"
            " ON CONFLICT (repo, id) DO UPDATE SET body = excluded.body",
            rows,
        )


def _save_labels(connection: psycopg.Connection[Any], key: int, page: Sequence[KeptIssue]) -> None:
    given = [issue for issue in page if issue.labels is not None]
    if not given:
        return
    connection.execute(
        "DELETE FROM history_labels WHERE repo = %s AND id = ANY(%s)",
        (key, [clean_text(i.id) for i in given]),
    )
    rows = [
        (clean_text(c.label), c.added, clean_text(c.by), c.by_person, c.at, key, clean_text(issue.id))
        for issue in given
        for c in issue.labels or ()
    ]
    with connection.cursor() as cursor:
        # Not of an issue that was dropped meanwhile.
        cursor.executemany(
            "INSERT INTO history_labels (label, added, by_login, by_person, at, repo, id)"
            " SELECT %s, %s, %s, %s, %s, repo, id FROM history_issues WHERE repo = %s AND id = %s",
            rows,
        )


def unpacked(data: bytes) -> Floats:
    """Both vectors of a record, as the column `vectors` has them."""
    return np.frombuffer(data, "<f2").astype(np.float32).reshape(2, -1)


def _issue(row: Row, labels: tuple[LabelChange, ...]) -> KeptIssue:
    values = {name: row[name] for name in _OUTCOME}
    return KeptIssue(
        id=row["id"],
        title=row["title"],
        url=row["url"],
        content_hash=row["content_hash"],
        opened=row["opened"],
        outcome=Outcome(**{**values, "duplicates": tuple(values["duplicates"])}),
        record=_record(row),
        labels=labels,
    )
