"""Every command in the README and docs/ is run here, is run by the test named here, or says that it is not run.

The last is a comment above its block, with the reason: <!-- not run: needs Docker -->
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import typer
from typer.testing import CliRunner

from bot.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = {"bot", "distriage", "make", "sh", "curl", "uv", "uvx", "pipx", "pip", "python", "python3", "pytest",
            "docker", "kubectl", "tar", "mkdir", "pg_dump", "pg_restore", "cp", "git", "npx"}  # fmt: skip
RUN_HERE = (
    "bot triage",
    "bot failures search",
    "bot taxonomy",
    "bot config check",
    "bot corpus",
    "bot --help",
)
ELSEWHERE = {
    "make demo": (".ci/run", "step demo"),
    "make test": (".ci/run", "step test"),
    "make check": (".ci/run", "step check"),
    "make coverage": (".ci/run", "step coverage"),
    "make test-inject": (".ci/run", "step test-inject"),
    "pytest": (".ci/run", "step test"),
    "bot eval": ("Makefile", "bot eval --gate"),
    "bot eval --gate": ("Makefile", "bot eval --gate"),
    "bot eval --compare": ("tests/eval/test_cli.py", '"--compare"'),
    "bot eval --injected": ("tests/eval/test_injected.py", '"--injected"'),
    "bot eval duplicates": ("tests/eval/test_duplicates.py", '"duplicates"'),
    "bot eval labels": ("tests/eval/test_labels.py", '"labels"'),
    "python -m tests.knowledge.findings.known_reports": (
        "tests/knowledge/findings/test_known_reports.py",
        "known_reports import",
    ),
    "bot backfill": ("tests/bot/history/test_cli_history.py", '"backfill"'),
    "bot serve": ("tests/package/test_walk.py", 'documented("Start the service")'),
    "bot mcp": ("tests/bot/test_mcp_server.py", '"mcp"'),
    "bot diagnose": ("tests/bot/test_cli_diagnose.py", '"diagnose"'),
    "bot _BOT_COMPLETE": ("tests/bot/test_cli_manners.py", "source_{shell}"),
    "bot db upgrade": ("tests/bot/service/test_database.py", "create an empty database"),
    "tar": ("tests/bot/service/test_database.py", "## Backup and restore"),
    "mkdir": ("tests/bot/service/test_database.py", "To restore, unpack"),
    "pg_dump": ("tests/bot/service/test_database.py", "dump the database while"),
    "pg_restore": ("tests/bot/service/test_database.py", "create an empty database"),
    "python3 -m venv": ("tests/package/conftest.py", "documented_pip"),
    "pip install": ("tests/package/conftest.py", "documented_pip"),
    "curl": ("tests/bot/service/test_api.py", "/api/triage"),
    "sh diagnose.sh": ("tests/knowledge/diagnostics/test_safety.py", "sh"),
}
"""By the beginning of a command: the file that runs it, and what of it shows that."""


class Command(NamedTuple):
    page: str
    text: str
    not_run: bool


def blocks(text: str) -> Iterator[tuple[list[str], bool]]:
    """Lines of each block of code, fenced or indented, and whether it says that it is not run."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = re.match(r"\s*```([\w-]*)\s*$", lines[at])
        begin = at + 1 if fence else at
        if fence:
            end = next(n for n in range(begin, len(lines)) if lines[n].strip() == "```")
        elif lines[at].startswith("    ") and not lines[at - 1]:
            end = next((n for n in range(at, len(lines)) if not lines[n].startswith("    ")), len(lines))
        else:
            at += 1
            continue
        above = next((line for line in lines[begin - 1 - bool(fence) :: -1] if line.strip()), "")
        if not fence or fence[1] in ("", "sh"):
            yield [line.strip() for line in lines[begin:end]], above.strip().startswith("<!-- not run:")
        at = end + 1


def found() -> list[Command]:
    out = []
    for page in PAGES:
        for lines, not_run in blocks(page.read_text("utf-8")):
            for line in "\n".join(lines).replace("\\\n", " ").splitlines():
                for part in re.sub(r"\s{2,}#.*", "", line).split(" && "):
                    words = part.replace(".venv/bin/", "").replace("~/.distriage/bin/", "").split()
                    shell = re.match(r"_(BOT)_COMPLETE=\S+ bot", " ".join(words))
                    command = f"bot {' '.join(words)}" if shell else " ".join(words)
                    if command.split(" ")[0] in PROGRAMS:
                        out.append(Command(page.name, command, not_run))
    return out


COMMANDS = found()
OURS = [one for one in COMMANDS if one.text.startswith("bot ") and "_COMPLETE" not in one.text]


def words_of(text: str) -> list[list[str]]:
    """The command lines that a pattern stands for: optional parts in, one of each choice, no redirection."""
    plain = re.sub(r"[\[\]]", "", re.split(r" [<>|] ", text)[0])
    choice = re.search(r"\S*\w\|\S+", plain)
    texts = [plain.replace(choice[0], one) for one in choice[0].split("|")] if choice else [plain]
    return [shlex.split(one)[1:] for one in texts]


def test_commands_are_found_on_many_pages() -> None:
    assert len(COMMANDS) > 80
    assert len({one.page for one in COMMANDS}) > 8


@pytest.mark.parametrize("one", sorted({one.text for one in OURS}))
def test_each_command_of_ours_is_a_valid_command_line(one: str) -> None:
    for words in words_of(one):
        command: click.Command = typer.main.get_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
        if words != ["--help"]:
            command.make_context(one, words)


@pytest.mark.parametrize("one", [one for one in COMMANDS if not one.not_run], ids=lambda one: one.text)
def test_each_command_is_run_somewhere(one: Command) -> None:
    if one.text.startswith(RUN_HERE):
        return
    starts = [start for start in ELSEWHERE if one.text.startswith(start) and start != "bot eval"]
    place = ELSEWHERE.get(one.text) or (ELSEWHERE[starts[0]] if starts else None)
    assert place is not None, f"{one.page}: nobody runs `{one.text}`, and no comment above it says so"
    assert place[1] in (ROOT / place[0]).read_text("utf-8")


HERE = sorted({one.text for one in OURS if not one.not_run and one.text.startswith(RUN_HERE)})


@pytest.mark.parametrize("one", HERE)
def test_what_can_be_run_here_ends_well(one: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with the files that the documents speak of."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    report = (ROOT / "examples" / "barrier.md").read_text("utf-8")
    (tmp_path / "report.md").write_text(report, "utf-8")
    shutil.copy(ROOT / "examples" / "barrier.result.txt", tmp_path / "result.txt")
    (tmp_path / "batch.jsonl").write_text('{"id": "a", "title": "t", "body": "NCCL WARN timeout"}\n', "utf-8")
    (tmp_path / "logs").mkdir()
    for rank in (0, 1):
        for folder in (tmp_path, tmp_path / "logs"):
            (folder / f"rank{rank}.log").write_text("RuntimeError: NCCL error\n", "utf-8")
    shutil.copy(tmp_path / "rank0.log", tmp_path / "report.log")
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "distriage.yml").write_text("mode: shadow\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    for words in words_of(one):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{words}: {done.output[-500:]} {done.exception}"
