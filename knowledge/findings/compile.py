"""The catalogue in one file for the program, and as pages for people; signatures and probes in such files, too.

python -m knowledge.findings.compile          writes catalogue.json, docs/failures/, signatures.json and pieces.json
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from knowledge.diagnostics import assemble
from knowledge.errors import DataError
from knowledge.findings.check import problems
from knowledge.findings.failure import COMPILED, Failure
from knowledge.findings.source import FOLDER, Example, entry_files, read_entry, read_examples
from knowledge.signatures import load as signature_files

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
            raise DataError(f"{entry.id} occurs twice.", "Rename one of the two files.")
        if entry.area not in AREAS:
            raise DataError(f"{entry.area} is not an area.", f"Use one of: {', '.join(AREAS)}.")
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


def other_files() -> dict[Path, str]:
    """The compiled files beside the catalogue's, and what each has to hold."""
    signatures = signature_files.read_signatures(signature_files.DATA)
    return {
        signature_files.COMPILED: signature_files.compiled_signatures(signatures),
        assemble.COMPILED: assemble.compiled_pieces(assemble.read_source()),
    }


def main() -> None:
    """Check everything, then write it."""
    for path, text in other_files().items():
        path.write_text(text, "utf-8")
    entries, examples = read_catalogue()
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
