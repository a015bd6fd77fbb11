"""Which commands and code the writer may hand out: an allow-list by shape. What is not on it is dropped.

Read-only checks, documented settings, installs of known packages, and small Python that parses. A command is
never taken because a report names it: reports are written by strangers.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Collection
from functools import cache, lru_cache
from typing import Any

import re2

from knowledge.findings.failure import COMPILED
from llm.api_names import public_name, public_variable
from llm.draft import Material, Snippet, allowed, refused, unsafe, words

COMMAND_CHARS = 200
CODE_LINES = 15
CODE_CHARS = 700

_META = re2.compile(r"[;|&><`$\\(){}\n\r*?!#~]")
_ASSIGNMENT = re2.compile(
    r"(?:export )?([A-Z][A-Z0-9_]{1,60})=(/(?:usr|opt)/[A-Za-z0-9_./-]{1,60}|[A-Za-z0-9_.:,^+-]{1,60})(?:\s+|$)"
)
_GREP = re2.compile(
    r"""grep -[rniEFcwlH]{1,6} (?:"[A-Za-z0-9_ .|:=-]{2,80}"|'[A-Za-z0-9_ .|:=-]{2,80}'|[A-Za-z0-9_.=-]{2,60})"""
    r"(?: --include=\*?[A-Za-z.]{1,20}| \.| (?:/tmp/|/usr/include/|/var/log/)?[A-Za-z0-9_][A-Za-z0-9_+-]*"
    r"(?:[./][A-Za-z0-9_+-]+)*/?){1,6}"
)
"""A search of files of the job, the log folders or the system's headers."""
_TOLD = 4
"""Letters of a function's name that only what was shown vouches for: shorter ones stand in any text."""
_ABOUT = frozenset(["__version__", "__file__", "__path__", "__name__"])
"""What code may read of a module or a type."""
_PACKAGE = re2.compile(
    r"([A-Za-z0-9][A-Za-z0-9_.-]{0,60})(?:\[[a-z,-]{1,40}\])?((?:(?:==|>=|<=|~=|<|>|=)[0-9][0-9A-Za-z.+*]{0,20},?){0,2})"
)
_BOUND = re2.compile(r"(==|>=|<=|~=|<|>|=)([0-9]+(?:\.[0-9A-Za-z+]+)*)")
_PYTHON = r"python(?:3(?:\.\d{1,2})?)?"
_INSTALL = re2.compile(rf"(?:(?:{_PYTHON} -m )?pip3?|conda|mamba) install(?: |$)")
_VARIABLE = re2.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_CATALOGUE_INSTALL = re2.compile(r"(?:pip|conda|mamba) install ([^`;|&.]{1,80})")
_NODES = (
    *(ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.Expr, ast.Pass),
    *(
        ast.Assign,
        ast.AugAssign,
        ast.Call,
        ast.keyword,
        ast.Name,
        ast.Attribute,
        ast.Constant,
        ast.Load,
        ast.Store,
    ),
    *(ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Dict, ast.JoinedStr, ast.FormattedValue),
    *(
        ast.Compare,
        ast.BoolOp,
        ast.And,
        ast.Or,
        ast.Not,
        ast.UnaryOp,
        ast.USub,
        ast.BinOp,
        ast.operator,
        ast.cmpop,
    ),
    *(ast.If, ast.IfExp, ast.For, ast.With, ast.withitem),
    *(ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.arguments, ast.arg, ast.Return),
    *(ast.Try, ast.ExceptHandler, ast.Raise, ast.Starred),
    *(ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
)


@cache
def catalogue_text() -> str:
    """All that the catalogue says, as one text: what names exist."""
    return COMPILED.read_text("utf-8")


@lru_cache(maxsize=4096)
def documented(name: str) -> bool:
    """Whether our own catalogue uses a name, be it in what was shown or elsewhere."""
    text = catalogue_text()
    # The catalogue is large and most names are not in it: a plain search first.
    whole = rf"(?:^|[^A-Za-z0-9_]){re2.escape(name)}(?:$|[^A-Za-z0-9_])"
    return name in text and bool(re2.search(whole, text))


@cache
def packages() -> frozenset[str]:
    """Names of packages that may be installed: ours, and what the catalogue has people install."""
    found = set(words("packages", "names"))
    for match in _CATALOGUE_INSTALL.finditer(catalogue_text()):
        for word in match.group(1).replace('\\"', " ").replace("'", " ").split():
            name = _PACKAGE.fullmatch(word)
            if name and len(name.group(1)) > 3 and ("-" in name.group(1) or "_" in name.group(1)):
                found.add(name.group(1))
    return frozenset(name.lower() for name in found)


@cache
def settings() -> frozenset[str]:
    """Environment variables that may be set: those of allowed.toml, and those the catalogue speaks of."""
    named = {str(m.group(0)) for m in _VARIABLE.finditer(catalogue_text())}
    return frozenset(name for name in named | set(words("settings", "names")) if not unsafe(name))


def _no_call() -> frozenset[str]:
    return words("code", "refused")


@cache
def _read_only() -> Any:
    return re2.compile("|".join(f"(?:{pattern})" for pattern in allowed()["commands"]["read_only"]))


def command_fault(command: Snippet, material: Material) -> str | None:
    """Why a command may not be handed out, in a word; None when it may."""
    text = command.text.strip()
    if "[redacted" in text:
        return "redacted"
    if command.language.lower() not in ("sh", "bash", "shell", "console", "text", ""):
        return "language"
    if not text.isascii() or len(text) > COMMAND_CHARS or "\n" in text:
        return "shape"
    if unsafe(text):
        return "unsafe"
    text, fault = _after_settings(text, material)
    if fault or not text:
        return fault
    code = _inline_code(text)
    if code is not None:
        return code_fault(Snippet("python", code, ""), material)
    if _INSTALL.match(text):
        return _install_fault(text, material)
    if _GREP.fullmatch(text):
        return "secret" if refused("secret").search(text) else None
    if _META.search(text):
        return "shape"
    return None if _read_only().fullmatch(" ".join(text.split())) else "not on the list"


def _after_settings(text: str, material: Material) -> tuple[str, str | None]:
    """What follows the settings at the beginning of a command, and what is wrong with one of them."""
    while found := _ASSIGNMENT.match(text):
        name, value = found.group(1), found.group(2)
        if name not in settings() and not public_variable(name):
            return text, "setting"
        if not _value_known(value, material):
            return text, "value"
        text = text[found.end() :].lstrip()
    return text, None


def _value_known(value: str, material: Material) -> bool:
    """A value of a setting is a usual word or number, or stands in what was shown."""
    usual = {
        "INFO",
        "DETAIL",
        "WARN",
        "TRACE",
        "VERSION",
        "OFF",
        "lo",
        "eth0",
        "ib0",
        "INIT,NET",
        "INIT,COLL",
        "expandable_segments:True",
        "/usr/local/cuda",
        "/usr/local/cuda/lib64",
        "/usr/bin/clang",
        "/usr/bin/gcc",
        "clang",
        "clang++",
        "gcc",
        "g++",
    }
    if value in usual or (value.isdigit() and len(value) <= 5) or value.startswith("^"):
        return True
    return value in material.ours or any(
        value in text for text in (*material.entries.values(), *material.lines.values())
    )


def _inline_code(text: str) -> str | None:
    """The code of `python -c "..."`."""
    for quote in "\"'":
        found = re2.fullmatch(rf"{_PYTHON} -c {quote}([^{quote}\\$`]{{1,180}}){quote}", text)
        if found:
            return str(found.group(1))
    return None


def _install_fault(text: str, material: Material) -> str | None:
    rest = text[_INSTALL.match(text).end() :]
    conda = text.startswith(("conda", "mamba"))
    try:
        parts = shlex.split(rest)
    except ValueError:
        return "shape"
    if any(sign in re2.sub(r"\"[^\"]*\"|'[^']*'", "", rest) for sign in "<>;|&"):
        return "shape"
    named = 0
    wanted = iter(parts)
    for part in wanted:
        if conda and part == "-c":
            if next(wanted, "") not in allowed()["commands"]["channels"]:
                return "channel"
        elif part.startswith("-"):
            if part not in allowed()["commands"]["install_options"]:
                return "option"
        else:
            fault = _package_fault(part, material)
            if fault:
                return fault
            named += 1
    return None if named else "no package"


def _package_fault(part: str, material: Material) -> str | None:
    found = _PACKAGE.fullmatch(part)
    if found is None or not known_package(found.group(1)):
        return "package"
    stated = " ".join(material.lines.values())
    ours = " ".join(
        (*material.entries.values(), *material.cases.values(), material.ours, *material.versions.values())
    )
    return next(
        (
            "version"
            for sign, v in _BOUND.findall(found.group(2))
            # Going back below a version is what a report itself can call for.
            if not version_in(v, f"{ours} {stated}" if sign.startswith("<") else ours)
        ),
        None,
    )


def known_package(name: str) -> bool:
    """Whether a package may be named for installing."""
    return name.lower() in packages()


def version_in(version: str, text: str) -> bool:
    """Whether a text has this version, or one that it is the beginning of ("2.1" of "2.1.0+cu118")."""
    return bool(re2.search(rf"(?:^|[^0-9.]){re2.escape(version)}(?:$|[^0-9]|\.[^0-9]|\.[0-9])", text))


def code_fault(code: Snippet, material: Material) -> str | None:
    """Why a piece of code may not be handed out; None when it may. It is shown as `plain_code` prints it."""
    text = code.text
    if code.language.lower() not in ("python", "py"):
        return "language"
    if not text.isascii() or len(text) > CODE_CHARS or text.count("\n") >= CODE_LINES:
        return "shape"
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "does not parse"
    if unsafe(ast.unparse(tree)):
        return "unsafe"
    # A name bound here stands for something that had to be allowed itself: `m = torch.nn.Linear(2, 2)`, then `m(x)`.
    own = bound_names(tree)
    return next((fault for node in ast.walk(tree) if (fault := _node_fault(node, material, own))), None)


def bound_names(tree: ast.AST) -> set[str]:
    """The functions, classes and variables that a piece of code defines."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return own | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def plain_code(text: str) -> str:
    """Code without comments, as Python itself would write it."""
    return ast.unparse(ast.parse(text))


def _node_fault(node: ast.AST, material: Material, own: Collection[str]) -> str | None:
    if not isinstance(node, _NODES):
        return "construct"
    # Code that does nothing, such as a lone word, is text in disguise.
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call):
        return "text in code"
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _import_fault(node)
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return _function_fault(node)
    if isinstance(node, ast.ExceptHandler):
        # A bare one, or one of everything, would hide the very error.
        narrow = node.type is not None and ast.unparse(node.type) not in ("Exception", "BaseException")
        return None if narrow else "construct"
    if isinstance(node, ast.ClassDef):
        return _class_fault(node)
    if isinstance(node, ast.Attribute | ast.Name):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        if (name.startswith("__") and name not in _ABOUT) or name in _no_call() - {"eval"}:
            return "name"
        if name == "eval" and isinstance(node, ast.Name):
            return "name"
    if isinstance(node, ast.Call):
        return None if ast.unparse(node.func) in own else _call_fault(node, material)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return _string_fault(str(node.value), material)
    if isinstance(node, ast.Assign | ast.AugAssign):
        return _target_fault(node)
    return None


def _function_fault(node: ast.FunctionDef | ast.Lambda) -> str | None:
    """A function has documented decorators alone, takes no known name for its own, and does something."""
    taken = {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)}
    decorators: list[ast.expr] = []
    if isinstance(node, ast.FunctionDef):
        taken.add(node.name)
        decorators = node.decorator_list
    known = words("code", "calls") | words("code", "modules") | _no_call()
    names = [ast.unparse(one.func if isinstance(one, ast.Call) else one) for one in decorators]
    fine = all("." in name and public_name(name, lambda word: False) for name in names)
    return "construct" if not fine or taken & known else None


def _class_fault(node: ast.ClassDef) -> str | None:
    """A class refines a documented one (a callback, a module), or none."""
    bases = [ast.unparse(base) for base in node.bases]
    fine = all(public_name(base, lambda _: True) or documented(base) for base in bases)
    taken = node.name in words("code", "calls") | words("code", "modules") | _no_call()
    return "construct" if node.decorator_list or node.keywords or taken or not fine else None


def _import_fault(node: ast.Import | ast.ImportFrom) -> str | None:
    named = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    known = words("code", "modules")
    taken = {alias.name for alias in node.names}
    fine = all(name.partition(".")[0] in known for name in named) and not taken & _no_call()
    return None if fine and not getattr(node, "level", 0) else "import"


def _call_fault(node: ast.Call, material: Material) -> str | None:
    name = ast.unparse(node.func)
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    if name in words("code", "calls") or (
        last in words("code", "methods") and root not in words("code", "closed")
    ):
        return None
    if not isinstance(node.func, ast.Attribute | ast.Name) or root in words("code", "closed"):
        return "call"
    # A method of a result or an item ("w.data(c).asscalar") is known by its own name: nothing says what it is of.
    if public_name(name if re2.fullmatch(r"[\w.]+", name) else last, lambda _: True):
        return None
    called = any(f"{name}(" in line for line in material.lines.values())
    ours = f"{material.ours} {' '.join(material.entries.values())}"
    known = called or documented(last) or re2.search(rf"\b{re2.escape(last)}\b", ours)
    return None if known and len(last) >= _TOLD else "call"


def _string_fault(text: str, material: Material) -> str | None:
    if text in settings() or re2.fullmatch(r"[A-Za-z0-9_ .:,=%-]{0,60}", text):
        shown = (*material.entries.values(), material.ours, *material.lines.values())
        short = len(text.split()) <= 4 and not re2.search(r"[A-Za-z]\.[A-Za-z]", text)
        return None if short or any(text in one for one in shown) else "string"
    return "string"


def _target_fault(node: ast.Assign | ast.AugAssign) -> str | None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if not isinstance(target, ast.Subscript) or ast.unparse(target.value) != "os.environ":
            continue
        if not isinstance(target.slice, ast.Constant) or target.slice.value not in settings():
            return "setting"
    return None
