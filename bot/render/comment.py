"""The GitHub comment: what is wrong, why, what to do, in a few lines; everything else folded.

Whatever is not written here goes through knowledge/text/quote.py; the gate then checks the whole.
"""

from __future__ import annotations

from bot.gate.rules import case_link, source_link
from bot.render.answer import VISIBLE_CHARS, answer_parts, support_list, written
from bot.render.classified import classified_parts
from bot.render.earlier import earlier_links, earlier_parts
from bot.render.findings import finding_folds, finding_links, finding_parts, quoted
from bot.render.folds import explain_fold, feedback_fold, fold, script_fold
from bot.render.view import Draft, View
from bot.render.wording import DIAGNOSTICS, NARROW_DOWN, SIMILAR
from knowledge.findings.failure import load_catalogue
from knowledge.text.quote import code_span, prose
from knowledge.triage import RESOLUTION_CHARS, MissingItem, Neighbour, WrittenAnswer

MAX_CASES = 2
MAX_ASKS = 2
MAX_MEASURED = 5
WITHDRAWN = "The report was edited; nothing to add to the current text."
ARRIVED = "The requested information has arrived. It doesn't match a known failure."


def render_comment(view: View) -> Draft:
    """The comment for a triage. Sections that have nothing to say are left out."""
    if view.what == "withdrawn":
        return Draft(f"{ARRIVED if view.arrived else WITHDRAWN}\n", frozenset())
    from_history = bool(view.earlier) and not view.findings
    cases = _resolved(view) if "cases" in view.sections and view.what == "finding" else []
    if from_history:
        cases = []  # other projects' cases are beside the point then
    answer = _answer(view)
    if answer:
        cited = {id_ for sentence in answer.sentences for id_ in sentence.cases}
        cases = [case for case in cases if case.id in cited]
    parts = [] if view.what == "ask" else _written(answer, view) if answer else _told(view)
    parts += _asks(view)
    folds = [*finding_folds(view.findings), *_cases(cases)] if view.what == "finding" else []
    folds += [fold("Which lines this is based on", support_list(answer))] if answer else []
    script = source_link(view.script_link or "") if _has_script(view) else None
    folds += [script_fold(script)] if script else []
    folds += [
        *([explain_fold(view.triage)] if view.explain else []),
        feedback_fold(by_model=answer.model if answer else None, from_history=from_history),
    ]
    links = {link for case in cases if (link := case_link(case.url))}
    links |= {*finding_links(view.findings), *(source_link(c.source) or "" for c in view.conflicts)}
    links |= set(earlier_links(view.earlier))
    return Draft("\n\n".join([*parts, *folds]) + "\n", frozenset({*links, script or ""} - {""}))


def _answer(view: View) -> WrittenAnswer | None:
    """The verified answer, where the comment is made of it."""
    return written(view.triage) if view.written and view.what == "finding" else None


def _written(answer: WrittenAnswer, view: View) -> list[str]:
    """The verified answer, above it the root error where the answer says that this is what is wrong."""
    cited = {number for s in answer.sentences if s.role == "what" for number in s.lines}
    quotes = [*(q for f in view.findings for q in f.lines), *view.triage.evidence.lines]
    line = next((q for q in quotes if not q.in_title and q.line in cited and q.role == "root"), None)
    quote = [quoted([line])] if line else []
    told = answer_parts(answer, VISIBLE_CHARS - sum(map(len, quote)) - 2, cited=False)
    return [*quote, *told, *_measured(view), *earlier_parts(view.earlier)]


def _has_script(view: View) -> bool:
    return "script" in view.sections and view.what == "finding" and bool(view.triage.script)


def render_dismissed() -> Draft:
    """What is left of a dismissed comment: one line."""
    return Draft("Triage dismissed. A maintainer can bring it back with `/triage`.\n", frozenset())


def render_config_error(error: str | None) -> Draft:
    """The note to maintainers about their configuration file; None = it can be read again."""
    text = (
        f"**`.github/distriage.yml` can't be used**: {prose(error)} The last valid version stays in effect, "
        "or the defaults if there is none."
        if error
        else "`.github/distriage.yml` is valid again."
    )
    return Draft(text + "\n", frozenset())


def _told(view: View) -> list[str]:
    parts = [*finding_parts(view.findings), *earlier_parts(view.earlier)]
    parts += _measured(view)
    parts += _conflicts(view)
    if view.level != "findings" or view.corrected or not parts:
        parts += classified_parts(view, after_findings=bool(parts))
    parts += _second(view)
    return parts


def _measured(view: View) -> list[str]:
    found = [f"- {prose(text, 320)}" for text in view.triage.measured[:MAX_MEASURED]]
    return [f"**{DIAGNOSTICS}**", "\n".join(found)] if found else []


def _conflicts(view: View) -> list[str]:
    parts = []
    for conflict in view.conflicts[:1] if "evidence" in view.sections else []:
        link = source_link(conflict.source)
        source = f"[source]({link})" if link else code_span(conflict.source)
        line = next((q for q in view.triage.evidence.lines if q.line == conflict.explains_line), None)
        if line is not None and not view.findings:
            parts.append(quoted([line]))
        parts.append(f"Version conflict: {prose(conflict.text, 400)} ({source})")
    return parts


def _second(view: View) -> list[str]:
    second = view.triage.second_reading
    if view.level == "findings" or second is None or not second.used or not second.why:
        return []
    return [f"Second reading by {code_span(second.model, 60)}: {prose(second.why, 300)}"]


def asked(view: View) -> list[MissingItem]:
    """What the comment asks for: nothing where it gives the remedy or an issue with it, or an LLM wrote it."""
    if view.what == "withdrawn" or _answer(view) or view.earlier or any(f.sure for f in view.findings):
        return []
    return view.triage.missing[:MAX_ASKS] if "missing" in view.sections or view.what == "ask" else []


def _asks(view: View) -> list[str]:
    wanted = asked(view)
    if not wanted:
        return []
    return [f"{NARROW_DOWN}:", "\n".join(f"- {prose(item.ask, 240)}" for item in wanted)]


def _resolved(view: View) -> list[Neighbour]:
    """Cases that share the finding's error signature with the report and say how they ended."""
    own = view.triage.id.casefold()
    known = [load_catalogue()[f.id] for f in view.findings if f.id in load_catalogue()]
    telling = {id for entry in known for id in entry.signatures}
    return [
        case
        for case in view.triage.neighbours
        if case.id.casefold() != own
        and case.resolution
        and (telling & set(case.shared) if known else case.shared)
    ][:MAX_CASES]


def _cases(cases: list[Neighbour]) -> list[str]:
    if not cases:
        return []
    lines = [f"{SIMILAR}:", ""]
    for case in cases:
        link, name = case_link(case.url), code_span(case.id, 80)
        shown = f"[{name}]({link})" if link else name
        lines.append(
            f"- {shown} — {prose(case.title, 100)}. {prose(case.resolution or '', RESOLUTION_CHARS)}"
        )
    return ["\n".join(lines)]
