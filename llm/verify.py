"""What the program checks of a draft, whatever any model says: a fact from nowhere voids its sentence.

Pure. A sentence is left only when everything it cites was shown, every number, version, name, option, path and
address in it occurs in what was shown, and it neither acts, promises, blames nor speaks for the project.
"""

from __future__ import annotations

import ast
import builtins
import ipaddress
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import re2

from knowledge.redaction import redact
from knowledge.text.quote import has_unseen
from llm.api_names import public_name, public_option, public_variable
from llm.draft import CORE, Draft, Material, Sentence, Snippet, refused, unsafe, words
from llm.snippets import (
    bound_names,
    code_fault,
    command_fault,
    documented,
    known_package,
    plain_code,
    version_in,
)

WORDS = 150
SENTENCES = 10
SENTENCE_CHARS = 420
QUESTIONS = 2
SNIPPETS = 2
LEAST_CONFIDENCE = 0.5
_PART = 8
"""Letters from which on a name is known as a part of a longer word, such as a function in a mangled symbol."""
_COPIED = 12
_SHORT = 20
"""Characters of a string in quoted code; more could be a sentence."""
"""Words in a row that a sentence may have in common with one line of the report."""

_PUNCTUATION = frozenset("–—‘’“”…→×≥≤µ≈−•\u00a0")
_COMPARE = re2.compile(r"[<>]=?|->|=>")
_MARKUP = re2.compile(r"!\[|\]\(|\]\[|&[a-z]+;|&#|\$\$|\\\\|@\S|(?:^|\s)#{1,6}\s|\|.*\|")
_DECORATOR = re2.compile(r"`@[A-Za-z_]\w*(?:\.\w+)+(?:\([\w=., ]*\))?`")
"""In code a name with a dot is nobody's account."""
_INCLUDE = re2.compile(r"`#include <[a-z_]{2,30}(?:\.h)?>`|`<(?:std|c)[a-z_]{2,20}(?:\.h)?>`")
"""A header of C or C++ is no tag."""
_SOURCE_FILE = re2.compile(r"(?i)^[\w-]+\.cc$")
_LEANS = re2.compile(
    r"(?:Both|Also|Then|This|That|These|Those|They|Their|It|Its|So|Otherwise|Instead|Either|Neither|Hence|Therefore)\b"
    r"|If (?:it|its|they|that|this|so|not|none|one|neither|both|only|there(?:'s| is| are) (?:none|one|only)"
    r"|the (?:first|second|third|last|former|latter|two|results?|output|answer|list|box|command|check|run|test))\b"
)
"""How a sentence begins that says nothing without the one before it."""
_POINTS = re2.compile(
    r"(?i)\bbelow\b|\b(?:this|the|that|following) (?:command|snippet|script|code|Python)\b|\bas follows\b"
)
"""How a sentence points at a command or a piece of code that stands apart from it."""
_REFERENCE = re2.compile(r"#\s*[0-9]|\bGH-[0-9]")
_ADDRESS = re2.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,12}:/+\S*|\bwww\.\S+|\b(?:mailto|javascript|data):\S*")
_DOMAIN = re2.compile(
    r"(?i)\b(?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|io|dev|ai|example|xyz|ru|cn|co|me|app|info|biz|ly|gg|cc|tk|top|site|online|cloud|page|"
    r"link|eu|de|uk|fr|jp|in|us|tv|live|pro|tech|store|shop|edu|gov|download|zip|mov|test|invalid|localhost|onion)\b(?:[:/]\S*)?"
)
_IP = re2.compile(r"\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b")

_DOWNLOAD = re2.compile(r"(?i)\b(?:download|fetch|grab|obtain)\w*\b")
_VERB = (
    r"(?:re)?install(?:ing|s|ed)?|pip3?|conda|mamba|(?:upgrad|downgrad|switch|mov|migrat)(?:e|ing|ed|s|es)? to|"
    r"replac\w+ (?:it|\S+) (?:with|by)|import(?:ing)?|package|wheel|plugin|(?:patch|library|tool) called|called|named"
)
_TAKES = re2.compile(
    rf"(?i)\b(?:{_VERB})\s+(?:install\s+)?(?:the\s+|an?\s+)?[`'\"]?([A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9])"
)
_STRICT_TAKES = re2.compile(
    r"(?i)^(?:(?:re)?install|pip|conda|mamba|package|wheel|plugin|called|named|patch|library|tool)"
)
_FIELD = "torch|nccl|cuda|cudnn|deepspeed|tensorflow|horovod|pytorch|nvidia|megatron"
_STEM = re2.compile(
    rf"(?i)^(?:{_FIELD}|pytorch|tf|ray|jax|apex|flash|mpi|openmpi|numpy)[-_.]?[a-z0-9]+|[a-z0-9]+[-_](?:{_FIELD})$"
)

_QUOTE = re2.compile(r"`([^`]*)`")
_NUMBER = re2.compile(r"[0-9]+(?:[.,][0-9]+)*")
_OPTION = re2.compile(r"(?:^|[\s`('\"=])(--?[A-Za-z][A-Za-z0-9_-]+)")
_VARIABLE = re2.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_IDENTIFIER = re2.compile(
    r"\b[A-Za-z_][A-Za-z0-9]*(?:(?:_+|\.|::)[A-Za-z0-9]+)+_*\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+\b|\b[A-Z]{2,}[a-z]+[A-Za-z]*\b"
)
_CAPITALS = re2.compile(r"\b[A-Z][A-Z0-9]{5,}\b")
_ERROR = re2.compile(r"\b[A-Za-z_][A-Za-z0-9_.]*(?:Error|Exception|Warning|Interrupt|Failure|Fault)\b")
_BUILT_IN = frozenset(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
)
_INTRINSIC = re2.compile(r"_mm(?:256|512)?_[a-z0-9_]{2,30}")
_PATH = re2.compile(
    r"(?:^|[\s`('\"=])((?:\.{0,2}|~)/[A-Za-z0-9_.+-][^\s`)'\",;]*|[A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)+/?)"
)
_SPACES = re2.compile(r"\s+")
_WORD = re2.compile(r"[A-Za-z0-9]+")
_INSIDE = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8")))
_NO_ADDRESS = ipaddress.ip_network("0.0.0.0/8")
"""No machine has one of these: "0.5.3.2" is a version."""
_MANNERS = ("voice", "blame", "instruction")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "vs", "etc"})


@dataclass(frozen=True, slots=True)
class Voided:
    """A part of a draft that the program took out, and the rule it broke. `part`: "sentence 3", "command 1"."""

    part: str
    fault: str

    @property
    def rule(self) -> str:
        """The rule in a word."""
        return self.fault.partition(": ")[0]

    @property
    def what(self) -> str:
        """What broke it, such as a name that nobody showed; "" where the whole part did."""
        return self.fault.partition(": ")[2]


@dataclass(frozen=True, slots=True)
class Held:
    """What is left of a draft; `draft` is None when its core is gone."""

    draft: Draft | None
    voided: tuple[Voided, ...]


class Known:
    """The material as the rules look things up in it."""

    def __init__(self, material: Material, defined: Collection[str] = ()) -> None:
        """`defined`: what code that is shown beside the sentences defines."""
        self.material = material
        self.defined = frozenset(defined)
        self.report = "\n".join(material.lines.values())
        self.ours = "\n".join(
            (*material.entries.values(), *material.cases.values(), material.ours, *material.versions.values())
        )
        self.all = f"{self.report}\n{self.ours}"

    @cached_property
    def lower(self) -> str:
        """Everything shown, in lower case with single blanks."""
        return str(_SPACES.sub(" ", self.all)).lower()

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Numbers as they stand in what was shown, and whole ones that a change of unit or rounding makes of them."""
        found = {str(m.group(0)).strip(".,") for m in _NUMBER.finditer(self.all)}
        out = set(found)
        for text in found:
            plain = text.replace(",", "")
            out.add(plain)
            # A number may be one of several in a file's name: "events.1568880714.host.3156.0".
            out |= {part for part in plain.split(".") if len(part) >= 3}
            if plain.count(".") > 1 or len(plain) > 15:
                continue
            value = float(plain)
            out |= {str(int(value)), str(round(value))}
            for unit in (1_000, 60, 60_000, 3_600, 1_024, 1_024**2, 1_024**3, 1e6, 1e9):
                if value >= unit and abs(value / unit - round(value / unit)) < 0.05:
                    out.add(str(round(value / unit)))
        return frozenset(out)

    @cached_property
    def lines(self) -> list[str]:
        """The report's lines as runs of words."""
        return [f" {' '.join(_WORD.findall(line.lower()))} " for line in self.material.lines.values()]

    def has(self, name: str) -> bool:
        """Whether a name occurs in what was shown, as a whole word or between the underscores of a longer one."""
        return bool(re2.search(rf"(?i)(?:^|[^A-Za-z0-9]){re2.escape(name)}(?:$|[^A-Za-z0-9])", self.all))

    def has_part(self, name: str) -> bool:
        """Whether a name occurs within a longer word of what was shown, and begins and ends where a word may."""
        before = "[^A-Z]" if name[0].isupper() else "[^A-Za-z]"
        return name in self.all and bool(
            re2.search(rf"(?:^|{before}){re2.escape(name)}(?:$|[^a-z])", self.all)
        )


def held(draft: Draft, material: Material) -> Held:
    """What may be said of a draft. Sentences keep their order; too long a draft is cut at its end."""
    voided = list[Voided]()
    code = _snippets("code", draft.code, Known(material), voided)
    known = Known(material, {name for one in code for name in _defined(one.text)})
    sentences: list[Sentence] = []
    kept: list[int] = []
    count = questions = 0
    gone = False
    for n, sentence in enumerate(draft.sentences[: 2 * SENTENCES], 1):
        rule = sentence_fault(sentence, known)
        count += len(sentence.text.split())
        questions += sentence.role == "question"
        if rule is None and sentence.role == "question" and questions > QUESTIONS:
            rule = "questions"
        if rule is None and gone and _leans(sentence):
            rule = "leans"
        gone = rule is not None
        if rule is None and (count > WORDS or len(sentences) == SENTENCES):
            rule = "length"
        if rule is None:
            sentences.append(sentence)
            kept.append(n)
        else:
            voided.append(Voided(f"sentence {n}", rule))
    said = " ".join(sentence.text for sentence in sentences)
    commands = tuple(
        c for c in _snippets("command", draft.commands, known, voided) if f"`{c.text}`" not in said
    )
    placed = Draft(tuple(sentences), _placed(commands, kept), _placed(code, kept))
    left = _pointing_somewhere(placed, draft)
    return Held(left if has_core(left) else None, tuple(voided))


def _placed(snippets: Iterable[Snippet], kept: Sequence[int]) -> tuple[Snippet, ...]:
    """The snippets behind what is left of the sentences before them; `kept`: the numbers of these."""
    return tuple(replace(one, after=sum(n <= one.after for n in kept)) for one in snippets)


def _pointing_somewhere(left: Draft, draft: Draft) -> Draft:
    """What is left, without the sentences that point at commands and code of which nothing is left.

    One with a colon at its end is about the command or code that stands right behind it.
    """
    snippets = (*left.commands, *left.code)
    bare = not snippets and bool(draft.commands or draft.code)
    behind = {one.after or len(left.sentences) for one in snippets}
    kept: list[int] = []
    gone = False
    for n, sentence in enumerate(left.sentences, 1):
        introduces = sentence.text.rstrip().endswith(":") and n not in behind
        gone = introduces or (bare and bool(_POINTS.search(sentence.text))) or (gone and _leans(sentence))
        if not gone:
            kept.append(n)
    return Draft(
        tuple(left.sentences[n - 1] for n in kept), _placed(left.commands, kept), _placed(left.code, kept)
    )


def _leans(sentence: Sentence) -> bool:
    return bool(_LEANS.match(sentence.text))


def has_core(draft: Draft) -> bool:
    """Whether a draft still says what is wrong, resting on something shown, and what to check or do."""
    problem, remedy = CORE
    grounded = any(s.role in problem and (s.lines or s.entries or s.cases) for s in draft.sentences)
    return grounded and any(s.role in remedy for s in draft.sentences)


def sentence_fault(sentence: Sentence, known: Known) -> str | None:
    """The first rule that a sentence breaks, and after a colon what breaks it; None when it may be said."""
    material = known.material
    if sentence.unknown or not (sentence.lines or sentence.entries or sentence.cases or sentence.reasoning):
        return "support"
    cited_outside = (
        set(sentence.lines) - set(material.lines)
        or set(sentence.entries) - set(material.entries)
        or set(sentence.cases) - set(material.cases)
    )
    if cited_outside:
        return "support"
    if sentence.confidence < LEAST_CONFIDENCE:
        return "confidence"
    return text_fault(sentence.text, known, acts=sentence.role in ("fix", "check", "question"))


def text_fault(text: str, known: Known, *, acts: bool) -> str | None:
    """The first rule that a text breaks. `acts`: it tells people to do something."""
    return (
        _form(text)
        or _manner(text)
        or _actions(text, known, acts=acts)
        or _addresses(text, known)
        or _copied(text, known)
        or _facts(text, known)
    )


def _form(text: str) -> str | None:
    if not text.strip() or len(text) > SENTENCE_CHARS or "\n" in text:
        return "length"
    if has_unseen(text) or not all(c.isascii() or c in _PUNCTUATION for c in text):
        return "characters"
    text = _INCLUDE.sub("`header`", text)
    if (
        text.count("`") % 2
        or "``" in text
        or _MARKUP.search(_DECORATOR.sub("", text))
        or _REFERENCE.search(text)
    ):
        return "markup"
    # Comparisons are prose; anything else in angle brackets is a tag or a placeholder.
    if any(c in "<>" for c in _COMPARE.sub("", re2.sub(r"<[A-Za-z ]{2,20}>", "", text))) or re2.search(
        r"<[a-z/!]+[ >/]", re2.sub(r"<(?:pid|PID)>", "", text)
    ):
        return "markup"
    return "secret" if redact(text).counts else None


def _manner(text: str) -> str | None:
    return next((rule for rule in _MANNERS if refused(rule).search(text)), None)


def _actions(text: str, known: Known, *, acts: bool) -> str | None:
    if refused("command").search(text) or unsafe(text):
        return "command"
    if refused("weakens").search(text):
        return "weakens"
    if acts and _DOWNLOAD.search(text) and not refused("downloaded").search(text):
        return "download"
    for quote in _QUOTE.findall(text):
        if _is_command(quote):
            language = Snippet("sh", quote, "")
            if command_fault(language, known.material) not in (None, "no package"):
                return f"command: {quote}"
    for match in _TAKES.finditer(text):
        name = match.group(1).strip(".-_")
        if text[match.end() : match.end() + 1] == "(":
            continue  # a call, which has its own rule
        strict = bool(_STRICT_TAKES.match(match.group(0)))
        if not strict and re2.match(r"=[^=]", text[match.end() :]):
            continue  # an argument: "replace `precision=16` with `use_amp=True`"
        if not _may_be_taken(name, known, strict=strict):
            return f"package: {name}"
    return next(
        (f"package: {name}" for name in _compounds(text) if not _may_be_taken(name, known, strict=False)),
        None,
    )


def _is_command(quote: str) -> bool:
    head = quote.split()[:1]
    return bool(head) and (
        head[0]
        in (
            "pip",
            "pip3",
            "conda",
            "mamba",
            "python",
            "python3",
            "export",
            "docker",
            "git",
            "source",
            "make",
            "ssh",
        )
        and len(quote.split()) > 1
    )


def _may_be_taken(name: str, known: Known, *, strict: bool) -> bool:
    """Whether a name after "install" and the like is a package or a word, and not something only the report names."""
    if (
        known_package(name)
        or name.lower() in words("names", "installable")
        or known.material.versions.get(name.lower())
    ):
        return True
    if name in words("names", "products") or name.isupper() or documented(name):
        return True
    return not strict and not _STEM.match(name) and not any(c in name for c in "_.")


def _compounds(text: str) -> list[str]:
    """Names that are made to look like a package of the field ("torch-nccl-fix"), other than plain compounds."""
    compounds: list[str] = re2.findall(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+", text)
    plain = words("names", "suffixes")
    return [word for word in compounds if _STEM.match(word) and word.rpartition("-")[2].lower() not in plain]


def _addresses(text: str, known: Known) -> str | None:
    for pattern in (_ADDRESS, _DOMAIN):
        for match in pattern.finditer(text):
            place = str(match.group(0)).rstrip(".,;:)'\"")
            source = _SOURCE_FILE.match(place) and f"`{place}`" in text and known.has(place)
            # `log.info` and `trainer.test()` end like hosts do.
            if not (source or (f"`{place}" in text and public_name(place, lambda word: False))):
                return "link"
    for match in _IP.finditer(text):
        try:
            address = ipaddress.ip_address(str(match.group(0)))
        except ValueError:
            continue  # four numbers of a version, checked as such
        if address in _NO_ADDRESS or str(address) in known.material.versions.values():
            continue
        if not any(address in net for net in _INSIDE) or not known.has(str(match.group(0))):
            return "link"
    return None


def _copied(text: str, known: Known) -> str | None:
    """Whether the sentence is a line of the report said again: the model was told what to say."""
    said = _WORD.findall(_QUOTE.sub(_without_code, text).lower())
    if len(said) < 6:
        return None
    run = min(_COPIED, max(6, len(said) // 2 + 1))
    for start in range(len(said) - run + 1):
        piece = f" {' '.join(said[start : start + run])} "
        if any(piece in line for line in known.lines):
            return "copied"
    return None


def _without_code(quote: Any) -> str:
    """Nothing for a quote that is a Python call or assignment, such as a changed line; else the quote."""
    try:
        tree = ast.parse(quote.group(1))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return str(quote.group(0))
    long = any(
        isinstance(n, ast.Constant) and isinstance(n.value, str) and len(n.value) > _SHORT
        for n in ast.walk(tree)
    )
    code = any(isinstance(n, ast.Call | ast.Assign) for n in ast.walk(tree))
    return "" if code and not long else str(quote.group(0))


def _facts(text: str, known: Known) -> str | None:
    """Numbers, versions, options, paths and names, each of which must occur in what was shown."""
    rest = text
    for match in _PATH.finditer(text):
        path = str(match.group(1)).rstrip(".:")
        if not _path_known(path, known):
            return f"path: {path}"
        rest = rest.replace(path, " ")
    for match in _OPTION.finditer(rest):
        option = str(match.group(1))
        if rest[match.end() : match.end() + 1] == ".":
            continue  # minus something: "-torch.eye(2)"
        if not (option.lower() in known.lower or documented(option) or public_option(option)):
            return f"option: {option}"
    for match in _VARIABLE.finditer(rest):
        name = str(match.group(0))
        if not (
            known.has(name)
            or name in words("settings", "names")
            or name in words("names", "capitals")
            or documented(name)
            or public_variable(name)
            or public_name(name, known.has)
        ):
            return f"variable: {name}"
    for match in _ERROR.finditer(rest):
        last = str(match.group(0)).rpartition(".")[2]
        if not (known.has(last) or last in _BUILT_IN or match.group(0) == match.group(0).lower()):
            return f"error name: {match.group(0)}"
    rule = _names(rest, known) or _numbers(rest, known)
    if rule is None and refused("fixed_in").search(text):
        # Where a fault is said to be fixed must come from us, not from what the report says.
        versions = [v for v in _NUMBER.findall(rest) if "." in v]
        rule = next((f"version: {v}" for v in versions if not version_in(v, known.ours)), None)
    return rule


def _path_known(path: str, known: Known) -> bool:
    if path in words("names", "paths") or path.rstrip("/").lower() in known.lower:
        return True
    if path.startswith(("/", "~", ".")):
        return documented(path)
    parts = [part for part in path.split("/") if part]
    return (
        all(part.isalpha() and (known.has(part) or documented(part.lower())) for part in parts)
        or path in known.material.cases
    )


def _names(text: str, known: Known) -> str | None:
    for match in _IDENTIFIER.finditer(text):
        name = str(match.group(0))
        if (
            name.rstrip(".") in _ABBREVIATIONS
            or name in words("names", "products")
            or _NUMBER.fullmatch(name)
        ):
            continue
        last = name.replace("::", ".").rpartition(".")[2]
        if known.has(name) or documented(name) or name in words("code", "calls") or known_package(name):
            continue
        if last in _BUILT_IN or _INTRINSIC.fullmatch(name) or name in known.defined:
            continue
        # An attribute that was shown, of an object that was shown.
        if "." in name and all(known.has(part) for part in name.split(".")):
            continue
        if len(last) >= 6 and (known.has(last) or documented(last)):
            continue
        if public_name(name, known.has) or (len(last) >= _PART and known.has_part(last)):
            continue
        singular = name.removesuffix("s")
        if singular != name and (
            known.has(singular) or singular in words("names", "products") or public_name(singular, known.has)
        ):
            continue
        return f"name: {name}"
    for match in _CAPITALS.finditer(text):
        name = str(match.group(0))
        if not (
            name in words("names", "capitals")
            or name in words("names", "products")
            or known.has(name)
            or documented(name)
            or public_variable(name)
        ):
            return f"name: {name}"
    return None


def _numbers(text: str, known: Known) -> str | None:
    for match in _NUMBER.finditer(text):
        number = str(match.group(0)).strip(".,")
        plain = number.replace(",", "")
        before = text[match.start() - 1 : match.start()]
        whole = plain.removesuffix(".0")
        if {plain, number, whole} & known.numbers or (whole.isdigit() and int(whole) <= 4):
            continue
        if number.count(".") and version_in(number, known.all):
            continue
        # "H100", "fp16", "int8", "Conv2d": part of a word, which has its own rule or is a word of the field.
        word = _word_at(text, match.start())
        if before.isalpha() and (
            known.has(word)
            or word in words("names", "products")
            or documented(word)
            or _INTRINSIC.fullmatch(word)
        ):
            continue
        if plain.isdigit() and int(plain) in known.material.lines and "line" in text[: match.start()].lower():
            continue
        return f"number: {number}"
    return None


def _word_at(text: str, place: int) -> str:
    start = place
    while start and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        start -= 1
    found = re2.match(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9]+)*", text[start:])
    return str(found.group(0)) if found else ""


def _snippets(
    name: str, snippets: Iterable[Snippet], known: Known, voided: list[Voided]
) -> tuple[Snippet, ...]:
    left: list[Snippet] = []
    for n, one in enumerate(snippets, 1):
        fault = command_fault(one, known.material) if name == "command" else code_fault(one, known.material)
        if fault is None:
            beside = _defined(one.text) if name == "code" else ()
            fault = text_fault(one.purpose, Known(known.material, {*known.defined, *beside}), acts=True)
        if fault is None and len(left) == SNIPPETS:
            fault = "length"
        if fault is None:
            text = one.text.strip() if name == "command" else plain_code(one.text)
            language = "sh" if name == "command" else "python"
            left.append(Snippet(language, text, one.purpose.strip(), one.after))
        else:
            voided.append(Voided(f"{name} {n}", fault))
    return tuple(left)


def _defined(code: str) -> set[str]:
    return bound_names(ast.parse(code))


def without(draft: Draft, refuted: Collection[int]) -> Draft | None:
    """The draft without the parts numbered as in `numbered_parts`; None when the core is gone."""
    out = set(refuted)
    for n, sentence in enumerate(draft.sentences, 1):
        if n - 1 in out and _leans(sentence):
            out.add(n)
    commands = len(draft.sentences) + 1
    code = commands + len(draft.commands)
    kept = [n for n in range(1, commands) if n not in out]
    left = Draft(
        tuple(draft.sentences[n - 1] for n in kept),
        _placed((one for n, one in enumerate(draft.commands, commands) if n not in out), kept),
        _placed((one for n, one in enumerate(draft.code, code) if n not in out), kept),
    )
    left = _pointing_somewhere(left, draft)
    return left if has_core(left) else None


def numbered_parts(draft: Draft) -> list[str]:
    """Sentences, commands and code, as the verifier is shown them."""
    told = [f"({s.role}) {s.text}" for s in draft.sentences]
    told += [f"(command) {c.text} -- {c.purpose}" for c in draft.commands]
    told += [f"(code) {c.text} -- {c.purpose}" for c in draft.code]
    return [f"{n}. {text}" for n, text in enumerate(told, 1)]
