"""A release goes out only when tag, version and changelog agree."""

from __future__ import annotations

import tomllib

import pytest

from deploy.release_notes import ROOT, notes

CHANGELOG = """# Changelog

## 0.3.0 (unreleased)

- Soon.

## 0.2.0 (2026-11-30)

- You get x.

## 0.1.0 (2026-01-01)

- y
"""


def test_the_notes_are_the_section_of_the_version() -> None:
    assert notes("v0.2.0", "0.2.0", CHANGELOG) == "- You get x.\n"
    assert notes("v0.1.0", "0.1.0", CHANGELOG) == "- y\n"


@pytest.mark.parametrize(
    ("tag", "version", "why"),
    [("v0.2.1", "0.2.0", "pyproject"), ("v0.3.0", "0.3.0", "write the date"), ("v9", "9", "no section")],
)
def test_what_disagrees_stops_it(tag: str, version: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        notes(tag, version, CHANGELOG)


def test_the_shipped_changelog_has_a_section_for_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    text = (ROOT / "CHANGELOG.md").read_text("utf-8").replace("(unreleased)", "(2026-12-31)")
    assert notes(f"v{version}", version, text).startswith("- ")
