"""The GitHub comment: what a good colleague would write, one screen before the folds.

Whatever is not from frame.toml goes through bot/gate/quote.py; the gate then checks the whole.
"""

from __future__ import annotations

from bot.gate.links import case_link
from bot.gate.markdown import MAX_CHARS
from bot.gate.quote import code_block, code_span, prose, shorten
from bot.render.folds import correct_fold, explain_fold, script_fold
from bot.render.frame import Frame
from bot.render.headline import causes, corrections, headline
from bot.render.view import Draft, View
from knowledge.triage import FixAdvice, MissingItem, Neighbour, QuotedLine

EVIDENCE_LINES = 6
_LINE_CHARS = 160
_MARKER_CHARS = 400
"""Room for the hidden marker and the blank lines between sections."""
_SHOWN_CASES = 3
_SHOWN_FIXES = 3
_CASES_OF_A_FIX = 2
_ASKED_OF_SURE, _ASKED = 2, 3
"""How much is asked for where the cause is claimed, and where it is open."""
_OF_MANY_PROCESSES = frozenset({"world_size"})
_ROLES = {"root": 0, "consequence": 1, "context": 2}


def render_comment(view: View) -> Draft:
    """The comment for a triage. Sections that have nothing to say are left out."""
    say = Frame(view.language)
    near = _near(view)
    shown = near[:_SHOWN_CASES] if "cases" in view.sections else []
    parts: list[str] = []
    if view.what == "withdrawn":
        return Draft(say("withdrawn") + "\n", frozenset())
    if view.what == "ask":
        parts += [say("ask_only"), *_missing(view)]
    else:
        parts += [headline(view, say), *causes(view, say), *corrections(view, say)]
        parts += [
            *_measured(view, say),
            *_second(view, say),
            *_evidence(view, say),
            *_conflicts(view, say),
            *_fixes(view, say),
            *_cases(shown, say),
        ]
        if "missing" in view.sections and _asked(view):
            parts += [say("missing"), *_missing(view)]
    folds = [*(explain_fold(view.triage, say) if view.explain else []), *correct_fold(say)]
    if "script" in view.sections:
        room = MAX_CHARS - _MARKER_CHARS - len("\n\n".join([*parts, *folds]))
        parts += script_fold(view.triage.script, say, room)
    parts += folds
    links = {link for case in near if (link := case_link(case.url))}
    return Draft("\n\n".join(parts) + "\n", frozenset(links))


def render_dismissed(language: str) -> Draft:
    """What is left of a dismissed comment: one line."""
    return Draft(Frame(language)("dismissed") + "\n", frozenset())


def render_config_error(error: str | None, language: str = "en") -> Draft:
    """The note to maintainers about their configuration file; None = it can be read again."""
    say = Frame(language)
    text = say("config_broken", error=prose(error)) if error else say("config_mended")
    return Draft(text + "\n", frozenset())


def _measured(view: View, say: Frame) -> list[str]:
    found = [f"- {prose(text, 320)}" for text in view.triage.measured[:5]]
    return [say("measured"), "\n".join(found)] if found else []


def _second(view: View, say: Frame) -> list[str]:
    second = view.triage.second_reading
    if second is None or not second.used or not second.why:
        return []
    return [say("second", model=code_span(second.model, 60), why=prose(second.why, 300))]


def _evidence(view: View, say: Frame) -> list[str]:
    if "evidence" not in view.sections or not view.triage.evidence.lines:
        return []
    best = sorted(view.triage.evidence.lines, key=lambda line: _ROLES[line.role])[:EVIDENCE_LINES]
    best.sort(key=lambda line: (not line.in_title, line.line))
    return [say("evidence"), code_block("\n".join(_quoted(line, say) for line in best))]


def _quoted(line: QuotedLine, say: Frame) -> str:
    place = say("evidence_title") if line.in_title else str(line.line)
    rank = f" [{say('evidence_rank', rank=line.rank)}]" if line.rank is not None else ""
    return f"{place:>5}{rank} | {shorten(' '.join(line.text.split()), _LINE_CHARS)}"


def _conflicts(view: View, say: Frame) -> list[str]:
    found = view.triage.evidence.conflicts[:2] if "evidence" in view.sections else []
    return [say("conflicts", text=prose(c.text), source=code_span(c.source)) for c in found]


def _chosen(view: View) -> list[FixAdvice]:
    """The fixes to show: those with cases behind them, else the likeliest without."""
    least = view.thresholds.get("fix", 0.0)
    fixes = [f for f in view.triage.advice.fixes if f.p >= least]
    return [f for f in fixes if f.support.count][:_SHOWN_FIXES] or fixes[:1]


def _fixes(view: View, say: Frame) -> list[str]:
    fixes = _chosen(view)
    if "fixes" not in view.sections or not fixes:
        return []
    lines = []
    for place, fix in enumerate(fixes, 1):
        count, of = fix.support.count, fix.support.of
        scope = prose(fix.support.scope)
        key = "fix" if count else "fix_unsupported"
        name = f"**{prose(fix.name)}**"
        # The likeliest with how to tell whether it helped; of the others what to do.
        text = fix.text if place == 1 else fix.text.partition(". ")[0].rstrip(".") + "."
        cases = _fixed_cases(view, fix, say)
        told = say(key, name=name, count=count, of=of, scope=scope, cases=cases, text=prose(text))
        lines.append(f"{place}. {told}")
    return [say("fixes"), "\n".join(lines)]


def _fixed_cases(view: View, fix: FixAdvice, say: Frame) -> str:
    """The near cases that this fix resolved, as links; "" when none is among them."""
    fixed = [case for case in _near(view) if fix.id in case.labels.fix and case_link(case.url)]
    links = ", ".join(_linked(case) for case in fixed[:_CASES_OF_A_FIX])
    return say("fix_cases", links=links) if links else ""


def _linked(case: Neighbour) -> str:
    link, name = case_link(case.url), code_span(case.id, 80)
    return f"[{name}]({link})" if link else name


def _cases(shown: list[Neighbour], say: Frame) -> list[str]:
    if not shown:
        return []
    lines = [f"**{say('cases')}**", ""]
    for case in shown:
        entry = say("case", link=_linked(case), title=prose(case.title, 100))
        if case.resolution:
            entry += ". " + say("case_resolution", resolution=prose(case.resolution, 160))
        lines.append(f"- {entry}")
    return ["\n".join(lines)]


def _near(view: View) -> list[Neighbour]:
    """The nearest cases without the report itself, which the corpus may hold."""
    own = view.triage.id.casefold()
    return [case for case in view.triage.neighbours if case.id.casefold() != own]


def _asked(view: View) -> list[MissingItem]:
    """What is asked for, most useful first: little of a report that says enough."""
    if view.what == "ask":
        return view.triage.missing[:4]
    one_device = view.triage.distributed.answer is False
    wanted = [m for m in view.triage.missing if not (one_device and m.id in _OF_MANY_PROCESSES)]
    return wanted[: _ASKED_OF_SURE if view.claimed("cause") else _ASKED]


def _missing(view: View) -> list[str]:
    return ["\n".join(f"- {prose(item.ask, 200)}" for item in _asked(view))]
