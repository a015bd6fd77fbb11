"""Write the diagnostics script for one diagnosis: one file that both sh and Python can run."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from knowledge.diagnostics.assemble import assemble, closure, length
from knowledge.diagnostics.catalogue import catalogue
from knowledge.diagnostics.choose import Budget, choose
from knowledge.diagnostics.collectors import COLLECTORS
from knowledge.diagnostics.prior import opened
from knowledge.diagnostics.probe import Probe
from knowledge.diagnostics.worth import worth

LARGEST = 57_000
"""Characters; a GitHub comment holds 65,536 and the triage stands in it too."""
FRAME = 2_600
"""Of these for the launcher, the imports and the head that explains."""
LINES = 110
"""And for each probe, beside its code and its line of the head."""

LAUNCHER = '''\
#!/bin/sh
""":"
# sh reads this part, finds a Python of at least 3.8 and hands the same file to it.
if [ ! -f "$0" ]; then echo "Save this as a file first, then: sh diagnose.sh" >&2; exit 3; fi
for python in "${PYTHON:-python3}" python python3.13 python3.12 python3.11 python3.10 python3.9 python3.8; do
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && exec "$python" -B "$0" "$@"
done
echo "No Python of at least 3.8 was found; set PYTHON=/path/to/python3." >&2
exit 3
":"""
'''


def compose_script(
    cause_p: Mapping[str, float],
    *,
    framework: str | None,
    symptom: str | None,
    hosts: Sequence[str] = (),
    budget_s: float = 60.0,
    largest: int = LARGEST,
    answered: Collection[str] = (),
) -> str:
    """The script for one diagnosis, deterministic for the same arguments.

    `cause_p`: cause id to probability (empty = nothing known: base rates).
    `hosts` becomes the default of the script's `--hosts`; `budget_s` bounds choice and run, in seconds;
    `largest` bounds the script, in characters. `answered` holds ids of probes whose outcome is known already: with the
    causes as that result left them, this makes the script for the next round.
    """
    bits = worth(catalogue(), opened(cause_p), framework, symptom)
    room = largest - FRAME - length(closure(["main", "Task"]))
    budget = Budget(
        budget_s, room, code_of, length, lambda probe: LINES + len(probe.title) + len(probe.reads)
    )
    open_probes = [probe for probe in catalogue() if probe.id not in answered]
    return script_of(choose(open_probes, bits, budget), hosts=hosts, budget_s=budget_s)


def code_of(probe: Probe) -> frozenset[str]:
    """The definitions that a probe needs beyond those of every script."""
    return _code((probe.function, *(COLLECTORS[name].function for name in probe.uses)))


@cache
def _code(roots: tuple[str, ...]) -> frozenset[str]:
    return closure(roots) - closure(["main", "Task"])


def script_of(probes: Sequence[Probe], *, hosts: Sequence[str] = (), budget_s: float = 60.0) -> str:
    """The script that runs exactly these probes, in this order."""
    collectors = sorted({name for probe in probes for name in probe.uses})
    roots = [
        "main",
        "Task",
        *(COLLECTORS[name].function for name in collectors),
        *(probe.function for probe in probes),
    ]
    code = assemble(roots)
    tasks = [_collector_line(name, probes) for name in collectors] + [_task_line(probe) for probe in probes]
    listed = "TASKS = [\n" + "".join(f"    {line},\n" for line in tasks) + "]\n"
    name = hashlib.sha256((code + listed).encode()).hexdigest()[:12]
    arguments = f"HOSTS = {','.join(hosts)!r}"
    end = (
        f'{arguments}\n\nif __name__ == "__main__":\n'
        f'    given = ["--hosts", HOSTS] if HOSTS else []\n'
        f'    sys.exit(main(given + sys.argv[1:], TASKS, "{name}", {float(budget_s)!r}))\n'
    )
    return (
        LAUNCHER
        + head(probes, budget_s)
        + "\nfrom __future__ import annotations\n\n"
        + code
        + "\n\n"
        + listed
        + end
    )


def head(probes: Sequence[Probe], budget_s: float) -> str:
    """The comment at the script's head: in plain words what it does, reads and leaves alone."""
    lines = [
        "distriage diagnostics. Read it before you run it; it is meant to be read.",
        "",
        "Run it the way you run the job (same shell, same container, same launcher), for instance",
        "    sh diagnose.sh        torchrun ... diagnose.sh        mpirun ... sh diagnose.sh",
        "and paste the block that it prints into the thread; with many ranks, every block.",
        "",
        f"It takes at most {budget_s:g} seconds, needs no root and no GPU, changes nothing, and writes only",
        "into a temporary folder that it removes. It talks to no machine but this one and the job's own",
        "(MASTER_ADDR, TF_CONFIG, host file, --hosts). User, host and folder names, addresses and secrets",
        "are taken out before anything is printed. It looks at:",
        "",
    ]
    out = [f"# {line}".rstrip() for line in lines]
    for probe in probes:
        out += textwrap.wrap(
            f"{probe.title}: {probe.reads}",
            116,
            initial_indent="# - ",
            subsequent_indent="#   ",
            break_long_words=False,
        )
    return "\n".join(out) + "\n"


def _task_line(probe: Probe) -> str:
    parts = [repr(probe.id), probe.function, repr(float(probe.limit_s))]
    if probe.scope == "host":
        parts.append("per_host=True")
    if first := [*probe.uses, *probe.after]:
        parts.append(f"uses={first!r}")
    return f"Task({', '.join(parts)})"


def _collector_line(name: str, probes: Sequence[Probe]) -> str:
    one = COLLECTORS[name]
    per_host = all(probe.scope == "host" for probe in probes if name in probe.uses)
    return f"Task({name!r}, {one.function}, {one.limit_s!r}, per_host={per_host}, collector=True)"
