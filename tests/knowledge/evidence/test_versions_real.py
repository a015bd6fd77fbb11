"""Versions read out of 300 real reports, against what two readers found there, each on their own.

data/versions.jsonl has ids and versions alone; the texts lie beside the repository. `versions`: both readers name the
component and agree (527 of 537); `open`: one does, which counts neither for nor against.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from knowledge.evidence import read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable

ANNOTATED = Path(__file__).parent / "data" / "versions.jsonl"
# One system has several spellings; what stands between name and number says nothing.
_SYSTEMS = {"mac os x": "macos", "mac os": "macos", "macosx": "macos", "osx": "macos", "red hat": "rhel"}
_FILLING = re.compile(
    r"\b(?:lts|linux|version|release|catalina|mojave|sierra|pro|home|enterprise)\b|[^a-z0-9.]+"
)
_BUILD = re.compile(r"[+-](?:cu|cpu|gpu|git|[0-9a-f]{6,}).*$")


def plain(component: str, version: str) -> str:
    text = version.lower()
    if component != "os":
        return _BUILD.sub("", text.removeprefix("v"))
    for spelling, name in _SYSTEMS.items():
        text = text.replace(spelling, name)
    return " ".join(re.sub(r"(?<=[a-z])(?=\d)", " ", _FILLING.sub(" ", text)).split())


def same(component: str, read: str, annotated: str) -> bool:
    """The same version, or one written more exactly."""
    one, other = plain(component, read), plain(component, annotated)
    return one == other or one.startswith(other + ".") or other.startswith(one + ".")


def test_versions_of_real_reports_are_right_and_found(shared: Path) -> None:
    annotated = {row["id"]: row for row in map(json.loads, ANNOTATED.read_text("utf-8").splitlines())}
    table = SignatureTable()
    right = wrong = found = there = 0
    with gzip.open(shared / "real" / "reports.jsonl.gz", "rt", encoding="utf-8") as file:
        for record in map(json.loads, file):
            row = annotated.get(record["id"])
            if row is None:
                continue
            read = read_report(Report(record["id"], record["title"], record["body"]), table).versions
            stated, open_ = row["versions"], row.get("open", {})
            for component, version in read.items():
                known = [*stated.get(component, ()), *open_.get(component, ())]
                fits = any(same(component, version, one) for one in known)
                right, wrong = right + fits, wrong + (not fits)
            there += len(stated)
            found += sum(component in read for component in stated)
    print(
        f"\nprecision {right / (right + wrong):.3f} of {right + wrong}, recall {found / there:.3f} of {there}"
    )
    assert right / (right + wrong) >= 0.975
    assert found / there >= 0.92
