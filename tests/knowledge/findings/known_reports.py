"""Reports of well-known failures, written by people who hadn't seen the catalogue, and whether the answer is right.

    python -m tests.knowledge.findings.known_reports [FILE]

Each record holds a report, what failed, what resolves it, and what a right answer has to say: for each group of `must`
at least one expression, of `must_not` none. An answer is what `bot triage --format markdown` shows before the folds.
The sets were scored once before the catalogue was changed because of them (docs/evaluation.md).
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bot.render.findings import finding_parts
from bot.render.markdown import markdown_of
from eval.metrics import wilson
from knowledge.engine import load_knowledge, triage
from knowledge.report import Report
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage

SHIPPED = Path(__file__).parent / "data" / "known_reports.jsonl"
_LINK = re.compile(r"\[([^\]]*)\]\(https?://[^)]*\)")


@dataclass(frozen=True, slots=True)
class Known:
    """A report and what a right answer to it says."""

    id: str
    set: str
    report: Report
    must: tuple[tuple[str, ...], ...]
    must_not: tuple[str, ...]

    def answered_by(self, answer: str) -> bool:
        """Whether the answer names cause or remedy, with its Markdown or without."""
        plain = " ".join(answer.split())
        texts = (plain, _LINK.sub(r"\1", plain).replace("`", "").replace("**", ""))

        def said(patterns: Iterable[str]) -> bool:
            return any(re.search(p, text, re.IGNORECASE | re.DOTALL) for p in patterns for text in texts)

        return all(map(said, self.must)) and not said(self.must_not)


def read_known(file: Path = SHIPPED) -> list[Known]:
    """The records of a file."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [
        Known(
            row["id"],
            row.get("set", ""),
            Report(row["id"], row["title"], row["body"]),
            tuple(map(tuple, row["must"])),
            tuple(row["must_not"]),
        )
        for row in rows
    ]


def answer_of(triage: Triage, taxonomy: Taxonomy) -> str:
    """What is shown to whoever asks, before the folds."""
    return markdown_of(triage, taxonomy).partition("<details>")[0]


def unasked(triage: Triage) -> str:
    """What a comment that nobody asked for says of known failures; empty = none."""
    return "\n".join(finding_parts([f for f in triage.findings if f.sure]))


def main() -> None:
    """Score a file, by set."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    knowledge = load_knowledge(None, Path("build/data/cache"))
    count: Counter[str] = Counter()
    right: Counter[str] = Counter()
    said: Counter[str] = Counter()
    apt: Counter[str] = Counter()
    lengths = []
    for known in read_known(file):
        found = triage(known.report, knowledge)
        answer, comment = answer_of(found, knowledge.taxonomy), unasked(found)
        lengths.append(len(answer))
        for name in (known.set, "all"):
            count[name] += 1
            right[name] += known.answered_by(answer)
            said[name] += bool(comment)
            apt[name] += bool(comment) and known.answered_by(comment)
        if not known.answered_by(answer):
            print("not answered:", known.id, known.report.title)
        elif comment and not known.answered_by(comment):
            print("said unasked, and wrong:", known.id, known.report.title)
    for name, n in count.items():
        print(
            f"{name}: {right[name]} of {n}, {wilson(right[name], n)}; "
            f"unasked {apt[name]} of {said[name]}, {wilson(apt[name], said[name])}"
        )
    print("median characters:", sorted(lengths)[len(lengths) // 2])


if __name__ == "__main__":
    main()
