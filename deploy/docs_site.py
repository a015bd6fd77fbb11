"""The documentation as a site: lay its pages out for mkdocs, the catalogue of failures among them.

python -m deploy.docs_site build/docs      then: mkdocs build --strict
"""

from __future__ import annotations

import os.path
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from knowledge.findings.source import read_entry

ROOT = Path(__file__).parents[1]
_MOVED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docs/failures/README.md": "failures/index.md",
    "knowledge/failures/README.md": "failures/adding.md",
}
# The words of a link hold brackets of their own, two deep at most: [capabilities: [[gpu]]](page.md)
_LINK = re.compile(r"\[((?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*)\]\(([^()\s#:]+)(#[^()\s]*)?\)")


def places() -> dict[str, str]:
    """Where each file of the repository that becomes part of the site goes."""
    found = dict(_MOVED)
    for path in (ROOT / "docs").iterdir():
        if path.is_file():
            found[f"docs/{path.name}"] = path.name
    for path in (ROOT / "docs" / "img").iterdir():
        found[f"docs/img/{path.name}"] = f"img/{path.name}"
    for path in (ROOT / "knowledge" / "failures").glob("*/*.md"):
        found[f"knowledge/failures/{path.parent.name}/{path.name}"] = (
            f"failures/{path.parent.name}/{path.name}"
        )
    return found


def relinked(text: str, source: str, to: Mapping[str, str]) -> str:
    """The text with links between files of the repository as links between pages.

    A link to a file that is no page, such as code, becomes its words; one that leads nowhere stays, for mkdocs to find.
    """

    def link(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        file = os.path.normpath(PurePosixPath(source).parent / target)
        if file in to:
            return f"[{words}]({os.path.relpath(to[file], PurePosixPath(to[source]).parent)}{anchor})"
        return words if (ROOT / file).exists() else match[0]

    return _LINK.sub(link, text)


def failure_page(path: Path) -> str:
    """An entry of the catalogue as a page: its answer first, its sources last."""
    entry = read_entry(path)
    _, _, body = path.read_text("utf-8").split("+++\n", 2)
    title, _, rest = body.strip().partition("\n")
    parts = [title, entry.answer, rest.strip()]
    if entry.confused_with:
        parts.append(
            "## Often confused with\n\n" + "\n".join(f"- `{other}`" for other in entry.confused_with)
        )
    if entry.sources:
        parts.append("## Sources\n\n" + "\n".join(f"- <{source}>" for source in entry.sources))
    parts.append(f"`bot failures show {entry.id}` prints this page.")
    return "\n\n".join(parts) + "\n"


def lay_out(folder: Path) -> int:
    """Write all pages below the folder, which is emptied first; returns how many."""
    shutil.rmtree(folder, ignore_errors=True)
    to = places()
    for source, target in to.items():
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.startswith("knowledge/failures/") and source not in _MOVED:
            place.write_text(relinked(failure_page(ROOT / source), source, to), "utf-8")
        elif source.endswith(".md"):
            place.write_text(relinked((ROOT / source).read_text("utf-8"), source, to), "utf-8")
        else:
            shutil.copyfile(ROOT / source, place)
    return len(to)


if __name__ == "__main__":
    print(f"{lay_out(Path(sys.argv[1]))} files")
