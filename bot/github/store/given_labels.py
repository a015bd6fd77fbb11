"""What people corrected, on GitHub, on the maintainers' page and in Slack, as labelled cases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.db.connect import SyncPool
from bot.db.table import Row, Table
from knowledge.triage import CaseLabels

_SLACK = """
SELECT triage_id, array_agg(by_user ORDER BY at) AS by, max(at) AS at,
  array_agg(labels ORDER BY at) AS labels, '' AS title, (array_agg(body ORDER BY at DESC))[1] AS body
FROM slack_corrections GROUP BY triage_id
"""
_GITHUB = """
SELECT repo_id, number, (array_agg(repo_name ORDER BY at DESC))[1] AS repo_name,
  array_agg(by_login ORDER BY at) AS by, max(at) AS at, array_agg(labels ORDER BY at) AS labels,
  (array_agg(title ORDER BY at DESC))[1] AS title, (array_agg(body ORDER BY comment_id > 0 DESC, at DESC))[1] AS body,
  (SELECT concat_ws(' ', nullif(said, ''), nullif(pull_request, ''), nullif(commit, '')) FROM resolutions AS r
    WHERE r.repo_id = corrections.repo_id AND r.number = corrections.number) AS resolution
FROM corrections GROUP BY repo_id, number
"""


@dataclass(frozen=True, slots=True)
class GivenLabels:
    """A report with the labels that people gave it, the last word on each axis counting; texts are redacted."""

    name: str
    """ "owner/name#12", or "slack:" and the triage's id."""
    url: str
    """"" for Slack."""
    by: tuple[str, ...]
    at: datetime
    """When the last of them was given."""
    labels: dict[str, list[str]]
    title: str
    body: str
    resolution: str = ""
    """What resolved the issue, as its closing said."""

    def as_record(self) -> dict[str, Any]:
        """The record of a case, as files of the corpus have it (knowledge/cases/case.py).

        Who names a symptom, stage, cause or fix says that it is a fault. A symptom lies in its stage.
        """
        stages = [symptom.partition(".")[0] for symptom in self.labels.get("symptom", [])]
        labels = CaseLabels(
            type=(self.labels.get("type") or ["fault"])[0],
            stage=self.labels.get("stage") or list(dict.fromkeys(stages)),
            symptom=self.labels.get("symptom", []),
            cause=self.labels.get("cause", []),
            fix=self.labels.get("fix", []),
        )
        return {
            "id": self.name,
            "url": self.url,
            "title": self.title,
            "body": self.body,
            "labels": labels.model_dump(exclude_defaults=True) | {"type": labels.type},
            **({"resolution": self.resolution} if self.resolution else {}),
            "label_source": f"corrected by {', '.join(self.by)} ({self.at:%Y-%m-%d})",
        }


class GivenTables(Table):
    """Reads all corrections; `github` is where people read issues."""

    def __init__(self, pool: SyncPool, github: str = "https://github.com") -> None:
        super().__init__(pool)
        self._github = github

    def slack(self, limit: int | None = None) -> list[GivenLabels]:
        """Those given in Slack, newest first."""
        return [_of_slack(row) for row in self._rows(f"{_SLACK} ORDER BY at DESC LIMIT %s", (limit,))]

    def every(self) -> list[GivenLabels]:
        """All of them, oldest first."""
        github = [_of_github(row, self._github) for row in self._rows(_GITHUB, ())]
        return sorted([*github, *self.slack()], key=lambda given: (given.at, given.name))


def _of_slack(row: Row) -> GivenLabels:
    return _given(row, f"slack:{row['triage_id']}", "")


def _of_github(row: Row, github: str) -> GivenLabels:
    name = f"{row['repo_name']}#{row['number']}"
    return _given(row, name, f"{github}/{row['repo_name']}/issues/{row['number']}")


def _given(row: Row, name: str, url: str) -> GivenLabels:
    labels: dict[str, list[str]] = {}
    for given in row["labels"]:
        labels |= given
    return GivenLabels(
        name,
        url,
        tuple(dict.fromkeys(row["by"])),
        row["at"],
        labels,
        row["title"],
        row["body"],
        row.get("resolution") or "",
    )
