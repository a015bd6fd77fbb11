"""The environment of the jobs in the set-ups: torch and what it needs, nothing of ours.

It is made of links into the environment that DISTRIAGE_TORCH_PYTHON names, so it costs no download; and it brings the
byte code of torch, which `make` leaves out of that environment: without it every import takes twice the time, and a
set-up makes four.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SOURCE = os.environ.get("DISTRIAGE_TORCH_PYTHON")
FILES = """
import json, re
from importlib.metadata import PackageNotFoundError, distribution
names, found = ["torch", "numpy"], {}
while names:
    name = names.pop()
    try:
        one = distribution(name)
    except PackageNotFoundError:
        continue
    if one.metadata["Name"] not in found:
        roots = {str(file).split("/")[0] for file in one.files or [] if not str(file).startswith("..")}
        found[one.metadata["Name"]] = (str(one.locate_file("")), sorted(roots - {"__pycache__"}))
        names += [re.match(r"[\\w.-]+", line).group() for line in one.requires or [] if "extra ==" not in line]
print(json.dumps(list(found.values())))
"""
ALL_REDUCE_ALONE = """
import torch, torch.distributed as d
d.init_process_group("gloo", store=d.HashStore(), rank=0, world_size=1)
d.all_reduce(torch.ones(1))
"""


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="distriage-job-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def job_python() -> str:
    """The jobs' Python; the one that runs the tests where no Python with torch is named."""
    if SOURCE is None:
        return sys.executable
    place = _folder() / "venv"
    subprocess.run([SOURCE, "-m", "venv", "--without-pip", str(place)], check=True)
    site = next(place.glob("lib/python3*/site-packages"))
    told = subprocess.run([SOURCE, "-c", FILES], check=True, capture_output=True, text=True).stdout
    for source, names in json.loads(told):
        for name in names:
            if not (site / name).exists():
                (site / name).symlink_to(Path(source) / name)
    return str(place / "bin" / "python")


@cache
def byte_code() -> str:
    """A folder with the byte code of all that an all-reduce imports."""
    folder = str(_folder() / "byte-code")
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPYCACHEPREFIX"] = folder
    if SOURCE is not None:
        subprocess.run([job_python(), "-c", ALL_REDUCE_ALONE], env=settings, check=True, capture_output=True)
    return folder
