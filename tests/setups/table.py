"""Print the table of set-ups: most probable cause before and after the result of the script.

As root, with the packages and variables of `make test-setups`: python -m tests.setups.table [id ...]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import sqrt

from knowledge.engine import load_knowledge
from tests.conftest import CACHE
from tests.setups.judge import SETUPS, Priors, Verdict, top
from tests.setups.together import judged

BAR = 0.85
SUMMARY = (
    "",
    "set-ups",
    "right before",
    "found by a probe",
    "right after",
    "in a comment, two rounds at most",
)
COLUMNS = (
    "set-up",
    "broken",
    "report",
    "true cause",
    "found by",
    "right before",
    "right after",
    "in a comment",
    "time",
)


def interval(right: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.96, right / of
    middle, spread = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - spread) / (1 + z * z / of), (middle + spread) / (1 + z * z / of)


def share(right: int, of: int) -> str:
    """A share with its interval."""
    low, high = interval(right, of)
    return f"{right} = {right / of:.2f} ({low:.2f} to {high:.2f})"


def line(cells: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def heading(cells: Sequence[str]) -> str:
    """The first two lines of a Markdown table."""
    return f"{line(cells)}\n{'|---' * len(cells)}|"


def row(one: Verdict) -> str:
    """A set-up's line."""
    setup = one.setup
    found = ", ".join(f"{probe}: {outcome}" for probe, outcome in sorted(one.found & setup.finds))
    rounds = f"{one.rounds} round{'s' if one.rounds > 1 else ''}"
    before = "yes" if one.before == setup.cause else "no"
    after = f"{right(one, one.after)} {one.whole.posterior[one.after]:.2f}"
    comment = f"{right(one, top(one.comment.posterior))}, {rounds}"
    cells = (setup.id, setup.text, setup.report, setup.cause, found or "not found", before, after, comment)
    return line([*cells, f"{one.seconds:.0f} s"])


def right(one: Verdict, cause: str) -> str:
    """Whether that is the true cause."""
    return "yes" if cause == one.setup.cause else f"no ({cause})"


def total(name: str, verdicts: Sequence[Verdict]) -> str:
    """The line of shares over some set-ups."""
    of = len(verdicts)
    counts = (
        sum(one.before == one.setup.cause for one in verdicts),
        sum(one.seen for one in verdicts),
        sum(one.after == one.setup.cause for one in verdicts),
        sum(top(one.comment.posterior) == one.setup.cause for one in verdicts),
    )
    return line([name, str(of), *(share(count, of) for count in counts)])


def main(names: Sequence[str]) -> int:
    """Judge every set-up that this machine can make; 1 when too few causes are right afterwards."""
    wanted = [one for one in SETUPS if not names or one.id in names]
    possible = [one for one in wanted if not one.missing()]
    with judged(possible, Priors(load_knowledge(None, CACHE))) as coming:
        verdicts = [coming[one.id].result() for one in possible]
    parts = {
        "worked on": [one for one in verdicts if not one.setup.held_out],
        "held out": [one for one in verdicts if one.setup.held_out],
        "all": verdicts,
    }
    print(heading(SUMMARY))
    print("\n".join(total(name, some) for name, some in parts.items() if some))
    for name in ("worked on", "held out"):
        print(f"\n{name.capitalize()}:\n\n{heading(COLUMNS)}")
        print("\n".join(row(one) for one in parts[name]))
    for one in wanted:
        if missing := one.missing():
            print(f"\nnot made: {one.id}, for want of {', '.join(missing)}")
    right_after = sum(one.after == one.setup.cause for one in verdicts)
    return 0 if verdicts and right_after >= BAR * len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
