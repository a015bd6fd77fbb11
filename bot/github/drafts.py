"""An answer that an LLM drafted, as a maintainer left it: posted, edited, or rejected."""

from __future__ import annotations

from bot.github.records import DraftDecision
from knowledge.triage import AnswerSentence, Triage, WrittenAnswer

MOST_SENTENCES = 12
MOST_CHARS = 420
"""Of a sentence, as `AnswerSentence` allows it."""


def edited(draft: WrittenAnswer, sentences: tuple[str, ...]) -> WrittenAnswer:
    """The answer with these sentences; those that the LLM wrote keep what they rest on."""
    known = {sentence.text: sentence for sentence in draft.sentences}
    roles = [sentence.role for sentence in draft.sentences]
    told = [
        known.get(text) or AnswerSentence(text=text, role=roles[min(n, len(roles) - 1)], confidence=1.0)
        for n, text in enumerate(sentences)
    ]
    return draft.model_copy(update={"sentences": told})


def fault(sentences: tuple[str, ...]) -> str | None:
    """Why an edited answer cannot be posted, a sentence; None when it can. The gate has its word when it is written."""
    if not sentences:
        return "It has no sentence."
    if len(sentences) > MOST_SENTENCES or max(map(len, sentences)) > MOST_CHARS:
        return f"At most {MOST_SENTENCES} lines of {MOST_CHARS} characters."
    return None


def as_decided(triage: Triage, decision: DraftDecision | None) -> Triage:
    """The triage with its draft as the maintainer left it; a rejected one stays, for the page to show."""
    if decision is None or decision.decision == "reject" or triage.answer is None:
        return triage
    return triage.model_copy(update={"answer": edited(triage.answer, decision.sentences)})
