"""Plain English in what users read: words to avoid and American spelling (words_to_avoid.toml), short sentences."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = tomllib.loads((ROOT / "tests" / "words_to_avoid.toml").read_text("utf-8"))
MOST_WORDS = 30

DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(
        f"docs/{name}.md"
        for name in (
            "github",
            "slack",
            "operating",
            "diagnostics",
            "architecture",
            "extending",
            "cli",
            "api",
            "scale",
        )
    ),
]
SHORT_SENTENCES = [name for name in DOCUMENTS if name not in ("docs/diagnostics.md", "docs/architecture.md")]
# docs/taxonomy.md quotes definitions that models have seen.
SPELLED = [
    "CHANGELOG.md",
    *(f"docs/{file.name}" for file in sorted(ROOT.glob("docs/*.md")) if file.stem != "taxonomy"),
]
CODE = sorted(
    file
    for pattern in (
        "bot/cli/*.py",
        "bot/api/*.py",
        "bot/settings.py",
        "bot/serve/*.py",
        *(
            f"bot/slack/{name}.py"
            for name in ("words", "answer", "asking", "doctor", "install", "interactions")
        ),
        "bot/render/*.py",
        "bot/page/*.py",
        "bot/reports/*.py",
    )
    for file in ROOT.glob(pattern)
)
TEMPLATES = sorted((ROOT / "bot" / "page" / "templates").rglob("*.j2"))


def faults(text: str, *lists: str) -> list[str]:
    """The words to avoid in a text, each with its replacement; `lists` of the word list, all by default."""
    plain = re.sub(r"`[^`]*`", "_", " ".join(text.split()))
    for phrase in LIST["allowed"]["phrases"]:
        plain = re.sub(rf"\b{re.escape(phrase)}\b", "_", plain, flags=re.IGNORECASE)
    return [
        f"{found[0]!r} (say: {instead})"
        for name in lists or ("words", "spelling")
        for word, instead in LIST[name].items()
        for found in re.finditer(rf"\b(?:{word})\b", plain, re.IGNORECASE)
    ]


def prose(markdown: str) -> Iterator[str]:
    """Paragraphs and list items, without code, tables and headings."""
    markdown = re.sub(r"^( *)```.*?^\1```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n", markdown):
        if block.startswith("    "):
            continue
        kept = [line for line in block.splitlines() if not re.match(r"\s*(\||#|<!--)", line)]
        for item in re.split(r"(?m)^\s*(?:-|\d+\.)\s+", "\n".join(kept)):
            if item.strip():
                yield " ".join(item.split())


def long_sentences(markdown: str) -> list[str]:
    """Sentences over the limit; a list's lead-in ends at its colon."""
    sentences = (
        one
        for text in prose(markdown)
        for one in re.split(r"(?<=[.!?:])[\"*)]*\s+(?=[\"*(`]*[A-Z0-9`/])", text)
    )
    return [one for one in sentences if len(one.split()) > MOST_WORDS]


def shown(file: Path) -> Iterator[tuple[int, str]]:
    """String literals of a module with their lines: help texts and messages, not docstrings of its insides."""
    tree = ast.parse(file.read_text("utf-8"))
    commands = set(re.findall(r"command\([^)]*\)\((\w+)\)", file.read_text("utf-8")))
    helps = {
        id(node.body[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and (node.name in commands or node.decorator_list)
    }
    hidden = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and id(node) not in helps
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.lineno, node.value


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_use_plain_words(name: str) -> None:
    markdown = (ROOT / name).read_text("utf-8")
    found = [f"{word}: {text[:100]}" for text in prose(markdown) for word in faults(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", SPELLED)
def test_every_document_is_spelled_the_american_way(name: str) -> None:
    markdown = (ROOT / name).read_text("utf-8")
    found = [f"{word}: {text[:100]}" for text in prose(markdown) for word in faults(text, "spelling")]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", SHORT_SENTENCES)
def test_documents_have_short_sentences(name: str) -> None:
    found = long_sentences((ROOT / name).read_text("utf-8"))
    assert not found, "\n".join(found)


def test_messages_use_plain_words() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {word}"
        for file in CODE
        for line, text in shown(file)
        for word in faults(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_the_page_uses_plain_words(file: Path) -> None:
    assert not faults(file.read_text("utf-8"))


def test_the_checks_notice_a_bad_text() -> None:
    assert faults("Mend it anew.") == ["'anew' (say: again, new, re-)", "'Mend' (say: fix)"]
    assert faults("a labelled case") == ["'labelled' (say: labeled, labeling)"]
    assert not faults("There is no such delivery.")
    assert long_sentences("- " + "word " * 31 + "end.\n")
    assert not long_sentences("```\n" + "word " * 40 + "\n```\n")
