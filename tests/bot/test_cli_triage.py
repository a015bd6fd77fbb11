"""`bot triage` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from knowledge.diagnostics.compose import LARGEST
from knowledge.engine import Knowledge
from knowledge.triage import schema_text
from tests.conftest import CACHE

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "hang.md"


def bot(*args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "DISTRIAGE_DATA_DIR": str(CACHE.parent)}
    return subprocess.run(
        [sys.executable, "-m", "bot", *args], input=stdin, capture_output=True, env=env, cwd=ROOT, check=False
    )


@pytest.fixture(autouse=True)
def indexed(knowledge: Knowledge) -> None:
    """The index stands before the command is timed or its messages are compared."""


def test_the_published_schema_is_the_models() -> None:
    assert (ROOT / "docs" / "triage.schema.json").read_text("utf-8") == schema_text()


def test_json_fits_the_published_schema(tmp_path: Path) -> None:
    script = tmp_path / "diagnose.sh"
    done = bot("triage", "--format", "json", "--out-script", str(script), str(EXAMPLE))
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    jsonschema.validate(value, json.loads(schema_text()))
    in_a_comment = [line for line in value["script"].splitlines() if line.startswith("    Task(")]
    assert len(value["script"]) <= LARGEST
    assert set(in_a_comment) < set(script.read_text("utf-8").splitlines())


def test_terminal_and_markdown_name_the_evidence() -> None:
    for form in ("terminal", "markdown"):
        done = bot("triage", "--long", "--format", form, str(EXAMPLE))
        assert done.returncode == 0, done.stderr
        assert "ncclCommInitRank failed" in done.stdout.decode()
        assert "https://github.com/" in done.stdout.decode()


def test_the_brief_answer_says_how_to_see_the_rest() -> None:
    brief, long = (
        bot("triage", *more, "--format", "terminal", str(EXAMPLE)).stdout.decode()
        for more in ([], ["--long"])
    )
    assert 0 < len(brief.splitlines()) < len(long.splitlines())
    assert "--long" in brief
    assert "Classification" not in brief
    assert "Classification" in long


def test_a_batch_keeps_order_and_puts_errors_in_their_place(tmp_path: Path) -> None:
    batch = tmp_path / "batch.jsonl"
    rows: list[Any] = [
        {"id": "a", "title": "Hang", "body": "it hangs"},
        {"id": "b", "title": "OOM", "body": None},
    ]
    batch.write_text("\n".join([json.dumps(rows[0]), "no json", json.dumps(rows[1])]), "utf-8")
    done = bot("triage", "--format", "json", str(batch))
    out = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in out] == ["a", "line 2", "b"]
    assert "error" in out[1]
    assert done.returncode == 2


def test_standard_input_and_a_github_issue() -> None:
    issue = {"title": "Segfault", "body": "Segmentation fault", "html_url": "https://github.com/o/r/issues/7"}
    done = bot("triage", "-", "--format", "json", stdin=json.dumps(issue).encode())
    assert json.loads(done.stdout)["id"] == "o/r#7"
    assert bot("triage", "-", stdin=b"RuntimeError: NCCL error").returncode == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.md", b"", "is empty"),
        ("blank.log", b" \n\t\n", "is empty"),
        ("binary.log", bytes(range(256)) * 40, "binary"),
        ("list.json", b"[1, 2]", "not a GitHub issue"),
        ("broken.json", b'{"title": ', "not valid JSON"),
        ("deep.json", b'{"title": ' + b"[" * 5000 + b"}", "not valid JSON"),
        ("number.json", b'{"title": "x", "body": 3}', "not text"),
        ("empty.jsonl", b"", "is empty"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = bot("triage", str(tmp_path / name))
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert len(done.stderr.decode().strip().splitlines()) == 1


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.md", tmp_path):
        done = bot("triage", str(path))
        assert done.returncode == 2
        assert str(path) in done.stderr.decode()


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("Erreur: échec NCCL\n".encode("latin-1") * 3, "not valid UTF-8"),
        (("RuntimeError: NCCL error\n" * 2).encode("utf-16"), ""),
        (b"```\n```python\n~~~\nRuntimeError: x\n" * 50, ""),
        (b"\x1b[31mRuntimeError\x1b[0m: boom \x07 and more\n", ""),
    ],
)
def test_odd_text_is_triaged_and_said(tmp_path: Path, content: bytes, note: str) -> None:
    (tmp_path / "odd.log").write_bytes(content)
    done = bot("triage", "--format", "json", str(tmp_path / "odd.log"))
    assert done.returncode == 0, done.stderr
    assert note in " ".join(json.loads(done.stdout)["evidence"]["notes"])


def test_out_is_overwritten_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "triage.json"
    for _ in range(2):
        done = bot("triage", "--format", "json", "--out", str(out), str(EXAMPLE))
        assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text("utf-8"))["id"] == "hang.md"
    assert "overwritten" in done.stderr.decode()


@pytest.mark.parametrize("option", ["--out", "--out-script"])
def test_an_input_is_not_written_over(tmp_path: Path, option: str) -> None:
    report = tmp_path / "report.md"
    report.write_text("# Hang\n\nIt hangs.\n", "utf-8")
    (tmp_path / "link.md").symlink_to(report)
    done = bot("triage", option, str(tmp_path / "link.md"), str(report))
    assert done.returncode == 2 and "is also an input" in done.stderr.decode()
    assert report.read_text("utf-8").startswith("# Hang")


def test_an_out_that_cannot_be_written_ends_in_one_line(tmp_path: Path) -> None:
    done = bot("triage", "--out", str(tmp_path / "nowhere" / "triage.json"), str(EXAMPLE))
    assert done.returncode == 2
    assert len(done.stderr.decode().strip().splitlines()) == 1
    assert "Can't write" in done.stderr.decode()


@pytest.mark.parametrize("lines", [300_000, pytest.param(900_000, marks=pytest.mark.long)])
def test_what_is_too_long_is_read_in_part_and_said(tmp_path: Path, lines: int) -> None:
    big = tmp_path / "big.log"
    big.write_bytes(b"step 1 loss 0.1 some line of a long log that never ends\n" * lines)
    done = bot("triage", "--format", "json", str(big))
    assert done.returncode == 0, done.stderr
    assert "were read" in json.loads(done.stdout)["evidence"]["notes"][0]
