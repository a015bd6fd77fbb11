"""The pages that the documentation's site is made of."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from deploy.docs_site import ROOT, failure_page, lay_out, places, relinked

TO = places()


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("[a](docs/github.md#x)", "README.md", "[a](github.md#x)"),
        ("[a](github.md)", "docs/operating.md", "[a](github.md)"),
        ("[a](../README.md)", "docs/operating.md", "[a](index.md)"),
        ("[b [[c]]](../../knowledge/failures/nccl/x.md)", "docs/failures/README.md", None),
        ("[code](../knowledge/frameworks.toml)", "docs/github.md", "code"),
        ("![a](docs/img/page.png)", "README.md", "![a](img/page.png)"),
        ("[web](https://example.org/a.md)", "docs/github.md", None),
        ("[gone](missing.md)", "docs/github.md", None),
    ],
)
def test_links_between_files_become_links_between_pages(text: str, source: str, expected: str | None) -> None:
    assert relinked(text, source, TO) == (expected or text)


def test_a_link_to_an_entry_is_found_whatever_its_words() -> None:
    entry = next(name for name in TO if name.startswith("knowledge/failures/nccl/"))
    text = f"[capabilities: [[gpu]]](../../{entry})"
    assert (
        relinked(text, "docs/failures/README.md", TO) == f"[capabilities: [[gpu]]](nccl/{Path(entry).name})"
    )


def test_an_entry_s_page_has_its_answer_and_sources_and_no_front_matter() -> None:
    page = failure_page(ROOT / "knowledge" / "failures" / "nccl" / "nccl-picks-docker-or-veth-interface.md")
    assert page.startswith("# ")
    assert "+++" not in page
    assert page.index("NCCL picked an interface") < page.index("## Fix") < page.index("## Sources")


def test_every_document_and_every_failure_has_a_page_and_a_place(tmp_path: Path) -> None:
    lay_out(tmp_path / "docs")
    pages = {str(path.relative_to(tmp_path / "docs")) for path in (tmp_path / "docs").rglob("*.md")}
    assert len([page for page in pages if page.count("/") == 2]) == len(
        list((ROOT / "knowledge" / "failures").glob("*/*.md"))
    )
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = set[str]()
    todo = list(config["nav"])
    while todo:
        for value in todo.pop().values():
            todo += value if isinstance(value, list) else []
            listed |= {value} if isinstance(value, str) else set()
    assert listed == {page for page in pages if page.count("/") < 2}
