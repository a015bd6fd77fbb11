"""Print the table of set-ups: most probable cause before and after the result of the script.

Run as root with DISTRIAGE_TORCH_PYTHON naming a Python that has torch (CPU): python -m tests.setups.table
[id ...]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

from knowledge.diagnostics.compose import LARGEST
from tests.setups.judge import NO_ROOM_LIMIT, SETUPS, Priors, Verdict, judge


def interval(right: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.96, right / of
    middle, spread = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - spread) / (1 + z * z / of), (middle + spread) / (1 + z * z / of)


def row(one: Verdict, small: Verdict) -> str:
    """One line of the table."""
    found = (
        ", ".join(f"{probe}: {outcome}" for probe, outcome in sorted(one.found & one.setup.finds))
        or "not found"
    )
    mark = "yes" if one.right else f"no ({one.after})"
    rounds = len({result.script for result in small.results})
    small_mark = (
        f"{'yes' if small.right else f'no ({small.after})'}, {rounds} round{'s' if rounds > 1 else ''}"
    )
    before = "yes" if one.before == one.setup.cause else "no"
    setup, time = one.setup, f"{one.seconds:.0f} s"
    cells = [
        setup.id,
        setup.text,
        setup.report,
        setup.cause,
        found,
        before,
        f"{mark} {one.p_after:.2f}",
        small_mark,
        time,
    ]
    return f"| {' | '.join(cells)} |"


def share(name: str, right: int, of: int) -> str:
    """A share with its interval."""
    low, high = interval(right, of)
    return f"- {name}: {right} of {of} = {right / of:.2f} (95 % interval {low:.2f} to {high:.2f})"


def summarise(name: str, verdicts: Sequence[tuple[Verdict, Verdict]]) -> None:
    """The shares over one kind of set-ups."""
    if not verdicts:
        return
    of = len(verdicts)
    print(f"\nSet-ups {name}:\n")
    print(share("top-1 before", sum(one.before == one.setup.cause for one, _ in verdicts), of))
    print(share("a probe found what is broken", sum(one.seen for one, _ in verdicts), of))
    print(share("top-1 after, command line's script", sum(one.right for one, _ in verdicts), of))
    print(
        share(
            "top-1 after, a comment's scripts, two rounds at most",
            sum(small.right for _, small in verdicts),
            of,
        )
    )


def main(names: Sequence[str]) -> int:
    """Judge every set-up that this machine can make; 1 when one of the named does not exist."""
    wanted = [one for one in SETUPS if not names or one.id in names]
    verdicts: list[tuple[Verdict, Verdict]] = []
    priors = Priors(Path(tempfile.gettempdir()) / "distriage-setups-cache")
    print(
        "| set-up | broken | report | true cause | found by | right before | right after | in a comment | time |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for one in wanted:
        if missing := one.missing():
            print(f"| {one.id} | {one.text} | {one.cause} | not run: no {', '.join(missing)} | | | | |")
            continue
        pair = (judge(one, priors, NO_ROOM_LIMIT), judge(one, priors, LARGEST, rounds=2))
        verdicts.append(pair)
        print(row(*pair), flush=True)
    for held_out in (False, True):
        summarise(
            "held out" if held_out else "worked on",
            [pair for pair in verdicts if pair[0].setup.held_out == held_out],
        )
    return 0 if wanted else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
