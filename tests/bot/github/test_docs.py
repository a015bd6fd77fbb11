"""The walk-through says what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

from bot.github.repo_config import RepoConfig
from bot.github.thread import Word

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "github.md").read_text("utf-8")


def test_the_manifest_asks_for_no_more_than_needed() -> None:
    manifest = json.loads((DOCS / "github-app-manifest.json").read_text("utf-8"))
    assert manifest["default_permissions"] == {"issues": "write", "metadata": "read", "contents": "read"}
    assert sorted(manifest["default_events"]) == ["issue_comment", "issues"]
    assert manifest["public"] is False


def test_every_key_of_the_file_is_explained() -> None:
    example = TEXT.split("```yaml\n")[2].split("```")[0]
    assert set(RepoConfig.model_fields) <= set(re.findall(r"(?m)^(\w+):", example))


def test_every_command_is_explained() -> None:
    for word in set(get_args(Word)) - {"again", "correct"}:
        assert f"/triage {word}" in TEXT


def test_every_link_leads_somewhere_beside() -> None:
    names = set(re.findall(r"\]\(([\w.-]+)\)", TEXT))
    assert names <= {p.name for p in DOCS.iterdir()} | {"operating.md", "taxonomy.md"}
