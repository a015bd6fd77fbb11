"""The words that every surface shares: how sure, what kind of post, names of ids, headings."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from knowledge.evidence.units import cut
from knowledge.findings.fitting import sentences
from knowledge.taxonomy import Taxonomy
from knowledge.triage import (
    REMOTE,
    Advice,
    Axis,
    Finding,
    FixAdvice,
    QuotedLine,
    Scope,
    Support,
    Triage,
)

SURE = ((0.95, "almost certain"), (0.75, "likely"), (0.5, "more likely than not"), (0.0, "possible"))
"""From which probability on which word; one scale for all surfaces. Percentages are for folds and the page."""
KINDS = {
    "howto": "a question",
    "feature": "a feature request",
    "internal": "project maintenance",
}
OUT_OF_SCOPE: dict[Scope, str] = {
    "other_field": "This doesn't look like a report about distributed training.",
    "too_little": "There isn't enough text here to say anything.",
    "unreadable": "I can only read English prose, and there is no log here to go by.",
}
OWN_DEFECT = "framework_defect"
"""The cause that a maintainer assumes anyway; no comment names it."""
ANSWER = "Verified answer, drafted by"
NARROW_DOWN = "More details would help"
SIMILAR = "Similar issues"
DIAGNOSTICS = "What the diagnostics script found"
TRIED = "Usual fixes for failures of this kind"
ONLY_NEAREST = "No known failure clearly matches. This is the nearest one; check before you change anything."
TRIED_ALREADY = "The report seems to have tried this already; if so, look at the other causes."
NO_FINDING = "No known failure matches."
UNCLEAR = "It isn't clear whether this is a failure."


_ROLES = {"root": 0, "diagnosis": 1, "consequence": 2, "context": 3}


def percent(p: float) -> str:
    """A probability as a percentage, never 0 or 100: what is measured on cases is never that sure."""
    return f"{min(99, max(1, round(100 * p)))}%"


def how_sure(p: float) -> str:
    """A probability in words."""
    return next(word for least, word in SURE if p >= least)


def opening(finding: Finding) -> str:
    """How a finding is introduced, as sure as it is."""
    if finding.read_by:
        return "Known failure, confirmed by an LLM"
    if finding.sure:
        # What is said unasked is right nine times of ten, whatever its own probability (docs/evaluation.md).
        return f"Known failure, {how_sure(max(finding.p, 0.9))}"
    if not is_guess(finding):
        return "Probably"
    return "Possibly" if finding.p >= REMOTE else "Long shot"


FINDINGS_TOLD = 2
"""Known failures told to whoever asks. A third one, which the details and the JSON have, is hardly ever right."""


def is_guess(finding: Finding) -> bool:
    """Whether a finding is only the nearest there is: the account alone speaks for it, or it is rather not so."""
    return not finding.sure and (finding.p < 0.5 or not finding.lines)


def without_bold(text: str) -> str:
    """A text of the catalogue without the bold marks of its own pages."""
    return text.replace("**", "")


# What a check shows may lack its subject, and may begin with a name, which keeps its small letter.
_OF_IT = re.compile(
    r"(?:shows|prints|lists|names|gives|fails|must|should|has|is|reports|returns|says|works|raises|ends|hangs|equals)\b"
)
_NAME = re.compile(r"\S*[^\sa-z,]|(?:cicc|conda|cpu|cuda|gloo|pip|python|torch)\b")

# A command and what it shows; where to run it, if told, goes into the sentence:
# "Put this at the end of `setup`." is "Run `x` at the end of `setup`."
_COMMAND = re.compile(r"`([^`]+)`( [^:`]{1,80})?: (.+)", re.DOTALL)
_PLACED = re.compile(r"(?i:put|print|run|do|call) (?:this|it) ")

_ASKS = re.compile(
    r"(?:After|Add|At|Batch|Before|Call|Change|Check|Collect|Compare|Compile|Compute|Copy|Count|Create|Delete|Disable|During|Evaluate|Find|For|Halve|In|Inside"
    r"|Just|List|Load|Log|Look|Measure|Move|Note|On|Open|Pass|Print|Profile|Put|Read|Remove|Repeat|Replace|Replay|Rerun|Restart|Resume|Right|Run|Save"
    r"|Search|Set|Sort|Start|Switch|Test|Time|Train|Try|Turn|Use|Watch|While|With|Wrap) "
)


_WHERE_FIRST = re.compile(r"(?:After|At|Before|During|For|In|Inside|Just|On|Right|While|With) ")
"""Openings that read worse after "To check," than by themselves."""

# Words that keep no capital inside of a sentence; names, acronyms and code do.
_COMMON = re.compile(
    r"(?:A|An|The|This|That|These|It|Its|It's|You|You're|Your|There|Only|No|None|Neither|Nothing|All|Both|Each|Every|Several"
    r"|Some|Any|Many|Enough|One|Two|Another|Other|Even|In|On|With|Without|At|After|Before|During|Training|Loading|Saving"
    r"|Pickling|Wrapping|Initialization|Memory|Bandwidth|Data|Processes|Ranks|Jobs|Nodes|Workers|Versions|Gradients|Tensors"
    r"|Weights|Keys|Shapes|Steps|Loss|Host|Small)\b"
)


def does_not_apply(text: str) -> str:
    """Say when it isn't this failure: "X, in which case Y." is "This doesn't apply if X. In that case, Y."."""
    clauses = sentences(text)
    first = next((n for n, clause in enumerate(clauses, 1) if not clause.endswith(";")), len(clauses))
    when, _, then = " ".join(clauses[:first]).rstrip(".;").partition(", in which case ")
    when = f"{when[0].lower()}{when[1:]}" if _COMMON.match(when) else when
    said = [f"This doesn't apply if {when}.", f"In that case, {then}." if then else "", *clauses[first:]]
    return " ".join(filter(None, said))


def with_sign(cause: str) -> tuple[str, str]:
    """A cause of the catalogue and what shows that it is this one: "**Cause.** Sign." of its page; "" = no sign."""
    head, found, sign = cause.removeprefix("**").partition("**")
    return (head, sign.strip()) if cause.startswith("**") and found else (without_bold(cause), "")


def to_run(check: str) -> str:
    """A check in a sentence: "To check, run `x`. It prints ..."."""
    said = _instruction(check)
    if said and _WHERE_FIRST.match(said):
        return said
    return f"To check, {said[0].lower()}{said[1:]}" if said else f"To check: {check}"


def one_more(check: str) -> str:
    """A further check in sentences of its own: "Run `x`. It prints ..."."""
    return _instruction(check) or check


def _instruction(check: str) -> str | None:
    """What to do and what it shows, in sentences; None = it begins with something else than a command or a verb."""
    if _ASKS.match(check):
        return check
    found = _COMMAND.fullmatch(check)
    if not found:
        return None
    code, where, reading = found[1], found[2] or "", found[3]
    if not where and (placed := _PLACED.match(reading)):
        return f"Run `{code}` {reading[placed.end() :]}"
    if not where and _is_python(code):
        where = " in your script"
        reading = reading.removeprefix("In the script, ").removeprefix("in the script, ")
    if _OF_IT.match(reading):
        reading = f"it {reading}"
    return f"Run `{code}`{where}. {reading if _NAME.match(reading) else reading[0].upper() + reading[1:]}"


def _is_python(code: str) -> bool:
    """Whether a check is Python for the script rather than a command: `print(x)`, not `nvidia-smi`."""
    if "(" not in code and "[" not in code:
        return False
    try:
        statements = ast.parse(code).body
    except SyntaxError:
        return False
    last = statements[-1]
    return not (isinstance(last, ast.Expr) and isinstance(last.value, ast.BinOp | ast.Compare))


def with_cases(advice: Advice) -> list[FixAdvice]:
    """Fixes with labelled cases behind them; "another version" alone helps nobody."""
    return [f for f in advice.fixes if f.support.count and f.id != "framework_version"]


def by_support(fixes: Sequence[FixAdvice]) -> list[FixAdvice]:
    """Fixes shown with their counts alone: the one that more cases stand behind comes first."""
    return sorted(fixes, key=lambda fix: -fix.support.count)


def usual_fixes(triage: Triage, most: int) -> list[FixAdvice]:
    """What resolved labelled cases of this kind; nothing where neither symptom nor cause is claimed.

    Without a claim it is what fits most failures, and so none in particular.
    """
    known = triage.type.answer == ["fault"] and (triage.symptom.answer or triage.cause.answer)
    return by_support(with_cases(triage.advice)[:most]) if known else []


def telling(lines: Sequence[QuotedLine], most: int) -> list[QuotedLine]:
    """The `most` lines that tell most, roots first, with the author's own diagnosis, in the order of the report."""
    best = sorted(lines, key=lambda line: _ROLES[line.role])
    own = [line for line in best[most:] if line.role == "diagnosis"]
    chosen = [*best[: most - len(own)], *own]
    return sorted(chosen, key=lambda line: (not line.in_title, line.line))


def shown_line(line: QuotedLine, limit: int) -> str:
    """A quoted line on one line within `limit` characters, cut between words with those that tell."""
    return " ".join(cut(line.text, line.telling, limit)[0].split())


def supported(support: Support) -> str:
    """How many labelled cases stand behind a fix: "worked in 12 of 31 studied failures"."""
    return f"worked in {support.count} of {support.of} {support.scope}"


def named(taxonomy: Taxonomy, axis: str, id: str) -> str:
    """An id's name, with the id where that is a number: "Hang (D.2.1)". For folds."""
    name = _name(taxonomy, axis, id)
    return f"{name} ({id})" if axis in ("stage", "symptom") else name


def _name(taxonomy: Taxonomy, axis: str, id: str) -> str:
    entry = next((e for e in taxonomy.on_axis(axis) if e.id == id), None)
    return entry.name if entry else id


def classified(triage: Triage, taxonomy: Taxonomy) -> str:
    """Type, symptom and cause in one line of words, each only where it is claimed."""
    if triage.scope != "ours":
        return OUT_OF_SCOPE[triage.scope]
    kind = triage.type.top
    if not triage.type.answer:
        return UNCLEAR
    if kind != "fault":
        return f"This reads like {KINDS[kind or 'howto']}, {how_sure(triage.type.ranking[0].p)}."
    parts = []
    for axis in ("symptom", "stage"):
        value = getattr(triage, axis)
        if value.answer:
            parts.append(f"{_name(taxonomy, axis, value.answer[0])}, {_sure_of(value)}")
            break
    # A maintainer assumes it anyway, so it is told only where people set it.
    if triage.cause.answer and (triage.cause.by_people or triage.cause.answer[0] != OWN_DEFECT):
        cause = _name(taxonomy, "cause", triage.cause.answer[0])
        parts.append(f"cause: {cause}, {_sure_of(triage.cause)}")
    return "; ".join(parts) + "." if parts else "A failure; symptom and cause are unclear."


def _sure_of(axis: Axis) -> str:
    return "set by a maintainer" if axis.by_people else how_sure(axis.ranking[0].p)
