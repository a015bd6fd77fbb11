"""The third duty: from everything that is known of a report to a draft of the reply, and its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import re2

from knowledge.evidence import Reading
from knowledge.triage import (
    RESOLUTION_CHARS,
    AnswerSentence,
    AnswerSnippet,
    Finding,
    Neighbour,
    Triage,
    WrittenAnswer,
)
from llm.draft import REASONING, Draft, Material, Sentence, Snippet, allowed
from llm.faults import WrongSchema
from llm.prompts import NO_TOKEN, NOTE_TOKENS, Fence, ShownLines, again, choose_lines, make_request, refusal
from llm.replies import (
    DraftedSentence,
    DraftedSnippet,
    VerifierReply,
    WriterReply,
    check,
    verifier_schema,
    writer_schema,
)
from llm.values import ChatRequest
from llm.verify import Voided, numbered_parts

QUESTION_TOKENS = 9_000
"""Of the writer's whole question, estimated; the report gets what the rest leaves."""
CASES = 4
_ITEMS = 4
_TEXT_CHARS = 420
_CITED_LINE = re2.compile(r"(?i)\s*(?:lines? *)?([0-9]{1,7})\s*")


@dataclass(frozen=True)
class WriterQuestion:
    """What the writer is shown."""

    triage: Triage
    shown: ShownLines
    subject: str = ""
    """The redacted report's content hash."""

    @cached_property
    def entries(self) -> Mapping[str, str]:
        """Known failures by id, as shown."""
        return {found.id: entry_text(found, _status(found)) for found in self.triage.findings}

    @cached_property
    def cases(self) -> Mapping[str, str]:
        """Cases that say how they ended, as shown."""
        own = self.triage.id.casefold()
        ended = [n for n in self.triage.neighbours if n.resolution and n.id.casefold() != own]
        return {case.id: _case(case) for case in ended[:CASES]}

    @cached_property
    def facts(self) -> str:
        """What was read out of the report, in our words."""
        return facts_text(self.triage)

    @cached_property
    def material(self) -> Material:
        """The closed world that the reply is held against."""
        return Material(
            self.shown.lines,
            self.entries,
            self.cases,
            self.facts,
            self.triage.evidence.versions,
        )


def writer_question(triage: Triage, reading: Reading) -> WriterQuestion:
    """The question with as much of the report as its budget allows."""
    rest = writer_request(WriterQuestion(triage, ShownLines({})), NO_TOKEN).estimated
    shown = choose_lines(reading, max(0, QUESTION_TOKENS - rest - NOTE_TOKENS))
    return WriterQuestion(triage, shown, reading.report.content_hash)


def writer_request(
    question: WriterQuestion, token: str, draft: Draft | None = None, voided: Sequence[Voided] = ()
) -> ChatRequest:
    """The request; whatever is not ours stands within the fence. With a `draft` that was checked: to write it again."""

    def fill(fence: Fence) -> dict[str, str]:
        return {
            "again": _again(draft, voided, fence) if draft else "",
            "entries": _listed(question.entries),
            "cases": fence.around("CASES", _listed(question.cases)),
            "facts": fence.around("FACTS", question.facts or "nothing"),
            "settings": " ".join(str(allowed()["settings"]["told"]).split()),
            "report": fence.around("REPORT", question.shown.text),
            "partly": question.shown.partly,
        }

    # A second draft answers another question about the same report.
    subject = f"{question.subject} again" if draft else question.subject
    return make_request("writer", fill, writer_schema(), token, subject)


def _again(draft: Draft, voided: Sequence[Voided], fence: Fence) -> str:
    names = [f"sentence {n}" for n in range(1, len(draft.sentences) + 1)]
    names += [f"command {n}" for n in range(1, len(draft.commands) + 1)]
    names += [f"code {n}" for n in range(1, len(draft.code) + 1)]
    parts = [part.partition(". ")[2] for part in numbered_parts(draft)]
    told = "\n".join(f"{name}: {part}" for name, part in zip(names, parts, strict=True))
    faults = "\n".join(f"- {one.part}: {refusal(one.rule, one.what)}" for one in voided)
    return again(fence.around("DRAFT", told), faults)


def read_draft(value: Mapping[str, Any], question: WriterQuestion) -> Draft:
    """The draft in a reply, its support resolved; nothing is checked yet. Raises `WrongSchema`."""
    reply = check(WriterReply, value)
    if reply.silent.strip():
        return Draft(silent=" ".join(reply.silent.split())[:200])
    material = question.material
    sentences = tuple(_sentence(s, material) for s in reply.sentences)
    return Draft(sentences, _snippets(reply.commands), _snippets(reply.code))


def as_answer(draft: Draft, model: str, *, verified: bool) -> WrittenAnswer:
    """A draft that was held as the triage carries it."""
    return WrittenAnswer(
        sentences=[
            AnswerSentence(
                text=s.text,
                role=s.role,
                lines=list(s.lines),
                entries=list(s.entries),
                cases=list(s.cases),
                confidence=s.confidence,
            )
            for s in draft.sentences
        ],
        commands=[
            AnswerSnippet(language="sh", text=c.text, purpose=c.purpose, after=c.after)
            for c in draft.commands
        ],
        code=[
            AnswerSnippet(language="python", text=c.text, purpose=c.purpose, after=c.after)
            for c in draft.code
        ],
        verified=verified,
        model=model,
    )


def _snippets(drafted: Sequence[DraftedSnippet]) -> tuple[Snippet, ...]:
    return tuple(Snippet(s.language.strip(), s.text, " ".join(s.purpose.split()), s.after) for s in drafted)


def _sentence(drafted: DraftedSentence, material: Material) -> Sentence:
    sentence = Sentence(" ".join(drafted.text.split()), drafted.role, confidence=drafted.confidence)
    for cited in dict.fromkeys(str(one).strip() for one in drafted.support):
        number = _CITED_LINE.fullmatch(cited)
        if cited in material.entries:
            sentence = replace(sentence, entries=(*sentence.entries, cited))
        elif cited in material.cases:
            sentence = replace(sentence, cases=(*sentence.cases, cited))
        elif cited == REASONING:
            sentence = replace(sentence, reasoning=True)
        elif number and int(number.group(1)) in material.lines:
            sentence = replace(sentence, lines=(*sentence.lines, int(number.group(1))))
        else:
            sentence = replace(sentence, unknown=(*sentence.unknown, cited))
    return sentence


def facts_text(triage: Triage) -> str:
    """What a program read out of the report, in our words, a line each."""
    evidence = triage.evidence
    versions = ", ".join(f"{name} {version}" for name, version in evidence.versions.items())
    told = [f"versions: {versions}"] if versions else []
    told += [f"framework: {evidence.framework}"] if evidence.framework else []
    told += [f"launcher: {evidence.launcher}"] if evidence.launcher else []
    told += [f"processes: {evidence.world_size}"] if evidence.world_size else []
    told += [f"version conflict: {conflict.text}" for conflict in evidence.conflicts[:3]]
    told += [f"line {fact.line} says: {fact.text}" for fact in evidence.facts]
    told += [f"order of errors: {text}" for text in evidence.echoes[:3]]
    told += [f"diagnostics: {text}" for text in triage.measured]
    told += [f"a check: {one.run} ({one.reading})" for one in triage.checks]
    return "\n".join(f"- {text}" for text in told)


def _status(finding: Finding) -> str:
    return " (sure)" if finding.sure else f" (candidate, {100 * finding.p:.0f} %)"


def entry_text(finding: Finding, status: str = "") -> str:
    """A known failure as the model is shown it; `status` follows its title."""
    lines = ", ".join(str(q.line) for q in finding.lines if not q.in_title)
    told = [
        f"{finding.title}{status}",
        finding.answer,
        *(f"rests on line {lines}" for _ in [0] if lines),
        *(f"the report meets: {held}" for held in finding.held),
        *(f"cause: {text}" for text in _short(finding.why)),
        *(f"check: {text}" for text in _short(finding.check)),
        *(f"fix: {text}" for text in _short(finding.remedy)),
        *(f"fixed in: {finding.fixed_in}" for _ in [0] if finding.fixed_in),
        *(f"not this when: {finding.not_this_when}" for _ in [0] if finding.not_this_when),
    ]
    return "\n  ".join(told)


def _short(items: Sequence[str]) -> list[str]:
    return [item.replace("**", "")[:_TEXT_CHARS] for item in items[:_ITEMS]]


def _case(case: Neighbour) -> str:
    return f"{case.title[:160]}. Ended: {(case.resolution or '')[:RESOLUTION_CHARS]}"


def _listed(texts: Mapping[str, str]) -> str:
    return "\n".join(f"[{id_}] {text}" for id_, text in texts.items()) or "none"


# The second call on a draft, with fresh context: it sees the report and tries to refute each part.


def verifier_request(draft: Draft, question: WriterQuestion, token: str) -> ChatRequest:
    """The request about a draft that the program let pass; report and draft stand within the fence."""

    def fill(fence: Fence) -> dict[str, str]:
        known = [*(f"[{id_}] {text}" for id_, text in {**question.entries, **question.cases}.items())]
        return {
            "known": fence.around("KNOWN", "\n".join([*known, question.facts])),
            "report": fence.around("REPORT", question.shown.text),
            "partly": question.shown.partly,
            "draft": fence.around("DRAFT", "\n".join(numbered_parts(draft))),
        }

    return make_request("verifier", fill, verifier_schema(), token, question.subject)


def read_verdicts(value: Mapping[str, Any], draft: Draft) -> frozenset[int]:
    """Numbers of the parts that do not hold; one without a word on it does not. Raises `WrongSchema`."""
    reply = check(VerifierReply, value)
    parts = set(range(1, len(numbered_parts(draft)) + 1))
    holding = {v.number for v in reply.verdicts if v.holds} - {
        v.number for v in reply.verdicts if not v.holds
    }
    if not reply.verdicts or not {v.number for v in reply.verdicts} <= parts:
        raise WrongSchema(detail="verdicts")
    return frozenset(parts - holding)
