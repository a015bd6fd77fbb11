"""The reply that an LLM wrote and that was verified, as text: sentences with what they rest on, commands, code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from knowledge.text.quote import code_span, fenced, prose
from knowledge.triage import AnswerSentence, AnswerSnippet, Triage, WrittenAnswer

VISIBLE_CHARS = 900
"""Of the visible part of a comment: the least important sentences go first."""
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


def answer_parts(answer: WrittenAnswer, limit: int = 100_000, *, cited: bool = True) -> list[str]:
    """The answer in Markdown within about `limit` characters: what and why, what to check and do, questions.

    `cited`: each sentence says what it rests on, as `support_list` does apart from it.
    """
    sentences = list(answer.sentences)
    snippets = [*answer.commands, *answer.code]
    while True:
        parts = [*_paragraphs(sentences, cited), *map(_snippet, snippets)]
        if sum(map(len, parts)) + 2 * len(parts) <= limit:
            return parts
        if snippets:
            snippets.pop()
            continue
        spare = next(
            (s for role in _LEAST_NEEDED for s in reversed(sentences) if _spare(s, role, sentences)), None
        )
        if spare is None:
            return parts
        sentences.remove(spare)


def support_list(answer: WrittenAnswer) -> str:
    """What each sentence rests on, as a list that begins with its first words."""
    rests = [(s.text, support(s) or "reasoning") for s in answer.sentences]
    return "\n".join(f"- {code_span(text, 60)}: {prose(basis, 300)}" for text, basis in rests)


def _spare(sentence: AnswerSentence, role: str, sentences: Sequence[AnswerSentence]) -> bool:
    return sentence.role == role and (role == "question" or sum(s.role == role for s in sentences) > 1)


def _paragraphs(sentences: Sequence[AnswerSentence], cited: bool) -> Iterator[str]:
    # In the writer's order: a reason that follows a fix is a reason for the fix.
    said = [s for s in sentences if s.role != "question"]
    turn = next((n for n, s in enumerate(said) if s.role in ("check", "fix")), len(said))
    for part in (said[:turn], said[turn:]):
        if part:
            yield " ".join(_sentence(s, cited) for s in part)
    asked = [f"- {_sentence(s, cited)}" for s in sentences if s.role == "question"]
    if asked:
        yield "\n".join(asked)


def _sentence(sentence: AnswerSentence, cited: bool) -> str:
    rests = support(sentence) if cited else ""
    told = prose(sentence.text, 420)
    return f"{told} ({prose(rests, 200)})" if rests else told


def _snippet(snippet: AnswerSnippet) -> str:
    if snippet.language == "sh":
        return f"{code_span(snippet.text)}: {prose(snippet.purpose, 300)}"
    return f"{prose(snippet.purpose, 300)}\n\n{fenced(snippet.text, 'python')}"
