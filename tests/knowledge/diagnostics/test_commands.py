"""The short commands: they read and change nothing, name causes that exist, and are few."""

from __future__ import annotations

import ast
import shlex
import subprocess

import pytest

from knowledge.diagnostics.choose import MAX_COMMANDS, MIN_PROBABILITY, Command, load_commands, quick_checks
from knowledge.taxonomy import load_taxonomy

LAUNCH = "LAUNCH_COMMAND"
"""Stands for the user's own job, run once more with its environment changed."""
READERS = {
    "nc",
    "py-spy",
    "df",
    "ulimit",
    "dmesg",
    "grep",
    "tail",
    "nvidia-smi",
    "nvcc",
    "gcc",
    "pip",
    "python",
}
ARGUMENTS = {
    "nc": {"-vz", "MASTER_ADDR", "MASTER_PORT"},
    "py-spy": {"dump", "--pid", "PID"},
    "df": {"-h", "/dev/shm"},
    "ulimit": {"-a"},
    "dmesg": {"-T"},
    "tail": set(),
    "nvidia-smi": {
        "-q",
        "-d",
        "ECC",
        "--query-compute-apps=pid,gpu_bus_id,used_memory",
        "--format=csv",
    },
    "nvcc": {"--version"},
    "gcc": {"--version"},
    "pip": {"check", "list"},
}
"""What each may be given; grep takes a pattern, python a module or code."""
CALLS = {"print", "list", "len", "socket.gethostname", "torch.cuda.nccl.version", "torch.load"}
SETTINGS = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "TORCH_DISTRIBUTED_DEBUG"}


def in_shell() -> list[Command]:
    return [c for c in load_commands() if not c.run.startswith("print(")]


def parts(run: str) -> list[list[str]]:
    """The programs that a line starts, each with its arguments."""
    lexer = shlex.shlex(run.replace("<launch command>", LAUNCH), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    out: list[list[str]] = [[]]
    for token in lexer:
        if token in (";", "|"):
            out.append([])
        else:
            out[-1].append(token)
    return out


def check_code(code: str) -> None:
    tree = ast.parse(code)
    assert all(isinstance(node, ast.Import | ast.Expr) for node in tree.body), code
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        assert ast.unparse(call.func) in CALLS, code
        if ast.unparse(call.func) == "torch.load":
            assert "weights_only=True" in ast.unparse(call), "a checkpoint is a pickle"


def check_part(words: list[str]) -> None:
    """Whether a program only reads."""
    while words and "=" in words[0]:
        assert words.pop(0).partition("=")[0] in SETTINGS
    if words[-3:] == ["2", ">&", "1"]:
        words = words[:-3]
    if words == [LAUNCH]:
        return
    program, *arguments = words
    assert program in READERS, program
    if program == "python":
        if arguments[0] == "-m":
            assert arguments == ["-m", "torch.utils.collect_env"]
        else:
            assert (arguments[0], len(arguments)) == ("-c", 2)
            check_code(arguments[1])
    elif program == "grep":
        assert all(a.startswith("-") and set(a) <= set("-iE") for a in arguments[:-1]), arguments
    else:
        assert set(arguments) <= ARGUMENTS[program], arguments


@pytest.mark.parametrize("command", load_commands(), ids=lambda c: c.run[:30])
def test_a_command_only_reads(command: Command) -> None:
    if command.run.startswith("print("):
        check_code(command.run)
        return
    for words in parts(command.run):
        check_part(words)


@pytest.mark.parametrize(
    "run",
    [
        "rm -rf /",
        "dmesg -C",
        "nvidia-smi --gpu-reset",
        "df -h /dev/shm > /etc/passwd",
        "NCCL_DEBUG=INFO <launch command> | tee log",
        "pip install torch",
        "python -c 'import os; os.system(1)'",
        "python -c 'import torch; print(torch.load(1))'",
        "LD_PRELOAD=x df -h",
        "df -h && reboot",
    ],
)
def test_the_check_itself_refuses_what_writes(run: str) -> None:
    with pytest.raises((AssertionError, KeyError)):
        for words in parts(run):
            check_part(words)


@pytest.mark.parametrize("command", in_shell(), ids=lambda c: c.run[:30])
def test_a_command_is_a_line_that_a_shell_reads(command: Command) -> None:
    assert "\n" not in command.run
    line = command.run.replace("<launch command>", LAUNCH)
    assert subprocess.run(["sh", "-n", "-c", line], check=False, capture_output=True).returncode == 0


def test_causes_and_symptoms_are_those_of_the_taxonomy() -> None:
    taxonomy = load_taxonomy()
    assert {c.cause for c in load_commands()} <= set(taxonomy.ids("cause"))
    assert {s for c in load_commands() for s in c.symptoms} <= set(taxonomy.ids("symptom"))


def test_what_is_for_some_symptoms_comes_before_what_is_for_any() -> None:
    seen: set[str] = set()
    for command in load_commands():
        assert command.cause not in seen, f"never reached: {command.run}"
        if not command.symptoms:
            seen.add(command.cause)


def test_every_command_says_what_its_output_means() -> None:
    assert all(c.reading.endswith(".") and len(c.reading) <= 200 for c in load_commands())


def test_the_likeliest_causes_get_one_command_each_and_at_most_three() -> None:
    causes = {"hardware": 0.2, "dependency": 0.3, "resource_limits": 0.25, "divergent_ranks": 0.15}
    first = {c.cause: c.run for c in reversed(load_commands()) if not c.symptoms}
    checks = quick_checks(causes, None)
    assert [c.run for c in checks] == [first[c] for c in ("dependency", "resource_limits", "hardware")]
    assert len(checks) == MAX_COMMANDS


def test_an_improbable_cause_and_one_without_a_command_get_none() -> None:
    assert quick_checks({"hardware": MIN_PROBABILITY - 0.01}, None) == []
    assert quick_checks({"other": 0.9}, None) == []
    assert len(quick_checks({"other": 0.6, "hardware": 0.3}, None)) == 1


def test_a_command_for_some_symptoms_is_for_them_alone() -> None:
    (hang,) = quick_checks({"divergent_ranks": 0.9}, "D.2.1")
    (crash,) = quick_checks({"divergent_ranks": 0.9}, "D.1.1")
    (unknown,) = quick_checks({"divergent_ranks": 0.9}, None)
    assert hang.run.startswith("py-spy dump")
    assert crash == unknown != hang
