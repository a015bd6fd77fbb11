"""Promises about the house itself: which room may see which, and that the documents are true."""

from __future__ import annotations

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
MAY_SEE = {
    "embeddings": {"embeddings"},
    "knowledge": {"knowledge", "embeddings"},
    "llm": {"llm", "knowledge", "embeddings"},
    "eval": {"eval", "llm", "knowledge", "embeddings"},
    "bot": {"bot", "eval", "llm", "knowledge", "embeddings"},
}
EDGE_ONLY = {
    "fastapi",
    "starlette",
    "github",
    "slack_sdk",
    "psycopg",
    "procrastinate",
    "openai",
    "uvicorn",
    "typer",
}


def imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("room", MAY_SEE)
def test_arrows_between_rooms_go_one_way(room: str) -> None:
    for file in (ROOT / room).rglob("*.py"):
        wrong = (imported(file) & set(MAY_SEE)) - MAY_SEE[room]
        assert not wrong, f"{file.relative_to(ROOT)} imports {wrong}"


@pytest.mark.parametrize("room", ["embeddings", "knowledge", "eval"])
def test_no_room_but_bot_knows_the_edges(room: str) -> None:
    for file in (ROOT / room).rglob("*.py"):
        wrong = imported(file) & EDGE_ONLY
        assert not wrong, f"{file.relative_to(ROOT)} imports {wrong}"


def test_no_module_imports_itself_by_a_detour() -> None:
    """Imports inside functions count; those for type checkers alone do not."""
    arrows = grimp.build_graph(*MAY_SEE, exclude_type_checking_imports=True)
    before = {
        module: arrows.find_modules_directly_imported_by(module)
        for module in arrows.modules
        if ".diagnostics.runtime" not in module
    }
    TopologicalSorter(before).prepare()


def test_broad_excepts_stand_only_at_the_edges_and_say_so() -> None:
    marked = [
        f"{file.relative_to(ROOT)}:{number}"
        for room in MAY_SEE
        for file in (ROOT / room).rglob("*.py")
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if re.search(r"except (?:Base)?Exception\b|except:\s*$", line)
        # tokenizers raises bare Exception; there is nothing narrower to catch.
        and "raises nothing narrower" not in line
    ]
    inside = [
        place for place in marked if not place.startswith("bot/") and "diagnostics/runtime" not in place
    ]
    assert not inside, inside


def test_links_between_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_figures_in_the_readme_are_those_of_the_data() -> None:
    from knowledge.cases import load_cases
    from knowledge.findings.failure import load_catalogue
    from knowledge.signatures import load_signatures
    from knowledge.versions import load_facts

    text = (ROOT / "README.md").read_text("utf-8")
    human = sum(case.label_source.startswith("human") for case in load_cases())
    for figure in (
        f"catalog of {len(load_catalogue())} failures",
        f"{len(load_signatures())} error signatures",
        f"{len(load_facts())} version facts",
        f"{human} cases",
    ):
        assert figure in text


def test_the_counts_of_endings_in_the_docs_are_those_of_the_data() -> None:
    from knowledge.cases import load_cases, stats

    text = " ".join((ROOT / "docs" / "evaluation.md").read_text("utf-8").split())
    endings = stats(load_cases()).endings
    assert (
        f"is known for {endings['known']} of the {len(load_cases())} and was looked up in vain for "
        f"{endings['not known']}"
    ) in text
    assert endings["known"] + endings["not known"] == len(load_cases())


LOADS_MODELS = {"knowledge/engine.py"}
"""Pure once everything is loaded; what it rests on is tested with the models."""


def test_a_module_that_calls_itself_pure_has_every_branch_tested() -> None:
    """In its docstring or above a part of it; see `make coverage`."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]["run"]["include"]
    measured = {file.relative_to(ROOT).as_posix() for pattern in listed for file in ROOT.glob(pattern)}
    assert not [pattern for pattern in listed if not [*ROOT.glob(pattern)]], "a module that is not there"
    pure = set()
    for room in MAY_SEE:
        for file in (ROOT / room).rglob("*.py"):
            text = file.read_text("utf-8")
            said = [ast.get_docstring(ast.parse(text)) or "", *re.findall(r"(?m)^# .*", text)]
            if any(re.search(r"\bPure\b|\bpure functions?\b", words) for words in said):
                pure.add(file.relative_to(ROOT).as_posix())
    assert len(pure) > 5
    assert pure - measured == LOADS_MODELS
