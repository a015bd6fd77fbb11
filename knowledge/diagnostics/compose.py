"""Write the diagnostics script for one diagnosis: one file that both sh and Python can run."""

from __future__ import annotations

import ast
import hashlib
import json
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from knowledge.diagnostics.choose import LEAST_BITS, Budget, choose, worth
from knowledge.diagnostics.model import opened
from knowledge.diagnostics.probe import COLLECTORS, Probe, by_id, catalogue
from knowledge.errors import DataError

# Cut what the chosen probes need out of runtime/ and join it into one readable stdlib file. The cutting is done when
# the program is made: parsing all of runtime/ takes as long as a triage.

RUNTIME = "knowledge.diagnostics.runtime"
COMPILED_PIECES = Path(__file__).parent / "pieces.json"


@dataclass(frozen=True, slots=True)
class Piece:
    """One top-level definition of the runtime: its source and the top-level names that it uses."""

    name: str
    text: str
    uses: frozenset[str]
    place: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Source:
    """All of runtime/: its definitions by name, and the import lines by the name that each binds."""

    pieces: dict[str, Piece]
    imports: dict[str, str]


@cache
def source() -> Source:
    """The shipped pieces. DataError when their file is damaged."""
    try:
        kept = json.loads(COMPILED_PIECES.read_text("utf-8"))
        pieces = {
            name: Piece(name, text, frozenset(uses), (file, line))
            for name, text, uses, file, line in kept["pieces"]
        }
        return Source(pieces, kept["imports"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"Can't read {COMPILED_PIECES.name}: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error


def compiled_pieces(read: Source) -> str:
    """The text of pieces.json: one piece a line."""
    rows = (
        json.dumps([one.name, one.text, sorted(one.uses), *one.place], ensure_ascii=False)
        for one in read.pieces.values()
    )
    return f'{{"imports": {json.dumps(read.imports)},\n"pieces": [\n' + ",\n".join(rows) + "\n]}\n"


def read_source() -> Source:
    """Read runtime/*.py. DataError when two modules define the same name."""
    pieces: dict[str, Piece] = {}
    imports: dict[str, str] = {}
    for entry in sorted(files(f"{__package__}.runtime").iterdir(), key=lambda item: item.name):
        if not entry.name.endswith(".py") or entry.name == "__init__.py":
            continue
        text = without_annotations(entry.read_text(encoding="utf-8"))
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports.update(bound_names(node))
                continue
            for name in defined_names(node):
                if name in pieces:
                    raise DataError(f"runtime/{entry.name} defines {name}, which another module defines too.")
                pieces[name] = Piece(name, cut(text, node), used_names(node), (entry.name, node.lineno))
    return Source(pieces, imports)


def without_annotations(text: str) -> str:
    """The source without the annotations of its functions: they help who writes it, not who reads the script."""
    lines = text.splitlines(keepends=True)
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    spans = [(one.returns, " -> ") for one in functions if one.returns]
    for one in functions:
        every = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs, one.args.vararg, one.args.kwarg]
        spans += [(arg.annotation, ": ") for arg in every if arg and arg.annotation]
    for node, before in sorted(spans, key=lambda span: -span[0].lineno * 1000 - span[0].col_offset):
        line = lines[node.lineno - 1]
        start = node.col_offset - len(before)
        if node.end_lineno == node.lineno and line[start : node.col_offset] == before:
            lines[node.lineno - 1] = line[:start] + line[node.end_col_offset :]
    return "".join(lines)


def bound_names(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Name to the import line that binds it; imports within the runtime are left out, since all ends up in one file."""
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if module == "__future__" or module.startswith(RUNTIME):
            return {}
        return {one.asname or one.name: f"from {module} import {one.name}" for one in node.names}
    return {(one.asname or one.name).split(".")[0]: f"import {one.name}" for one in node.names}


def defined_names(node: ast.stmt) -> list[str]:
    """Names that a top-level statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


def used_names(node: ast.stmt) -> frozenset[str]:
    """Every plain name that occurs below the node, annotations included."""
    return frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def cut(text: str, node: ast.stmt) -> str:
    """The statement's own source lines, decorators included, indented by two to keep the script short.

    A probe's own docstring is left out: the script's head says what each of them looks at.
    """
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    lines = text.splitlines()
    inside = {
        line
        for one in ast.walk(node)
        if isinstance(one, ast.Constant | ast.JoinedStr) and one.end_lineno
        for line in range(one.lineno + 1, one.end_lineno + 1)
        if not lines[one.lineno - 1].lstrip().startswith('"""')
    }
    said = docstring_lines(node) if getattr(node, "name", "").startswith("probe_") else range(0)
    return "\n".join(
        line if place in inside else halved(line)
        for place, line in enumerate(lines[first - 1 : node.end_lineno], first)
        if place not in said
    )


def docstring_lines(node: ast.stmt) -> range:
    """Lines of a function's docstring; empty when it has none."""
    if not isinstance(node, ast.FunctionDef) or ast.get_docstring(node) is None:
        return range(0)
    return range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


def halved(line: str) -> str:
    """The line with half its indentation."""
    bare = line.lstrip(" ")
    return " " * ((len(line) - len(bare)) // 2) + bare


def closure(roots: Iterable[str]) -> frozenset[str]:
    """The roots and every top-level name of the runtime that they use. DataError for an unknown root."""
    known = source()
    wanted: set[str] = set()
    queue = list(roots)
    while queue:
        name = queue.pop()
        if name in wanted:
            continue
        if name not in known.pieces:
            raise DataError(f"runtime/ defines no {name}.")
        wanted.add(name)
        queue += [used for used in known.pieces[name].uses if used in known.pieces]
    return frozenset(wanted)


def length(names: Iterable[str]) -> int:
    """Characters that these definitions take in the script."""
    sizes = _sizes()
    return sum(sizes[name] for name in names)


@cache
def _sizes() -> dict[str, int]:
    return {name: len(piece.text) + 3 for name, piece in source().pieces.items()}


def assemble(roots: Iterable[str]) -> str:
    """Source of a module with the roots and everything they use, in the order of the runtime's files."""
    known = source()
    chosen = sorted((known.pieces[name] for name in closure(roots)), key=lambda piece: piece.place)
    used = frozenset().union(*(piece.uses for piece in chosen))
    lines = import_lines({line for name, line in known.imports.items() if name in used})
    parts: list[str] = []
    for piece in chosen:
        large = piece.text.startswith(("def ", "class ", "@")) or (parts and parts[-1].count("\n"))
        parts += ["\n\n\n" if large else "\n", piece.text] if parts else [piece.text]
    return "\n".join(lines) + "\n\n\n" + "".join(parts) + "\n"


def import_lines(lines: Iterable[str]) -> list[str]:
    """Sorted import lines, one for each module that names are taken from."""
    names: dict[str, list[str]] = {}
    for line in sorted(lines):
        head, _, name = line.partition(" import ")
        names.setdefault(head, []).append(name)
    return [f"{head} import {', '.join(some)}" if some != [""] else head for head, some in names.items()]


ANY_REPORT = "0" * 12
"""The name of a script that was made for no report; its results count for any."""
LARGEST = 52_000
"""Characters; what is posted to GitHub holds 60,000 at most, the triage included."""
NO_LIMIT = 1_000_000
"""Characters of a script that is written to a file: room for every probe."""
FRAME, LINES = 3_400, 110
"""Characters for launcher, imports and head; and for each probe, besides its code and its line of the head."""

LAUNCHER = '''\
#!/bin/sh
""":"
# sh reads this part, finds a Python of at least 3.8 and hands the same file to it.
if [ ! -f "$0" ]; then echo "Save this as a file first, then: sh diagnose.sh" >&2; exit 3; fi
for python in "${PYTHON:-python3}" python python3.13 python3.12 python3.11 python3.10 python3.9 python3.8; do
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && exec "$python" -B "$0" "$@"
done
echo "No Python of at least 3.8 was found; set PYTHON=/path/to/python3." >&2
exit 3
":"""
'''


def compose_script(
    cause_p: Mapping[str, float],
    *,
    framework: str | None,
    symptom: str | None,
    hosts: Sequence[str] = (),
    budget_s: float = 60.0,
    largest: int = LARGEST,
    answered: Collection[str] = (),
    report: str = "",
) -> str:
    """The script for one diagnosis, deterministic for the same arguments; empty when no probe would tell anything.

    `cause_p`: cause id to probability (empty = nothing known: base rates).
    `hosts` becomes the default of the script's `--hosts`; `budget_s` bounds choice and run, in seconds;
    `largest` bounds the script, in characters: what tells least for its length is left out, and the head names it.
    `answered` holds ids of probes whose outcome is known already: with the causes as that result left them, this
    makes the script for the next round. `report` is the id of the report, which the results are named after.
    """
    bits = worth(catalogue(), opened(cause_p), framework, symptom)
    chosen = _chosen(bits, budget_s, largest, answered)
    while chosen:
        told = {probe.id for probe in chosen} | set(answered)
        left_out = [
            id for id in sorted(bits, key=lambda id: -bits[id]) if id not in told and bits[id] >= LEAST_BITS
        ]
        script = script_of(
            chosen, hosts=hosts, budget_s=budget_s, left_out=left_out, name=script_name(report)
        )
        if len(script) <= largest:
            return script
        chosen.pop()
    return ""


def script_name(report: str) -> str:
    """Twelve hexadecimal digits for a report's id, which a script hands on to its results."""
    return hashlib.sha256(f"report {report}".encode()).hexdigest()[:12] if report else ANY_REPORT


def select_probes(
    cause_p: Mapping[str, float],
    *,
    framework: str | None,
    symptom: str | None,
    budget_s: float = 60.0,
    largest: int = LARGEST,
    answered: Collection[str] = (),
) -> list[Probe]:
    """The probes of `compose_script`'s script for the same arguments, most telling first."""
    return _chosen(worth(catalogue(), opened(cause_p), framework, symptom), budget_s, largest, answered)


def _chosen(
    bits: Mapping[str, float], budget_s: float, largest: int, answered: Collection[str]
) -> list[Probe]:
    room = largest - FRAME - length(closure(["main", "Task"]))
    budget = Budget(
        budget_s, room, code_of, length, lambda probe: LINES + len(probe.title) + len(probe.reads)
    )
    return choose([probe for probe in catalogue() if probe.id not in answered], bits, budget)


def code_of(probe: Probe) -> frozenset[str]:
    """The definitions that a probe needs beyond those of every script."""
    return _code(probe.function, probe.uses)


@cache
def _code(function: str, uses: tuple[str, ...]) -> frozenset[str]:
    return closure([function, *(COLLECTORS[name].function for name in uses)]) - closure(["main", "Task"])


def script_of(
    probes: Sequence[Probe],
    *,
    hosts: Sequence[str] = (),
    budget_s: float = 60.0,
    left_out: Sequence[str] = (),
    name: str = ANY_REPORT,
) -> str:
    """The script that runs exactly these probes, in this order; its head names those that were `left_out`.

    `name` (`script_name`) stands in its results and says which report they belong to.
    """
    collectors = sorted({name for probe in probes for name in probe.uses})
    roots = [
        "main",
        "Task",
        *(COLLECTORS[name].function for name in collectors),
        *(probe.function for probe in probes),
    ]
    code = assemble(roots)
    tasks = [_collector_line(name, probes) for name in collectors] + [_task_line(probe) for probe in probes]
    listed = "TASKS = [\n" + "".join(f"    {line},\n" for line in tasks) + "]\n"
    arguments = f"HOSTS = {','.join(hosts)!r}"
    end = (
        f'{arguments}\n\nif __name__ == "__main__":\n'
        f'    given = ["--hosts", HOSTS] if HOSTS else []\n'
        f'    sys.exit(main(given + sys.argv[1:], TASKS, "{name}", {float(budget_s)!r}))\n'
    )
    return (
        LAUNCHER
        + head(probes, budget_s, left_out)
        + "\nfrom __future__ import annotations\n\n"
        + code
        + "\n\n"
        + listed
        + end
    )


def head(probes: Sequence[Probe], budget_s: float, left_out: Sequence[str] = ()) -> str:
    """The comment at the script's head: in plain words what it does, reads and leaves alone."""
    lines = [
        "distriage diagnostics. Read it before you run it; it is meant to be read.",
        "",
        "Run it the way you run the job (same shell, same container, same launcher), for instance",
        "    sh diagnose.sh        torchrun ... diagnose.sh        mpirun ... sh diagnose.sh",
        "and paste the block that it prints into the thread; with many ranks, every block.",
        "",
        f"It takes at most {budget_s:g} seconds, needs no root and no GPU, changes nothing, and writes only",
        "into a temporary folder that it removes. It talks to no machine but this one and the job's own",
        "(MASTER_ADDR, TF_CONFIG, host file, --hosts). User, host and folder names, addresses and secrets",
        "are taken out before anything is printed. It looks at:",
        "",
    ]
    out = [f"# {line}".rstrip() for line in lines]
    for probe in probes:
        out += _item(f"{probe.title}: {probe.reads}")
    if left_out:
        titles = "; ".join(by_id()[id].title for id in left_out)
        why = "Left out, since they would tell less for their length and time (the script that follows a result asks"
        out += ["#", *_wrapped(f"{why} for what is still open): {titles}.")]
    return "\n".join(out) + "\n"


@cache
def _item(text: str) -> list[str]:
    return textwrap.wrap(text, 116, initial_indent="# - ", subsequent_indent="#   ", break_long_words=False)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 116, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def _task_line(probe: Probe) -> str:
    parts = [repr(probe.id), probe.function, repr(float(probe.limit_s))]
    if probe.scope == "host":
        parts.append("per_host=True")
    if first := [*probe.uses, *probe.after, *probe.follows]:
        parts.append(f"uses={first!r}")
    return f"Task({', '.join(parts)})"


def _collector_line(name: str, probes: Sequence[Probe]) -> str:
    one = COLLECTORS[name]
    per_host = all(probe.scope == "host" for probe in probes if name in probe.uses)
    return f"Task({name!r}, {one.function}, {one.limit_s!r}, per_host={per_host}, collector=True)"
