"""Small worlds for probes: a root folder with /proc and /sys files, commands that print what real ones
print, variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

from knowledge.diagnostics.runtime.job import Job

NOTHING = {"hosts": "", "checkpoint": "", "loader": "", "library": ""}


def job(
    folder: Path,
    env: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    commands: Mapping[str, str] | None = None,
    **options: str,
) -> Job:
    """A job in a world of these files (absolute names) and these commands (name to shell script)."""
    root, bin_folder, tmp = folder / "root", folder / "bin", folder / "tmp"
    for one in (root, bin_folder, tmp):
        one.mkdir(exist_ok=True)
    for name, text in (files or {}).items():
        place = root / name.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    for name, script in (commands or {}).items():
        place = bin_folder / name
        place.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        place.chmod(0o755)
    variables = {"PATH": f"{bin_folder}:/usr/bin:/bin", **(env or {})}
    made = Job(variables, SimpleNamespace(**{**NOTHING, **options}), str(tmp), str(root))
    made.platform = "linux"
    return made


def smi(
    *rows: str, mig: str = "Disabled", health: str = "0, Not Active, Not Active", topology: str = ""
) -> str:
    """A shell script that answers as nvidia-smi does: one row a GPU of index, name, driver, total, used,
    mode."""
    table = "\n".join(rows)
    return f"""
case "$*" in
  *memory.used*) cat <<'END'
{table}
END
  ;;
  *mig.mode*) echo {mig} ;;
  *ecc.errors*) echo "{health}" ;;
  *topo*) printf '{topology}' ;;
esac"""
