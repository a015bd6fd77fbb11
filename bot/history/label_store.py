"""What a repository's own labels are learned from, and the heads of them, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, groupby
from typing import Any, Literal

import numpy as np
import psycopg

from bot.db.connect import Row, Table, clean_text
from bot.history.records import LabelChange
from bot.history.store import unpacked
from knowledge.history.head_learner import MOST_EXAMPLES
from knowledge.history.heads import Family, Head, Line, Vocabulary
from knowledge.history.words import BLOCKS, Traits, traits_of
from knowledge.triage import AxisName

Role = Literal["maintainer", "author", "other"]
Kind = Literal["label", "same"]

_HEAD = ("bias", "threshold", "examples", "tested", "right")


@dataclass(frozen=True, slots=True)
class Vote:
    """What somebody said of a label of an issue, or of an earlier issue that was shown below it."""

    id: str
    """Of the issue."""
    kind: Kind
    subject: str
    """The label, or the id of the earlier issue."""
    by: str
    role: Role
    agrees: bool
    at: datetime
    corrected: bool = False
    """A correction of axes cast it: it goes when that is undone."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """An issue that people labelled or voted on."""

    id: str
    opened: datetime | None
    traits: Traits
    changes: tuple[LabelChange, ...]
    """Oldest first."""
    votes: tuple[Vote, ...]


_LABELLED = """
SELECT id, opened, record -> 'title' AS title, record -> 'body' AS body, small, vectors FROM history_issues AS i
WHERE repo = %(repo)s AND small <> '' AND (
  EXISTS (SELECT FROM history_labels AS l WHERE l.repo = i.repo AND l.id = i.id AND l.by_person)
  OR EXISTS (SELECT FROM history_votes AS v WHERE v.repo = i.repo AND v.id = i.id AND v.kind = 'label'))
ORDER BY opened DESC NULLS LAST, id DESC LIMIT %(most)s
"""
_FACTS = """
SELECT (SELECT count(*) FROM history_labels WHERE repo = %(repo)s AND by_person)
     + (SELECT count(*) FROM history_votes WHERE repo = %(repo)s AND kind = 'label') AS facts
"""


# The first issue of each repository that the text links to.
_SLACK = """
SELECT DISTINCT ON (c.at, c.delivery_id, r.key) r.key AS repo, r.repo_id, r.full_name, found.parts[2] AS id,
  c.labels, c.same, c.by_user, c.at
FROM slack_corrections AS c, regexp_matches(c.body, %s, 'g') WITH ORDINALITY AS found (parts, place)
JOIN history_repos AS r ON lower(r.full_name) = lower(found.parts[1])
WHERE r.repo_id IS NOT NULL
ORDER BY c.at, c.delivery_id, r.key, found.place
"""
ISSUE_LINK = r"([\w.-]+/[\w.-]+)(?:/issues/|#)(\d{1,9})"
"""What names an issue in a text, and its repository; PostgreSQL and Python read it alike."""
_VOTE = """
INSERT INTO history_votes (repo, id, kind, subject, by_login, role, agrees, at, corrected)
SELECT key, %(id)s, %(kind)s, %(subject)s, %(by)s, %(role)s, %(agrees)s, %(at)s, %(corrected)s FROM history_repos
WHERE key = %(repo)s ON CONFLICT (repo, id, kind, subject, by_login) DO UPDATE
SET role = excluded.role, agrees = excluded.agrees, at = excluded.at, corrected = excluded.corrected
WHERE history_votes.at <= excluded.at
"""


@dataclass(frozen=True, slots=True)
class SlackCorrection:
    """What somebody corrected in Slack under a text that links to an issue."""

    repo: int
    """The history's key."""
    repo_id: int
    full_name: str
    id: str
    by: str
    given: dict[AxisName, list[str]]
    same: str
    """The issue that shows the same failure: "12" or "owner/name#12"; "" = none was named."""
    at: datetime


class LabelTables(Table):
    """Labels, votes and heads of repositories' histories; every call is its own transaction."""

    def labelled(self, repo: int) -> list[Labelled]:
        """The newest issues with labels or votes of people, oldest first."""
        rows = self._rows(_LABELLED, {"repo": repo, "most": MOST_EXAMPLES})[::-1]
        ids = [row["id"] for row in rows]
        changes: dict[str, list[LabelChange]] = {}
        for row in self._rows(
            "SELECT * FROM history_labels WHERE repo = %s AND id = ANY(%s) ORDER BY at, label", (repo, ids)
        ):
            change = LabelChange(row["label"], row["added"], row["by_login"], row["by_person"], row["at"])
            changes.setdefault(row["id"], []).append(change)
        votes: dict[str, list[Vote]] = {}
        for vote in self.votes(repo, "label", ids):
            votes.setdefault(vote.id, []).append(vote)
        return [
            Labelled(
                row["id"],
                row["opened"],
                traits_of(row["title"], row["body"], bytes(row["small"]), unpacked(row["vectors"])),
                tuple(changes.get(row["id"], ())),
                tuple(votes.get(row["id"], ())),
            )
            for row in rows
        ]

    def facts(self, repo: int) -> int:
        """How many labels and votes of people there are to learn from."""
        row = self._row(_FACTS, {"repo": repo})
        return int(row["facts"]) if row else 0

    def taught(self) -> list[tuple[int, int]]:
        """Each history's key, and from how many facts its heads were learned."""
        return [
            (row["key"], row["taught"])
            for row in self._rows("SELECT key, taught FROM history_repos ORDER BY key", ())
        ]

    def save_label(self, repo: int, id: str, change: LabelChange) -> None:
        """Keep that a label was set or removed, once; of an issue that is not kept, nothing."""
        values = {
            "label": clean_text(change.label),
            "added": change.added,
            "by": clean_text(change.by),
            "by_person": change.by_person,
            "at": change.at,
            "repo": repo,
            "id": id,
        }
        self._run(
            "INSERT INTO history_labels (label, added, by_login, by_person, at, repo, id)"
            " SELECT %(label)s, %(added)s, %(by)s, %(by_person)s, %(at)s, repo, id FROM history_issues"
            " WHERE repo = %(repo)s AND id = %(id)s AND NOT EXISTS (SELECT FROM history_labels AS l"
            " WHERE l.repo = %(repo)s AND l.id = %(id)s AND l.label = %(label)s AND l.at = %(at)s"
            " AND l.added = %(added)s)",
            values,
        )

    def save_vote(self, repo: int, vote: Vote) -> None:
        """Keep a vote; a later one of the same person replaces it. Of a history that is gone, nothing."""
        self._run(_VOTE, _voted(repo, vote))

    def forget_vote(self, repo: int, id: str, kind: Kind, subject: str, by: str) -> None:
        """Delete what somebody said of this label or earlier issue."""
        self._run(
            "DELETE FROM history_votes WHERE repo = %s AND id = %s AND kind = %s AND subject = %s AND by_login = %s",
            (repo, id, kind, clean_text(subject), clean_text(by)),
        )

    def recast(self, repo: int, id: str, votes: Sequence[Vote]) -> None:
        """Put these, oldest first, in the place of all that corrections said of an issue's labels."""
        with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM history_votes WHERE repo = %s AND id = %s AND kind = 'label' AND corrected",
                (repo, id),
            )
            cursor.executemany(_VOTE.encode(), [_voted(repo, vote) for vote in votes])

    def votes(self, repo: int, kind: Kind, ids: Sequence[str] | None = None) -> list[Vote]:
        """Votes on these issues (None: on all), oldest first."""
        rows = self._rows(
            "SELECT * FROM history_votes WHERE repo = %(repo)s AND kind = %(kind)s"
            " AND (%(ids)s::text[] IS NULL OR id = ANY(%(ids)s)) ORDER BY at, by_login",
            {"repo": repo, "kind": kind, "ids": list(ids) if ids is not None else None},
        )
        return [_vote(row) for row in rows]

    def votes_by(self, by: str, repo_id: int, number: int) -> dict[tuple[Kind, str], Vote]:
        """What one voter said of an issue, by what it is about."""
        rows = self._rows(
            "SELECT v.* FROM history_votes AS v JOIN history_repos AS r ON r.key = v.repo"
            " WHERE v.by_login = %s AND r.repo_id = %s AND v.id = %s",
            (by, repo_id, str(number)),
        )
        return {(row["kind"], row["subject"]): _vote(row) for row in rows}

    def slack_corrections(self) -> list[SlackCorrection]:
        """Corrections in Slack of texts that link to an issue of a repository with a history, oldest first."""
        return [
            SlackCorrection(
                row["repo"],
                row["repo_id"],
                row["full_name"],
                row["id"],
                row["by_user"],
                row["labels"],
                row["same"],
                row["at"],
            )
            for row in self._rows(_SLACK, (ISSUE_LINK,))
        ]

    def families(self, repo: int) -> list[Family]:
        """The heads in use."""
        known = {
            row["key"]: _vocabulary(row)
            for row in self._rows("SELECT * FROM label_vocabularies WHERE repo = %s", (repo,))
        }
        rows = self._rows("SELECT * FROM label_heads WHERE repo = %s ORDER BY family, place", (repo,))
        return [_family(list(group), known) for _, group in groupby(rows, key=lambda row: int(row["family"]))]

    def save_heads(self, repo: int, families: Sequence[Family], facts: int) -> bool:
        """Put these in the place of those in use, with what they were learned from; False where nothing is kept now."""
        with self._pool.connection() as connection, connection.transaction():
            found = connection.execute(
                "UPDATE history_repos SET heads = heads + 1, taught = %s WHERE key = %s", (facts, repo)
            )
            if not found.rowcount:
                return False
            connection.execute("DELETE FROM label_heads WHERE repo = %s", (repo,))
            connection.execute("DELETE FROM label_vocabularies WHERE repo = %s", (repo,))
            keys: dict[int, int] = {}
            for number, family in enumerate(families):
                known = id(family.vocabulary)
                if known not in keys:
                    keys[known] = _save_vocabulary(connection, repo, family.vocabulary)
                of: Row = {
                    "repo": repo,
                    "family": number,
                    "vocabulary": keys[known],
                    "through": family.through,
                }
                of |= {"rest_slope": family.rest.slope, "rest_offset": family.rest.offset}
                for place, head in enumerate(family.heads):
                    _save_head(connection, {**of, "place": place}, head)
            return True


def _voted(repo: int, vote: Vote) -> Row:
    return {
        "repo": repo,
        "id": vote.id,
        "kind": vote.kind,
        "subject": clean_text(vote.subject),
        "by": clean_text(vote.by),
        "role": vote.role,
        "agrees": vote.agrees,
        "at": vote.at,
        "corrected": vote.corrected,
    }


def _vote(row: Row) -> Vote:
    return Vote(
        row["id"],
        row["kind"],
        row["subject"],
        row["by_login"],
        row["role"],
        row["agrees"],
        row["at"],
        row["corrected"],
    )


def _save_vocabulary(connection: psycopg.Connection[Any], repo: int, vocabulary: Vocabulary) -> int:
    parts = [vocabulary.buckets[name] for name in BLOCKS]
    row = connection.execute(
        "INSERT INTO label_vocabularies (repo, sizes, buckets, idf) VALUES (%s, %s, %s, %s) RETURNING key",
        (
            repo,
            [len(part) for part in parts],
            np.concatenate(parts).tolist(),
            np.concatenate([vocabulary.idf[name] for name in BLOCKS]).tolist(),
        ),
    ).fetchone()
    assert row is not None
    return int(row[0])


def _vocabulary(row: Row) -> Vocabulary:
    ends = list(accumulate(row["sizes"], initial=0))
    parts = {name: slice(ends[n], ends[n + 1]) for n, name in enumerate(BLOCKS)}
    buckets, idf = np.array(row["buckets"], np.int32), np.array(row["idf"], np.float32)
    return Vocabulary({n: buckets[part] for n, part in parts.items()}, {n: idf[p] for n, p in parts.items()})


def _save_head(connection: psycopg.Connection[Any], of: Row, head: Head) -> None:
    values: Row = {
        **of,
        "label": clean_text(head.label),
        "at": head.at.tolist(),
        "weights": head.weights.tolist(),
        "dense": head.dense.tolist(),
        "slope": head.line.slope,
        "offset": head.line.offset,
        **{name: getattr(head, name) for name in _HEAD},
    }
    names = ", ".join(f'"{name}"' for name in values)
    places = ", ".join(f"%({name})s" for name in values)
    connection.execute(f"INSERT INTO label_heads ({names}) VALUES ({places})".encode(), values)


def _family(rows: Sequence[Row], known: Mapping[int, Vocabulary]) -> Family:
    first = rows[0]
    rest = Line(first["rest_slope"], first["rest_offset"])
    return Family(known[first["vocabulary"]], tuple(map(_head, rows)), rest, first["through"])


def _head(row: Row) -> Head:
    return Head(
        label=row["label"],
        at=np.array(row["at"], np.int32),
        weights=np.array(row["weights"], np.float32),
        dense=np.array(row["dense"], np.float32),
        line=Line(row["slope"], row["offset"]),
        **{name: row[name] for name in _HEAD},
    )
