"""Cut what the chosen probes need out of runtime/ and join it into one readable stdlib file.

The cutting is done once, when the program is made: parsing all of runtime/ takes as long as a triage.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from knowledge.errors import DataError

RUNTIME = "knowledge.diagnostics.runtime"
COMPILED = Path(__file__).parent / "pieces.json"


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
        kept = json.loads(COMPILED.read_text("utf-8"))
        pieces = {
            name: Piece(name, text, frozenset(uses), (file, line))
            for name, text, uses, file, line in kept["pieces"]
        }
        return Source(pieces, kept["imports"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{COMPILED.name} cannot be read: {error}.", "Run: python -m knowledge.findings.compile"
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
