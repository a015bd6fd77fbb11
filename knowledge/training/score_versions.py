"""How exactly versions are read: annotated real reports against the reader.

    python -m knowledge.training.score_versions --shared DIR tests/knowledge/evidence/data/versions_heldout.jsonl

The annotations hold ids and versions; the reports' texts are not shipped and are read from DIR/real/reports.jsonl.gz.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from knowledge.evidence import read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.training.records import read_jsonl


@dataclass(slots=True)
class Score:
    """Counts over all reports; `wrong` and `missed` name what they are."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        """Share of the versions read that are right; 1 where none was read."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Share of the annotated versions that are read right; 1 where there are none."""
        return self.right / max(1, self.right + self.missed)


def compare(
    found: Mapping[str, str],
    versions: Mapping[str, list[str]],
    optional: Mapping[str, list[str]],
    score: Score,
) -> Iterator[str]:
    """Count one report and yield each difference; what is optional is neither asked for nor wrong."""
    for component, version in found.items():
        allowed = [text.lower() for text in versions.get(component, optional.get(component, []))]
        if component in versions and version.lower() in allowed:
            score.right += 1
        elif version.lower() not in allowed:
            score.wrong += 1
            yield f"wrong {component} {version}, not {versions.get(component)}"
    for component, allowed in versions.items():
        if found.get(component, "").lower() not in [text.lower() for text in allowed]:
            score.missed += 1
            yield f"missed {component} {allowed}"


def main() -> None:
    """Score the annotated files that are named on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder that holds real/")
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    reports = {row["id"]: row for row in read_jsonl(arguments.shared / "real" / "reports.jsonl.gz")}
    table = SignatureTable()
    for file in arguments.files:
        score = Score()
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            report = reports[row["id"]]
            found = read_report(Report(row["id"], report["title"], report["body"]), table).versions
            for difference in compare(found, row["versions"], row.get("optional", {}), score):
                print(f"{row['id']}: {difference}")
        print(
            f"{file.name}: {score.right} right, {score.wrong} wrong, {score.missed} missed; "
            f"precision {score.precision:.3f}, recall {score.recall:.3f}"
        )


if __name__ == "__main__":
    main()
