"""The parts of an answer that every surface shows alike: an LLM's verified reply, earlier reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from bot.gate.rules import source_link
from knowledge.findings.failure import load_catalogue
from knowledge.text.quote import code_span, fenced, prose
from knowledge.triage import (
    AnswerSentence,
    AnswerSnippet,
    EarlierReport,
    Finding,
    Neighbour,
    Triage,
    WrittenAnswer,
)

WHOLE_CHARS = 6_000
"""Of a comment with its folds: everybody who watches gets it by mail."""
VISIBLE_CHARS = 900
"""Of the visible part of a comment: the least important sentences go first."""
CODE_CHARS = 600
"""Of code that the visible part may hold besides: what a sentence introduces is read there or not at all."""
MOST_SENTENCES = 4
"""Of a paragraph; from there on the next step begins a new one."""
_LEANS = re.compile(r"(?:This|That|These|Those|Then|It|They|So|Otherwise|If (?:so|not|it))\b")
"""How a sentence begins that belongs to the one before it."""
_LEAST_NEEDED = ("question", "why", "fix", "check", "what")


def written(triage: Triage) -> WrittenAnswer | None:
    """The answer to show; one that no second call tried to refute is not shown."""
    return triage.answer if triage.answer is not None and triage.answer.verified else None


def support(sentence: AnswerSentence) -> str:
    """What a sentence rests on, in words: "line 41, known failure nccl-timeout"; empty for reasoning alone."""
    numbers = [str(n) for n in sentence.lines if n > 0]
    told = [f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"] if numbers else []
    told += ["title"] if 0 in sentence.lines else []
    told += [f"known failure {id_}" for id_ in sentence.entries]
    told += list(sentence.cases)
    return ", ".join(told)


def answer_parts(
    answer: WrittenAnswer, limit: int = 100_000, *, cited: bool = True
) -> tuple[list[str], list[str]]:
    """The answer in Markdown within about `limit` characters and some code: what and why, what to do, questions.

    With it the commands and code that don't fit: they belong in a fold, since sentences point at them.
    `cited`: each sentence says what it rests on, as `support_list` does apart from it.
    """
    sentences = dict(enumerate(answer.sentences, 1))
    snippets = [*answer.commands, *answer.code]
    folded: list[str] = []
    while True:
        parts = [*_paragraphs(sentences, snippets, cited), *_questions(sentences.values(), cited)]
        code = sum(len(part) for part in parts if part.startswith("```"))
        if sum(map(len, parts)) + 2 * len(parts) - min(code, CODE_CHARS) <= limit:
            return parts, folded
        if snippets:
            folded.insert(0, "\n\n".join(_snippet(snippets.pop())))
            continue
        told = list(sentences.values())
        spare = next(
            (n for role in _LEAST_NEEDED for n in reversed(sentences) if _spare(sentences[n], role, told)),
            None,
        )
        if spare is None:
            return parts, folded
        del sentences[spare]


def support_list(answer: WrittenAnswer) -> str:
    """What each sentence rests on, as a list that begins with its first words."""
    rests = [(s.text, support(s) or "reasoning") for s in answer.sentences]
    return "\n".join(f"- {code_span(text, 60)}: {prose(basis, 300)}" for text, basis in rests)


def _spare(sentence: AnswerSentence, role: str, sentences: Sequence[AnswerSentence]) -> bool:
    return sentence.role == role and (role == "question" or sum(s.role == role for s in sentences) > 1)


def _paragraphs(
    sentences: Mapping[int, AnswerSentence], snippets: Sequence[AnswerSnippet], cited: bool
) -> list[str]:
    """What is said, in the writer's order (a reason that follows a fix is a reason for the fix), with what is run."""
    said = {n: s for n, s in sentences.items() if s.role != "question"}
    # Behind the last sentence that is left up to its place; 0 = it comes last.
    placed = [(max((n for n in said if n <= one.after), default=0), one) for one in snippets]
    behind = {place or max(said, default=0) for place, _ in placed}
    parts: list[list[str]] = [[]]
    before, acted = "", False
    for n, sentence in said.items():
        acts = sentence.role in ("check", "fix")
        full = len(parts[-1]) >= MOST_SENTENCES and sentence.role != before
        if (acts and not acted) or (full and not _LEANS.match(sentence.text)):
            parts.append([])
        parts[-1].append(_sentence(sentence if n in behind else _without_colon(sentence), cited))
        before, acted = sentence.role, acted or acts
        for snippet in (one for place, one in placed if place == n):
            _add(parts, snippet, alone=not acts)
    for snippet in (one for place, one in placed if not place):
        _add(parts, snippet, alone=True)
    return [" ".join(part) for part in parts if part]


def _without_colon(sentence: AnswerSentence) -> AnswerSentence:
    """The sentence where what it introduces is in the fold."""
    text = sentence.text.rstrip()
    return (
        sentence.model_copy(update={"text": f"{text[:-1]} (see below)."}) if text.endswith(":") else sentence
    )


def _add(parts: list[list[str]], snippet: AnswerSnippet, *, alone: bool) -> None:
    """Put a snippet behind the last part: code in a part of its own, a command into the text unless `alone`."""
    block, purpose = _snippet(snippet)
    if snippet.language == "python":
        parts.extend([[block], [purpose]])
    elif alone:
        parts.append([block, purpose])
    else:
        parts[-1].extend([block, purpose])


def _questions(sentences: Iterable[AnswerSentence], cited: bool) -> list[str]:
    asked = [_sentence(s, cited) for s in sentences if s.role == "question"]
    return ["\n".join(f"- {one}" for one in asked)] if len(asked) > 1 else asked


def _sentence(sentence: AnswerSentence, cited: bool) -> str:
    rests = support(sentence) if cited else ""
    told = prose(sentence.text, 420)
    return f"{told} ({prose(rests, 200)})" if rests else told


def _snippet(snippet: AnswerSnippet) -> tuple[str, str]:
    """What to run, and below it what it is for."""
    purpose = prose(snippet.purpose, 300)
    if snippet.language == "sh":
        return f"Run {code_span(snippet.text)}.", purpose
    return fenced(snippet.text, "python"), purpose


# Cases of the corpus that show the same failure.

MAX_CASES = 2


def similar(triage: Triage, findings: Sequence[Finding]) -> list[Neighbour]:
    """At most two cases that say how they ended and share the failure; for a question, its kind and topic.

    A failure is shared through a signature of the `findings`, or of any entry where there are none. A signature that
    leads to no entry ("no such attribute") says nothing of the failure.
    """
    catalogue = load_catalogue()
    known = [catalogue[f.id] for f in findings if f.id in catalogue]
    telling = {id for entry in known or catalogue.values() for id in entry.signatures}
    topic = triage.advice.topic.top if triage.advice.topic is not None else None

    def shared(case: Neighbour) -> bool:
        if triage.type.top == "howto" and not findings:
            return case.labels.type == "howto" and case.labels.topic == topic
        return bool(telling & set(case.shared))

    own = triage.id.casefold()
    found = [
        case for case in triage.neighbours if case.id.casefold() != own and case.resolution and shared(case)
    ]
    return found[:MAX_CASES]


# Earlier reports of the repository that show the same failure: which, why, and how they ended.

SAME_FAILURE = "This looks like the same failure as"
TITLE_CHARS = 90


def earlier_parts(earlier: Sequence[EarlierReport]) -> list[str]:
    """In Markdown: one report in a sentence, two as a list."""
    told = [_told(one) for one in earlier]
    if len(told) < 2:
        return [f"{SAME_FAILURE} {one}" for one in told]
    return [f"{SAME_FAILURE}:", "\n".join(f"- {one}" for one in told)]


def earlier_links(earlier: Sequence[EarlierReport]) -> list[str]:
    """The addresses that `earlier_parts` links to."""
    return [link for one in earlier if (link := source_link(one.url))]


def reasons(one: EarlierReport) -> str:
    """What the two have in common, as one piece of a sentence."""
    return ", ".join(one.why)


def ending(one: EarlierReport) -> str:
    """How the earlier report stands or ended, as a sentence; "" where that is not known."""
    return f"It {'is' if one.is_open else 'was'} {one.ended}." if one.ended else ""


def _told(one: EarlierReport) -> str:
    link, name = source_link(one.url), code_span(one.id, 80)
    shown = f"[{name}]({link})" if link else name
    ended = ending(one)
    told = f"{shown} ({prose(one.title, TITLE_CHARS)}): {prose(reasons(one), 400)}."
    return f"{told} {prose(ended, 300)}" if ended else told
