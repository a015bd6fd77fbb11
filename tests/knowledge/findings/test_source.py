"""Entries as people write them: read, refused with a reason, compiled."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import re2

from knowledge.diagnostics.compose import read_source, source
from knowledge.errors import DataError
from knowledge.findings.compile import DOCS, compiled, index_page, other_files, problems, read_catalogue
from knowledge.findings.failure import COMPILED, load_catalogue
from knowledge.findings.source import read_entry, read_examples
from knowledge.signatures import load_signatures
from knowledge.signatures.signature import DATA, read_signatures

HEAD = """+++
id = "port-taken"
title = "The master port is taken"
answer = "Another process listens on the port of the rendezvous. Choose a free one with `--master-port`."
frameworks = ["pytorch"]
patterns = ['Address already in use']
symptom = ["B.1"]
cause = ["communication_configuration"]
fix = ["comm_config"]
sources = ["https://example.org/a"]
+++
"""
BODY = """
# The master port is taken

## What happens

The job stops at once.

## Why

1. **Another job runs.** `ss -ltnp` shows it.
2. **The last job left a process.** Its user is you.

## Check

- `ss -ltnp`: who listens.

## Fix

- Use another port.

## Not this when

The port is free.
"""
EXAMPLES = """
[[example]]
kind = "telltale"
title = "a"
body = "RuntimeError: Address already in use"
[[example]]
kind = "plain"
title = "b"
body = "second job on the same box dies"
[[example]]
kind = "noisy"
title = "c"
body = "much noise"
[[near_miss]]
title = "d"
body = "x"
[[near_miss]]
title = "e"
body = "y"
"""


def write(folder: Path, head: str = HEAD, body: str = BODY, examples: str = EXAMPLES) -> Path:
    area = folder / "torchrun-elastic"
    area.mkdir(exist_ok=True)
    (area / "port-taken.md").write_text(head + body, "utf-8")
    (area / "port-taken.examples.toml").write_text(examples, "utf-8")
    return area / "port-taken.md"


def test_an_entry_is_read_with_its_sections(tmp_path: Path) -> None:
    entry = read_entry(write(tmp_path))
    assert entry.area == "torchrun-elastic"
    assert entry.why == (
        "**Another job runs.** `ss -ltnp` shows it.",
        "**The last job left a process.** Its user is you.",
    )
    assert entry.check == ("`ss -ltnp`: who listens.",)
    assert entry.not_this_when == "The port is free."


def test_a_sound_entry_has_no_problems(tmp_path: Path) -> None:
    write(tmp_path)
    assert problems(*read_catalogue(tmp_path)) == []


@pytest.mark.parametrize(
    ("head", "body", "said"),
    [
        (HEAD.replace("+++", "---"), BODY, "no front matter"),
        (HEAD.replace('id = "port-taken"', 'id = "other"'), BODY, "the id must be 'port-taken'"),
        (HEAD.replace("title =", "tittle ="), BODY, "unknown fields tittle"),
        (HEAD.replace('answer = "', "answer = "), BODY, "isn't valid TOML"),
        ("\n".join(x for x in HEAD.splitlines() if not x.startswith("answer")) + "\n", BODY, "answer"),
        (HEAD, BODY.replace("## Fix", "## Remedy"), "unknown section 'Remedy'"),
        (HEAD, BODY.replace("- Use another port.", ""), "sections missing or empty: Fix"),
    ],
)
def test_a_broken_entry_is_refused_with_the_place(tmp_path: Path, head: str, body: str, said: str) -> None:
    with pytest.raises(DataError, match=said.replace("(", r"\(")):
        read_entry(write(tmp_path, head, body))


def test_missing_examples_are_named(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.with_suffix(".examples.toml").unlink()
    with pytest.raises(DataError, match=r"Can't read port-taken\.examples\.toml"):
        read_examples(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["B.1"]', '["B.9"]', "symptom: B.9"),
        ("Address already in use", "Address (already", "not RE2"),
        ("Address already in use", "x*", "matches an empty line"),
        ("https://example.org/a", "my memory", "no source with an address"),
        ("https://example.org/a", "https://", "no source with an address"),
        ("Another process", "Upgrade to the latest. Another process", "says nothing specific"),
        ("patterns =", 'versions = {torch = "newest"}\npatterns =', "not a range"),
        ("patterns =", 'signatures = ["nothing"]\npatterns =', "unknown signatures: nothing"),
        ("patterns =", 'launchers = ["slurm"]\npatterns =', "unknown launchers or platforms: slurm"),
        ("patterns =", 'platforms = ["dos"]\npatterns =', "unknown launchers or platforms: dos"),
        ("patterns =", 'confused_with = ["nobody"]\npatterns =', "confused with unknown entries: nobody"),
    ],
)
def test_what_must_not_ship_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    write(tmp_path, HEAD.replace(old, new))
    assert said in "\n".join(problems(*read_catalogue(tmp_path)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '"RuntimeError: Address already in use"',
            '"nothing"',
            "no pattern or signature matches the telltale example",
        ),
        ('"second job on the same box dies"', '"Address already in use"', "matches the plain example"),
        ('body = "much noise"', 'body = " "', "the example 'c' is empty"),
        ('title = "e"', 'is = "who"\ntitle = "e"', "confused with unknown entries: who"),
        ('kind = "telltale"', 'kind = "noisy"', "no telltale example"),
        ('kind = "plain"', 'kind = "noisy"', "no plain example"),
        ('kind = "noisy"', 'kind = "telltale"', "no noisy example"),
        (
            '[[near_miss]]\ntitle = "e"',
            '[[example]]\nkind = "noisy"\ntitle = "e"',
            "4 examples and 1 near misses",
        ),
    ],
)
def test_examples_that_contradict_the_patterns_are_named(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    write(tmp_path, examples=EXAMPLES.replace(old, new))
    assert said in "\n".join(problems(*read_catalogue(tmp_path)))


def test_an_entry_without_a_telling_line_needs_no_telltale_example(tmp_path: Path) -> None:
    head = HEAD.replace("patterns = ['Address already in use']", "patterns = []")
    write(tmp_path, head, examples=EXAMPLES.replace('kind = "telltale"', 'kind = "plain"'))
    assert problems(*read_catalogue(tmp_path)) == []


def test_a_signature_is_a_telling_line(tmp_path: Path) -> None:
    head = HEAD.replace("patterns = ['Address already in use']", 'signatures = ["c10d-server-bind"]')
    bind = "The server socket has failed to bind to [::]:29500 (errno: 98)."
    write(tmp_path, head)
    assert "no pattern or signature matches the telltale example 'a'" in str(
        problems(*read_catalogue(tmp_path))
    )
    write(tmp_path, head, examples=EXAMPLES.replace("RuntimeError: Address already in use", bind))
    assert problems(*read_catalogue(tmp_path)) == []


def test_an_entry_is_confused_with_its_near_misses_and_what_its_head_adds(tmp_path: Path) -> None:
    head = HEAD.replace("patterns =", 'confused_with = ["b", "c"]\npatterns =')
    examples = EXAMPLES.replace('title = "d"', 'is = "a"\ntitle = "d"').replace(
        'title = "e"', 'is = "b"\ntitle = "e"'
    )
    assert read_entry(write(tmp_path, head, examples=examples)).confused_with == ("a", "b", "c")


def test_the_shipped_catalogue_is_sound_and_compiled() -> None:
    entries, examples = read_catalogue()
    assert problems(entries, examples) == []
    assert COMPILED.read_text("utf-8") == compiled(entries), "run: python -m knowledge.findings.compile"
    assert (DOCS / "README.md").read_text("utf-8") == index_page(entries), "the same command writes it"
    assert load_catalogue() == entries


def test_signatures_and_probes_are_compiled() -> None:
    for path, text in other_files(load_catalogue()).items():
        assert path.read_text("utf-8") == text, "run: python -m knowledge.findings.compile"
    assert load_signatures() == read_signatures(DATA)
    assert source() == read_source()


def test_every_error_signature_leads_to_an_entry_or_is_declared_context() -> None:
    context = tomllib.loads((COMPILED.parent / "context_signatures.toml").read_text("utf-8"))
    entries = load_catalogue().values()
    linked = {id for entry in entries for id in entry.signatures}
    patterns = [re2.compile(pattern) for entry in entries for pattern in entry.patterns]
    lost = [
        s.id
        for s in load_signatures()
        if s.id not in linked and s.id not in context and not any(p.search(s.sample) for p in patterns)
    ]
    assert lost == []
    assert context.keys() <= {s.id for s in load_signatures()}
