"""The catalogue checked entry by entry, and put into one file for the program and pages for people.

python -m knowledge.findings.compile    writes catalogue.json, docs/failures/ and the other files that a start reads
(`other_files`): signatures, the words of all patterns, probes and their script, advice, version facts
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import re2
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from knowledge.diagnostics.choose import COMPILED_TABLES, compiled_tables, tables_of
from knowledge.diagnostics.compose import COMPILED_PIECES, compiled_pieces, read_source
from knowledge.diagnostics.model import expected_of
from knowledge.diagnostics.probe import COMPILED_PROBES, compiled_probes, read_probes
from knowledge.errors import DataError
from knowledge.evidence.launch_found import launcher_ids
from knowledge.findings.failure import COMPILED, Failure
from knowledge.findings.fitting import platform_ids
from knowledge.findings.source import FOLDER, Example, entry_files, read_entry, read_examples
from knowledge.fixes.advice import COMPILED_TEXTS, compiled_texts, read_fix_texts
from knowledge.signatures import load_signatures
from knowledge.signatures.line_filter import COMPILED_WORDS, compiled_words
from knowledge.signatures.signature import COMPILED_SIGNATURES, DATA, compiled_signatures, read_signatures
from knowledge.taxonomy import load_taxonomy
from knowledge.versions.facts import COMPILED_FACTS, compiled_facts, read_facts
from knowledge.versions.facts import DATA as FACTS

# What must hold of every entry of the catalogue before it ships.

ANSWER_CHARS = (60, 480)
MIN_EXAMPLES, MIN_NEAR_MISSES = 3, 2
_EMPTY_PHRASES = (
    "all versions are compatible",
    "upgrade to the latest",
    "open an issue",
    "make sure that everything",
)
"""Advice that fits any report."""


def problems(entries: Mapping[str, Failure], examples: Mapping[str, Sequence[Example]]) -> list[str]:
    """What is wrong with the catalogue, one line a problem; empty = it may ship."""
    ids = frozenset(entries)
    titles: dict[str, str] = {}
    found = []
    for entry in entries.values():
        found += [f"{entry.id}: {text}" for text in _entry(entry, ids)]
        found += [f"{entry.id}: {text}" for text in _examples(entry, examples.get(entry.id, ()))]
        twin = titles.setdefault(entry.title.casefold(), entry.id)
        if twin != entry.id:
            found.append(f"{entry.id}: same title as {twin}")
    return found


def _entry(entry: Failure, ids: Collection[str]) -> Iterator[str]:
    taxonomy = load_taxonomy()
    for axis in ("symptom", "cause", "fix"):
        unknown = set(getattr(entry, axis)) - set(taxonomy.ids(axis))
        if unknown or not getattr(entry, axis):
            yield f"{axis}: {', '.join(unknown) or 'missing'}"
    if not ANSWER_CHARS[0] <= len(entry.answer) <= ANSWER_CHARS[1]:
        yield f"answer has {len(entry.answer)} characters, not {ANSWER_CHARS[0]} to {ANSWER_CHARS[1]}"
    if not any(source.startswith("https://") and source != "https://" for source in entry.sources):
        yield "no source with an address"
    unknown = set(entry.signatures) - {s.id for s in load_signatures()}
    if unknown:
        yield f"unknown signatures: {', '.join(sorted(unknown))}"
    unknown = set(entry.launchers) - launcher_ids() | set(entry.platforms) - platform_ids()
    if unknown:
        yield f"unknown launchers or platforms: {', '.join(sorted(unknown))}"
    unknown = set(entry.confused_with) - set(ids)
    if unknown:
        yield f"confused with unknown entries: {', '.join(sorted(unknown))}"
    for pattern in (*entry.patterns, *entry.unless):
        try:
            if re2.compile(pattern).search("") is not None:
                yield f"matches an empty line: {pattern}"
        except re2.error as error:
            yield f"not RE2: {pattern}: {error}"
    ranges = {f"versions.{component}": wanted for component, wanted in entry.versions.items()}
    for field, wanted in {**ranges, "world_size": entry.world_size}.items():
        try:
            SpecifierSet(wanted)
        except InvalidSpecifier:
            yield f"{field}: {wanted!r} is not a range"
    advice = " ".join([entry.answer, *entry.remedy]).casefold()
    yield from (f"says nothing specific: {phrase!r}" for phrase in _EMPTY_PHRASES if phrase in advice)


def _examples(entry: Failure, examples: Sequence[Example]) -> Iterator[str]:
    kinds = Counter[str](example.kind for example in examples)
    # Where no line is telling, an example can't show one.
    wanted = ("telltale", "plain", "noisy") if entry.patterns or entry.signatures else ("plain", "noisy")
    yield from (f"no {kind} example" for kind in wanted if not kinds[kind])
    near, own = kinds["near_miss"], kinds.total() - kinds["near_miss"]
    if own < MIN_EXAMPLES or near < MIN_NEAR_MISSES:
        yield f"{own} examples and {near} near misses; {MIN_EXAMPLES} and {MIN_NEAR_MISSES} needed"
    yield from (f"the example {e.title!r} is empty" for e in examples if not e.body.strip())
    signatures = [s.pattern for s in load_signatures() if s.id in entry.signatures]
    try:
        patterns = [re2.compile(pattern) for pattern in [*entry.patterns, *signatures]]
    except re2.error:
        return  # named above
    for example in examples:
        lines = f"{example.title}\n{example.body}".splitlines()
        hit = any(p.search(line) for p in patterns for line in lines)
        if patterns and example.kind == "telltale" and not hit:
            yield f"no pattern or signature matches the telltale example {example.title!r}"
        if example.kind == "plain" and hit:
            yield f"a pattern or signature matches the plain example {example.title!r}"


DOCS = Path(__file__).parents[2] / "docs" / "failures"
AREAS = {
    "pytorch-ddp": "PyTorch DDP",
    "pytorch-fsdp": "PyTorch FSDP and DTensor",
    "torchrun-elastic": "torchrun, elastic, rendezvous",
    "nccl": "NCCL",
    "cuda": "CUDA, driver, GPU",
    "network": "Networks",
    "deepspeed": "DeepSpeed",
    "accelerate": "Accelerate and Hugging Face Trainer",
    "lightning": "Lightning",
    "horovod-mpi": "Horovod and MPI",
    "megatron": "Megatron",
    "colossal-ai": "Colossal-AI",
    "builds": "Builds, wheels, extensions",
    "tensorflow-keras": "TensorFlow and Keras",
    "ray": "Ray",
    "cluster": "Slurm, Kubernetes, containers, hosts",
    "data-loading": "Data loading",
    "checkpoints": "Checkpoints",
    "memory": "Memory",
    "numerics": "Numerics",
    "mxnet-jax": "MXNet and JAX",
}
"""Folders of the catalogue and what people call them."""


def read_catalogue(folder: Path = FOLDER) -> tuple[dict[str, Failure], dict[str, tuple[Example, ...]]]:
    """All entries and examples by id. Raises DataError for a file that cannot be read or an id used twice."""
    entries: dict[str, Failure] = {}
    examples: dict[str, tuple[Example, ...]] = {}
    for path in entry_files(folder):
        entry = read_entry(path)
        if entry.id in entries:
            raise DataError(f"The ID {entry.id} is used twice.", "Rename one of the two files.")
        if entry.area not in AREAS:
            raise DataError(f"There is no area {entry.area!r}.", f"Use one of: {', '.join(AREAS)}.")
        entries[entry.id] = entry
        examples[entry.id] = read_examples(path)
    return entries, examples


def compiled(entries: Mapping[str, Failure]) -> str:
    """The text of catalogue.json: one entry a line."""
    lines = (json.dumps(entry.to_json(), ensure_ascii=False) for entry in entries.values())
    return "[\n" + ",\n".join(lines) + "\n]\n"


def index_page(entries: Mapping[str, Failure]) -> str:
    """docs/failures/README.md: every entry by area, with its answer."""
    parts = [
        "# Known failures",
        f"{len(entries)} failures that come up again and again, by area. Each links to what happens, why, how to "
        "check, how to fix. To add one: [CONTRIBUTING](../../knowledge/failures/README.md).",
    ]
    for area, name in AREAS.items():
        of_area = sorted((e for e in entries.values() if e.area == area), key=lambda e: e.title.casefold())
        if of_area:
            rows = [f"- [{e.title}](../../knowledge/failures/{e.area}/{e.id}.md)" for e in of_area]
            parts += [f"## {name}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def other_files(entries: Mapping[str, Failure]) -> dict[Path, str]:
    """The compiled files beside the catalogue's, and what each has to hold."""
    signatures = read_signatures(DATA)
    patterns = [one.pattern for one in signatures] + [p for e in entries.values() for p in e.patterns]
    return {
        COMPILED_SIGNATURES: compiled_signatures(signatures),
        COMPILED_WORDS: compiled_words(patterns),
        COMPILED_PIECES: compiled_pieces(read_source()),
        COMPILED_PROBES: compiled_probes(probes := read_probes()),
        COMPILED_TABLES: compiled_tables(tables_of(probes, expected_of(probes))),
        COMPILED_TEXTS: compiled_texts(read_fix_texts().values()),
        COMPILED_FACTS: compiled_facts(read_facts(FACTS)),
    }


def main() -> None:
    """Check everything, then write it."""
    entries, examples = read_catalogue()
    for path, text in other_files(entries).items():
        path.write_text(text, "utf-8")
    wrong = problems(entries, examples)
    if wrong:
        print("\n".join(wrong))
        raise SystemExit(2)
    COMPILED.write_text(compiled(entries), "utf-8")
    DOCS.mkdir(parents=True, exist_ok=True)
    (DOCS / "README.md").write_text(index_page(entries), "utf-8")
    print(f"{len(entries)} entries, {sum(map(len, examples.values()))} examples")


if __name__ == "__main__":
    main()
