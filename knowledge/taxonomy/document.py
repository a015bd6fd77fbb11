"""The taxonomy as a readable page: docs/taxonomy.md is this function's value.

`python -m knowledge.taxonomy.document` rewrites the page in the folder it is started in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from knowledge.taxonomy.model import Entry, OpenSlot, Taxonomy, load_taxonomy
from knowledge.taxonomy.reliability import PUBLISHED

PAGE = Path("docs/taxonomy.md")
_HEAD = """# Taxonomy

Made from the data in `knowledge/taxonomy/` by `python -m knowledge.taxonomy.document`; do not edit it.

Ids, names and counts follow study 1: Liu et al., TOSEM 2023, 637 faults of Horovod, TensorFlow, PyTorch and
Keras, of which 569 are specific to distributed training. The counts are made by our importer from the sheet
of its public replication package (`bot corpus import-labels final_categories.xlsx`). Definitions are ours;
leaf names that the study uses twice carry their stage here.

Where an entry comes from: **P** stated in the paper; **S** computed from its sheet; **Q** abstract or page
text of a paper; **2nd** second-hand, unverified; **ours** decided in this project.
"""


def taxonomy_markdown() -> str:
    """The page as Markdown, ending in a line break."""
    taxonomy = load_taxonomy()
    parts = [
        _HEAD,
        _section("Types", "", _table(["id", "name", "what it is", "from"], map(_plain, taxonomy.types))),
        _section("Stages", "", _stages(taxonomy)),
        _section("Symptoms", _SYMPTOMS, _symptoms(taxonomy)),
        _section("Fix patterns", "", _fixes(taxonomy)),
        _section("Fix patterns per stage", _PER_STAGE, _fixes_per_stage(taxonomy)),
        _section("Fix patterns per symptom", _PER_SYMPTOM, _fixes_per_symptom(taxonomy)),
        _section("Causes", _CAUSES, _causes(taxonomy)),
        _section("Topics of how-to questions", "", _topics(taxonomy)),
        _section("How far people agree", _agreement(), ""),
        *(_slot(slot) for slot in taxonomy.open_slots),
    ]
    return "\n".join(parts)


_SYMPTOMS = (
    "30 leaves, and D.other, which stands for D.1.other and D.2.other together in labels that are not human. "
    "The name in the annotation guide stands in brackets."
)
_PER_STAGE = "Distributed-specific faults: those whose only pattern it is / those that have it among theirs."
_PER_SYMPTOM = "Distributed-specific faults that have the pattern among theirs, most frequent first."
_CAUSES = "The study's sheet has no cause; a cause is told from what the fix had to change (crosswalk, ours)."


def _agreement() -> str:
    figures = ", ".join(f"{axis} {share:.2f}" for axis, share in PUBLISHED.items())
    return (
        f"Two annotators of study 1, before reconciling, over 278 faults: {figures} (share of equal labels). "
        "Our importer finds the same figures over 280 posts; which two the paper leaves out cannot be told "
        "from the sheets."
    )


def _section(title: str, intro: str, body: str) -> str:
    return "\n".join([f"## {title}", "", *([intro, ""] if intro else []), *([body, ""] if body else [])])


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _plain(entry: Entry) -> list[object]:
    return [entry.id, entry.name, entry.definition, entry.provenance]


def _stages(taxonomy: Taxonomy) -> str:
    rows = [
        [s.id, s.name, s.count, s.distributed, s.definition, s.provenance]
        for s in (*taxonomy.stages, *taxonomy.inner_stages)
    ]
    return _table(["id", "name", "faults", "distributed", "what it is", "from"], rows)


def _symptoms(taxonomy: Taxonomy) -> str:
    rows = [
        [
            s.id,
            f"{s.name} ({s.guide_name})" if s.guide_name else s.name,
            s.count,
            s.distributed,
            s.definition,
            s.provenance,
        ]
        for s in taxonomy.symptoms
    ]
    return _table(["id", "name", "faults", "distributed", "what it is", "from"], rows)


def _fixes(taxonomy: Taxonomy) -> str:
    rows = [[f.id, f.name, f.count, f.distributed, f.definition, f.cause] for f in taxonomy.fixes]
    return _table(["id", "name", "faults", "distributed", "what it is", "tells of the cause"], rows)


def _fixes_per_stage(taxonomy: Taxonomy) -> str:
    stages = (*taxonomy.ids("stage"), "all")
    rows = [
        [fix, *(f"{_single(taxonomy, s, fix)} / {taxonomy.fix_counts(s).get(fix, 0)}" for s in stages)]
        for fix in taxonomy.ids("fix")
    ]
    return _table(["fix", *stages], rows)


def _single(taxonomy: Taxonomy, stage: str, fix: str) -> int:
    return taxonomy.single_fixes_by_stage[stage].get(fix, 0)


def _fixes_per_symptom(taxonomy: Taxonomy) -> str:
    rows = [
        [s.id, s.name, s.distributed, ", ".join(f"{f} {n}" for f, n in taxonomy.fix_counts(s.id).items())]
        for s in taxonomy.symptoms
    ]
    return _table(["id", "name", "faults", "fix patterns"], rows)


def _causes(taxonomy: Taxonomy) -> str:
    rows = [[c.id, c.name, c.definition, ", ".join(c.fixes)] for c in taxonomy.causes]
    return _table(["id", "name", "what it is", "told by the fixes"], rows)


def _topics(taxonomy: Taxonomy) -> str:
    rows = [
        [t.id, t.count, ", ".join(f"{name} {n}" for name, n in t.subtopics), t.definition]
        for t in taxonomy.topics
    ]
    return _table(["id", "how-tos", "sub-topics", "what it is"], rows)


def _slot(slot: OpenSlot) -> str:
    facts = "\n".join(f"- **{fact.provenance}** {fact.text}" for fact in slot.facts)
    return _section(f"Open slot: {slot.id}", f"{slot.source}. {slot.note}", facts)


if __name__ == "__main__":
    PAGE.write_text(taxonomy_markdown(), "utf-8")
