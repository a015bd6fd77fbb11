"""The notes of a release out of CHANGELOG.md, once tag, version and changelog agree.

python -m deploy.release_notes v0.2.0      prints the section of 0.2.0, or says what disagrees and exits with 1
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_HEADING = re.compile(r"(?m)^## (\S+) \(([^)\n]+)\)$")


def notes(tag: str, version: str, changelog: str) -> str:
    """The section's text. Raises ValueError when tag and version differ, or it has no dated section."""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, pyproject.toml says {version}")
    headings = list(_HEADING.finditer(changelog))
    for heading, after in zip(headings, [*headings[1:], None], strict=True):
        if heading[1] == version:
            if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[2]):
                raise ValueError(f"CHANGELOG.md calls {version} {heading[2]!r}: write the date there")
            return changelog[heading.end() : after.start() if after else None].strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no section {version}")


def main() -> int:
    """Print the notes of the tag that is the first argument."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    try:
        print(notes(sys.argv[1], version, (ROOT / "CHANGELOG.md").read_text("utf-8")), end="")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
