"""From a report to a triage: one pure function of the report and what is known."""

from __future__ import annotations

import gc
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from embeddings.encoder import Encoder, OnnxEncoder
from knowledge.cases import load_cases
from knowledge.concluding import conclude_from
from knowledge.evidence import Reading, read_report
from knowledge.evidence.reading import conflicts_of
from knowledge.findings.failure import load_catalogue
from knowledge.findings.matcher import Match, Matcher, load_matcher
from knowledge.judging.axes import Judged
from knowledge.judging.features import Floats, featurise
from knowledge.judging.judge import SHIPPED, Judge, Judgement, check_encoder, load_judge, neighbour_votes
from knowledge.judging.retrieve import CaseStore, open_store
from knowledge.judging.scope import ScopeHead, load_scope, tells_distributed, without_foreign_prose
from knowledge.judging.settle import CERTAIN, Ruling, ruling_of, settle
from knowledge.report import Report, has_result
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import Taxonomy, load_taxonomy
from knowledge.triage import Neighbour, Scope, Triage

if TYPE_CHECKING:
    from knowledge.history.record import Post, Record

NEVER = 1.01
"""A threshold that no probability reaches."""
VOTERS = 30
"""Cases looked up for each report: the nearest few are shown, the first dozen vote."""


class Knowledge:
    """Everything a triage rests on, loaded once; shared by threads, never changed."""

    def __init__(
        self,
        encoder: Encoder,
        judge: Judge,
        store: CaseStore,
        table: SignatureTable,
        gate: ScopeHead | None = None,
        matcher: Matcher | None = None,
    ) -> None:
        """`gate`: tells reports of the field from others; `matcher`: finds known failures.

        Without them every report is judged and no failure is known.
        """
        self.encoder = encoder
        self.judge = judge
        self.store = store
        self.table = table
        self.gate = gate
        self.matcher = matcher

    @property
    def taxonomy(self) -> Taxonomy:
        """The closed sets of ids."""
        return self.judge.taxonomy


@dataclass(frozen=True, slots=True)
class JudgedReport:
    """A report read and judged, before the catalogue is looked at."""

    reading: Reading
    judgement: Mapping[Judged, Judgement]
    neighbours: tuple[Neighbour, ...]
    vectors: Floats
    """Of the two views (knowledge/judging/features.py): float32 (2 x dims)."""
    scope: Scope
    """Whether it can be judged at all; `conclude` claims nothing but the type where it cannot."""
    ruling: Ruling | None
    """What its own lines settled in the judgement."""

    @property
    def symptoms(self) -> dict[str, float]:
        """How probable each symptom is, by id."""
        return dict(self.judgement["symptom"].ranking)


@dataclass(frozen=True, slots=True)
class Examined(JudgedReport):
    """A judged report with the known failures that it may show, before anything is concluded."""

    matches: tuple[Match, ...]


def load_knowledge(
    model_dir: Path | None,
    cache_dir: Path,
    *,
    judge_file: Path = SHIPPED,
    encoder: Encoder | None = None,
    rebuild: bool = False,
    matching: bool = True,
) -> Knowledge:
    """Load model, judge and corpus; the first time converts the model and indexes the corpus into `cache_dir`.

    Without `matching` it has no matcher of known failures: that is how one is trained for a new encoder.

    Raises ModelError when the model or the judge's weights are missing or damaged, or the judge was
    trained with another model.
    """
    with ThreadPoolExecutor(1) as beside:
        # Opening the model is C++ without the interpreter's lock; the rest is Python.
        opening = beside.submit(lambda: encoder or OnnxEncoder(model_dir, cache_dir / "model"))
        taxonomy = load_taxonomy()
        table = SignatureTable()
        judge, about = load_judge(taxonomy, judge_file)
        load_cases()
        encoder = opening.result()
    check_encoder(about, encoder)
    store = open_store(load_cases(), cache_dir / "index", lambda: table, encoder, rebuild=rebuild)
    matcher = load_matcher(load_catalogue(), encoder.model_hash) if matching else None
    knowledge = Knowledge(encoder, judge, store, table, load_scope(), matcher)
    gc.freeze()  # all of it lives as long as the process: no need to look through it for garbage
    return knowledge


def triage(report: Report, knowledge: Knowledge, *, top: int = 5) -> Triage:
    """Triage one report: no network, no clock, no database; the same input gives the same value.

    `top` bounds the neighbours and the fixes shown.
    """
    bare = report
    if has_result(report.body):
        from knowledge.readback import taken_out  # few reports hold one

        bare, result = taken_out(report)
        if result is not None:
            return triage_with_result(bare, result, knowledge, top=top, content_hash=report.content_hash)
    found = conclude(examine(bare, knowledge), knowledge, top=top)
    return found.model_copy(update={"content_hash": report.content_hash})


def triage_with_result(
    report: Report, result: str, knowledge: Knowledge, *, top: int = 5, content_hash: str | None = None
) -> Triage:
    """Triage a report whose diagnostics were run; `result` holds the pasted block(s).

    Raises InputError when `result` holds no block, or a damaged one. A result of another report moves nothing.
    """
    from knowledge.readback import move

    examined = examine(report, knowledge)
    moved = move(examined.judgement, result, knowledge.taxonomy, examined.reading)
    triage = conclude(
        examined,
        knowledge,
        judgement=moved.judgement,
        top=top,
        answered=moved.answered,
        measured=moved.sentences,
    )
    return triage.model_copy(update={"content_hash": content_hash or triage.content_hash})


def examine(report: Report, knowledge: Knowledge) -> Examined:
    """Judge the report and match it with the catalogue; a failure that is surely known settles cause and fix."""
    found = judge_report(report, knowledge)
    matcher = knowledge.matcher
    told = matcher.matches(found.reading, found.vectors, found.symptoms) if matcher else ()
    told = _with_decided(told, found)
    matches = tuple(
        replace(m, sure=m.sure and not _is_echo(m, found.reading) and not _is_elsewhere(m, found))
        for m in told
    )
    judged = found.judgement
    scope = found.scope
    sure = next((match for match in matches if match.sure), None)
    if sure is not None:
        # A line that decides by itself may say more than the known failure does.
        if found.ruling is None or not found.ruling.claimed or sure.p > found.ruling.p:
            judged = settle(judged, _ruling(sure), knowledge.taxonomy)
        scope = "ours"  # a telltale line says more of the field than the words around it
    return Examined(found.reading, judged, found.neighbours, found.vectors, scope, found.ruling, matches)


def _with_decided(matches: Sequence[Match], found: JudgedReport) -> list[Match]:
    """The matches; the likeliest that tells by the very line that settles the cause is sure, whatever is around it."""
    ruling = found.ruling
    if ruling is None or not ruling.claimed:
        return list(matches)
    deciding = {number for number, hit in found.reading.hits if hit.signature.id == ruling.by}
    told = [m for m in matches if deciding & set(m.lines) and ruling.cause in m.failure.cause]
    best = max(told, key=lambda m: m.p, default=None)
    raised = [replace(m, p=max(m.p, CERTAIN), sure=True) if m is best else m for m in matches]
    return sorted(raised, key=lambda m: -m.p)


def _is_echo(match: Match, reading: Reading) -> bool:
    """Whether a match rests on lines that only follow from a root elsewhere in the log, which it does not explain."""
    told = set(match.lines)
    if 0 in told:
        return False  # the author names it in the title
    of_log = [d for d in reading.decisive if not d.in_title]
    roots = {d.number for d in of_log if d.role == "root"}
    followed = {d.number for d in of_log if d.role == "consequence"}
    # The message of an exception may begin on the line below it.
    said = {
        line + n for line in roots for n in (0, 1, 2) if reading.lines[line - 1].text.rstrip().endswith(":")
    }
    return bool(roots and told & followed) and not told & (roots | said)


def _is_elsewhere(match: Match, found: JudgedReport) -> bool:
    """Whether a match rests on what any program may print, in a post of another field."""
    if found.scope != "other_field":
        return False
    from knowledge.findings.unasked import of_another_field  # its patterns take 10 ms to compile

    return of_another_field(match.failure, found.reading)


def _ruling(match: Match) -> Ruling:
    entry = match.failure
    symptom = entry.symptom[0] if len(entry.symptom) == 1 else None
    return Ruling(entry.cause[0], entry.fix[0], match.p, entry.id, symptom)


def judge_report(report: Report, knowledge: Knowledge) -> JudgedReport:
    """Read the report, tell whether it can be judged, find its nearest cases and judge every axis."""
    reading = read_report(report, knowledge.table)
    heard = without_foreign_prose(reading)
    features = featurise([heard], knowledge.encoder)[0]
    # A case must not be found as its own neighbour when it is triaged again.
    own = [id for id in (report.id,) if id in knowledge.store.cases]
    hits = knowledge.store.index.search(heard, features, VOTERS, leave_out=own)
    cases = [(knowledge.store.cases[id], score) for id, score in hits]
    votes = neighbour_votes([(case.labels, score) for case, score in cases], knowledge.taxonomy)
    neighbours = tuple(
        Neighbour(
            id=case.id,
            url=case.url,
            title=case.title,
            score=round(score, 4),
            labels=case.labels,
            label_source=case.label_source,
            resolution=case.resolution,
        )
        for case, score in cases
    )
    ruling = ruling_of(reading)
    judged = settle(knowledge.judge.judge(features, votes), ruling, knowledge.taxonomy)
    unheard = heard is not reading and not tells_distributed(heard)
    if unheard or (judged["distributed"].answer == ["single_device"] and _of_several(reading)):
        judged["distributed"] = replace(judged["distributed"], threshold=NEVER)
    scope = knowledge.gate.scope(reading, heard, features) if knowledge.gate else "ours"
    return JudgedReport(reading, judged, neighbours, features.vectors, scope, ruling)


def _of_several(reading: Reading) -> bool:
    """Whether the job ran as several processes: then the words alone can't rule out that it takes several to fail."""
    return (reading.world_size or 1) > 1 or len(reading.ranks) > 1 or reading.launcher is not None


def conclude(
    examined: Examined,
    knowledge: Knowledge,
    *,
    judgement: Mapping[Judged, Judgement] | None = None,
    top: int = 5,
    answered: Collection[str] = (),
    measured: Sequence[str] = (),
) -> Triage:
    """Make the triage of an examined report; `judgement` replaces single axes (a second reader's, a result's),
    and the script leaves out the probes that were `answered`. `measured`: what they found, in sentences.

    What people set (`Report.set_by_people`) comes after all of that and is the last word.
    """
    triage = conclude_from(
        examined.reading,
        {**examined.judgement, **(judgement or {})},
        examined.neighbours,
        examined.matches,
        examined.scope,
        knowledge.taxonomy,
        top=top,
        answered=answered,
        measured=measured,
    )
    shown = [_with_shared(case, examined.reading, knowledge) for case in triage.neighbours]
    return triage.model_copy(update={"neighbours": shown})


def _with_shared(case: Neighbour, reading: Reading, knowledge: Knowledge) -> Neighbour:
    """The case with the error signatures that its text has in common with the report's root lines."""
    own = {hit.signature.id for _, hit in reading.hits if hit.signature.role == "root"}
    known = knowledge.store.cases.get(case.id)
    if not own or known is None:
        return case
    found = knowledge.table.match([known.title, *known.body.splitlines()])
    return case.model_copy(update={"shared": sorted(own & {hit.signature.id for hit in found})})


# From posts to their records, with the known failures that surely apply.


def fingerprints(posts: Sequence[Post], knowledge: Knowledge, *, with_failures: bool = True) -> list[Record]:
    """The record of each post, in order.

    The catalogue is asked only where the report shows an error and a line that tells of a known failure or a version
    conflict: that costs twice what the rest does, and without such a line nothing is sure.
    """
    from knowledge.history.record import records_of

    records = records_of(posts, knowledge.encoder, knowledge.table)
    return [
        _with_failures(record, post, knowledge) if with_failures else record
        for post, record in zip(posts, records, strict=True)
    ]


def _shows_error(record: Record) -> bool:
    return bool(record.lines or record.signatures or record.exception)


def _with_failures(record: Record, post: Post, knowledge: Knowledge) -> Record:
    from knowledge.history.record import to_markdown

    if not _shows_error(record):
        return replace(record, told=())
    name = f"{post.tracker}#{post.id}" if post.tracker and post.id.isdecimal() else post.id
    report = Report(name, post.title, to_markdown(post.body))
    reading = read_report(report, knowledge.table)
    conflict = any(one.explains_line for one in conflicts_of(reading))
    if not conflict and not (knowledge.matcher and knowledge.matcher.catalogue.telltale(reading)):
        return replace(record, told=())
    found = examine(report, knowledge)
    failures = tuple(match.failure.id for match in found.matches if match.sure)
    if not failures and not conflict:
        return replace(record, told=())
    said = conclude(found, knowledge)
    return replace(record, failures=failures, told=said.unasked, conflicts=said.unasked_conflicts)
