"""What people expect of a command line: help, version, completion, exit codes, a quick start, no traceback."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.app import app
from tests.conftest import CACHE

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "cli.md").read_text("utf-8")
EXAMPLE = ROOT / "examples" / "hang.md"
MEASURED = "triage examples/barrier.md --result examples/barrier.result.txt"
HEAVY = {"numpy", "onnxruntime", "fastapi", "psycopg", "jinja2", "yaml", "mcp", "re2", "openpyxl"}
START = "import sys; sys.argv[0] = '{name}'; from bot.__main__ import main; main()"


def run(*args: str, name: str = "bot", stdin: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "DISTRIAGE_DATA_DIR": str(CACHE.parent), "COLUMNS": "100", **more}
    command = [sys.executable, "-c", START.format(name=name), *args]
    return subprocess.run(command, input=stdin, capture_output=True, env=env, cwd=ROOT, check=False)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group with its path, the root as ()."""

    def walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield path, command
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk((*path, name), inner)

    return walk((), typer.main.get_command(app))


EVERY = dict(commands())


def examples_of(command: Any) -> list[str]:
    return [line for line in (command.epilog or "").removeprefix("Example:").splitlines() if "bot " in line]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_short_help_with_an_example(path: tuple[str, ...]) -> None:
    said = CliRunner().invoke(app, [*path, "-h"], env={"COLUMNS": "200"})
    assert said.exit_code == 0
    assert "Example" in said.output
    for line in examples_of(EVERY[path]):
        assert line.strip() in said.output


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_example_is_a_valid_command_line(path: tuple[str, ...]) -> None:
    found = examples_of(EVERY[path])
    assert found
    for line in found:
        words = shlex.split(line.split("|")[-1].split(">")[0])
        assert words.pop(0) == "bot"
        command, at = EVERY[()], list[str]()
        while words and words[0] in getattr(command, "commands", {}):
            at.append(words.pop(0))
            command = EVERY[tuple(at)]
        assert tuple(at[: len(path)]) == path, line
        command.make_context(line, words)


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert run("--version").stdout.decode() == f"distriage {project['version']}\n"
    assert project["scripts"] == {"bot": "bot.__main__:main", "distriage": "bot.__main__:main"}


@pytest.mark.parametrize(
    "args", [["--help"], ["--version"], ["triage", "-h"], ["eval", "-h"], ["serve", "-h"]]
)
def test_help_and_version_load_nothing_heavy(args: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['bot', *{args!r}]\n"
        "from bot.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    loaded = set(done.stderr.decode().splitlines()[-1].split())
    assert "typer" in loaded
    assert not HEAVY & loaded


@pytest.mark.parametrize("name", ["bot", "distriage"])
@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "{name} tri", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "{name} tri"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "{name} tri", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shells_complete_commands(name: str, shell: str, asked: dict[str, str]) -> None:
    variable = f"_{name.upper()}_COMPLETE"
    script = run(name=name, **{variable: f"source_{shell}"}).stdout.decode()
    assert variable in script
    given = {key: value.format(name=name) for key, value in asked.items()}
    assert "triage" in run(name=name, **{variable: f"complete_{shell}", **given}).stdout.decode()


@pytest.mark.parametrize(
    ("words", "expected"), [("failures show cuda-driver-t", "cuda-driver-too-old"), ("taxonomy D.2", "D.2.1")]
)
def test_ids_are_completed(words: str, expected: str) -> None:
    asked = {"COMP_WORDS": f"bot {words}", "COMP_CWORD": str(len(words.split()))}
    assert expected in run(_BOT_COMPLETE="complete_bash", **asked).stdout.decode().split()


@pytest.mark.parametrize(
    "args", [["taxonomy", "d.2.1"], ["failures", "show", "CUDA-Driver-Too-Old"], ["failures", "list", "NCCL"]]
)
def test_ids_may_be_in_any_case(args: list[str]) -> None:
    assert CliRunner().invoke(app, args).exit_code == 0


def _interrupted() -> int:
    env = {**os.environ, "DISTRIAGE_DATA_DIR": str(CACHE.parent)}
    child = subprocess.Popen(
        [sys.executable, "-m", "bot", "triage", "-"],
        stdin=subprocess.PIPE,
        env=env,
        cwd=ROOT,
        start_new_session=True,
        # A job in the background may have been started with interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with child:
        time.sleep(3)
        child.send_signal(signal.SIGINT)
        return child.wait(30)


def _defect() -> int:
    """A command with a bug in it."""
    code = (
        "import sys; sys.argv = ['bot', 'taxonomy', 'D.2.1']\n"
        "import knowledge.taxonomy as t\n"
        "t.load_taxonomy = lambda: None\n"
        "from bot.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=False)
    said = done.stderr.decode().strip().splitlines()
    assert len(said) == 1, said
    assert re.match(r"bot: internal error: AttributeError in bot\.cli\.knowledge:\d+\.", said[0])
    return done.returncode


def _config(text: str) -> int:
    file = ROOT / "build" / f"config-{os.getpid()}.yml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    try:
        return run("config", "check", str(file)).returncode
    finally:
        file.unlink()


CODES: dict[int, Callable[[], int]] = {
    0: lambda: _config("mode: shadow\n"),
    1: lambda: _config("mode: bothh\n"),
    2: lambda: run("triage", "nowhere.md").returncode,
    70: _defect,
    130: _interrupted,
}


def test_the_table_of_exit_codes_is_complete() -> None:
    documented = [int(code) for code in re.findall(r"^\| (\d+) \|", DOCS, re.MULTILINE)]
    assert documented == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_every_documented_exit_code_occurs(code: int) -> None:
    assert CODES[code]() == code


def test_every_command_is_documented() -> None:
    for path, command in EVERY.items():
        if not getattr(command, "commands", None):
            assert f"bot {' '.join(path)}" in DOCS, path


def test_a_file_that_cannot_be_written_ends_in_one_line(tmp_path: Path) -> None:
    done = run("corpus", "import-labels", "nowhere.xlsx", "--out", str(tmp_path))
    assert done.returncode == 2
    assert len(done.stderr.decode().strip().splitlines()) == 1


def test_brief_and_default_keep_their_length() -> None:
    brief, screen = (
        run("triage", *options, str(EXAMPLE)).stdout.decode().splitlines() for options in (["--brief"], [])
    )
    assert 3 < len(brief) <= 12
    assert len(brief) < len(screen) <= 45
    for shown in (brief, screen[:10]):
        assert any("do this now" in line for line in shown)
    for wrong in (["--long"], ["--format", "json"]):
        assert run("triage", "--brief", *wrong, str(EXAMPLE)).returncode == 2


@pytest.mark.parametrize(
    ("example", "command"),
    [
        ("make demo", "triage examples/hang.md"),
        (f"bot {MEASURED}", MEASURED),
    ],
)
def test_the_readme_shows_a_part_of_what_is_printed(example: str, command: str) -> None:
    readme = (ROOT / "README.md").read_text("utf-8").split(f"<!-- example: {example} -->\n```\n")[1]
    printed = run(*command.split()).stdout.decode()
    # How sure an answer is changes with every training; the text does not.
    shown, whole = (
        [re.sub(r"\w+ \(\d+%\)|\d+%", "sure", line.rstrip()) for line in text.splitlines()]
        for text in (readme.split("```")[0], printed)
    )
    assert any(whole[at : at + len(shown)] == shown for at in range(len(whole)))


def test_a_measurement_makes_the_cause_of_the_example_sure() -> None:
    before, after = (
        json.loads(run(*command.split(), "--format", "json").stdout)["cause"]
        for command in ("triage examples/barrier.md", MEASURED)
    )
    assert before["ranking"][0]["p"] < 0.6
    assert after["ranking"][0]["id"] == "divergent_ranks"
    assert after["ranking"][0]["p"] > 0.8


def test_a_folder_is_one_report_with_ranks_from_its_file_names(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text("step 1\n[Rank 0] Watchdog caught collective operation timeout\n")
    (tmp_path / "rank1.log").write_text("step 1\nKeyError: 'labels'\n")
    done = run("triage", "--format", "json", str(tmp_path))
    (value,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert value["evidence"]["ranks"] == [0, 1]
    shown = " ".join(run("triage", str(tmp_path)).stdout.decode().split())
    assert "root rank1.log:2 rank 1 KeyError: 'labels'" in shown


def test_a_misspelt_variable_is_warned_about() -> None:
    said = run("triage", str(EXAMPLE), DISTRIAGE_LOG_LEVLE="DEBUG").stderr.decode()
    assert "DISTRIAGE_LOG_LEVLE is not a setting and has no effect; did you mean DISTRIAGE_LOG_LEVEL?" in said


def on_a_terminal(code: str) -> str:
    """What a program writes to standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=subprocess.DEVNULL, cwd=ROOT)
    os.close(theirs)
    said = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:
            break
        if not block:
            break
        said += block
    os.close(ours)
    assert child.wait(30) == 0
    return said.decode()


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, False), (3.2, True)])
def test_what_takes_over_two_seconds_shows_that_it_goes_on(seconds: float, shown: bool) -> None:
    code = (
        "import time\nfrom bot.cli.common import waiting\n"
        f"with waiting('reading train.log'): time.sleep({seconds})"
    )
    assert ("reading train.log" in on_a_terminal(code)) == shown


def test_nothing_of_it_goes_into_a_file() -> None:
    code = "import time\nfrom bot.cli.common import waiting\nwith waiting('reading'): time.sleep(2.5)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    assert done.stderr == b""
