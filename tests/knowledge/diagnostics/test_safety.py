"""The kernel's own account of the script: it writes nothing outside its folder and talks to nobody it
does not declare."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import re2

from knowledge.diagnostics.compose import script_of
from knowledge.diagnostics.probe import catalogue
from knowledge.diagnostics.result import parse_result

CALLS = (
    "open,openat,openat2,creat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,rmdir,link,linkat,symlink,"
    "symlinkat,chmod,fchmodat,chown,fchownat,truncate,mknod,mknodat,utimensat,setxattr,connect,sendto,execve,kill,"
    "mount,setuid,sethostname,clock_settime,reboot,init_module"
)
OPEN = re2.compile(
    r'^\d+ +open(?:at2?)?\((?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"([^"]*)", (?:\{flags=)?([A-Z_|]+)'
)
CHANGE = re2.compile(
    r"^\d+ +(?:creat|mkdir|unlink|rename|rmdir|link|symlink|chmod|fchmod|chown|fchown|truncate|mknod|utimens|setxattr)"
    r"\w*"
    r'\((?:(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"([^"]*)"'
)
CONNECT = re2.compile(r"^\d+ +(?:connect|sendto)\(.*\{sa_family=(AF_\w+)(?:, (.*?))\}")
FORBIDDEN = re2.compile(r"^\d+ +(?:mount|setuid|sethostname|clock_settime|reboot|init_module)\(")
PLACES = ("/dev/null", "/dev/tty", "/proc/self/")
SCRIPT = script_of([probe for probe in catalogue() if probe.scope != "between"])
PYTHONS = [sys.executable, *filter(None, [os.environ.get("DISTRIAGE_TORCH_PYTHON")])]


def traceable() -> bool:
    """Whether strace is here and may trace."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0


def traced(folder: Path, python: str, env: dict[str, str]) -> tuple[list[str], str]:
    """The system calls of a run of all probes, and what it printed."""
    work = folder / "work"
    work.mkdir()
    (work / "train.py").write_text(
        "import torch.distributed as dist\ndist.init_process_group('gloo')\n", encoding="utf-8"
    )
    (folder / "diagnose.sh").write_text(SCRIPT, encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    full = {
        "PATH": "/usr/bin:/bin:/usr/sbin",
        "HOME": str(home),
        "PYTHON": python,
        "TMPDIR": str(folder / "tmp"),
        **env,
    }
    (folder / "tmp").mkdir()
    argv = ["strace", "-f", "-y", "-qq", "-s", "300", "-e", f"trace={CALLS}", "-o", str(folder / "trace")]
    done = subprocess.run(
        [*argv, "sh", str(folder / "diagnose.sh")],
        env=full,
        cwd=work,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in work.iterdir()) == ["train.py"]
    assert list(home.iterdir()) == []
    return (folder / "trace").read_text(encoding="utf-8", errors="replace").splitlines(), done.stdout


def written(lines: list[str], work: Path) -> set[str]:
    """Places that calls which did not fail opened for writing, made, removed or changed."""
    places = set()
    for line in lines:
        if " = -1 " in line:
            continue
        if (found := OPEN.match(line)) is not None:
            if not {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"} & set(found.group(3).split("|")):
                continue
        elif (found := CHANGE.match(line)) is None:
            continue
        places.add(str(Path(found.group(1) or work) / found.group(2)))
    return places


def spoken_to(lines: list[str]) -> set[tuple[str, str]]:
    """Family and address of every connection and datagram."""
    return {found.groups() for line in lines if (found := CONNECT.match(line)) is not None}


@pytest.mark.skipif(not traceable(), reason="strace is not here or may not trace")
@pytest.mark.parametrize("python", PYTHONS, ids=["plain", "torch"][: len(PYTHONS)])
def test_it_writes_only_into_its_own_folder_and_talks_only_to_this_machine(
    tmp_path: Path, python: str
) -> None:
    env = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29871",
        "RANK": "0",
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
    }
    lines, said = traced(tmp_path, python, env)
    assert {answer.outcome for answer in parse_result(said)[0].probes} > {"ok", "not_applicable"}
    own = str(tmp_path / "tmp" / "distriage-")
    outside = {place for place in written(lines, tmp_path / "work") if not place.startswith((own, *PLACES))}
    assert outside == set()
    strangers = {
        (family, address)
        for family, address in spoken_to(lines)
        if family not in ("AF_UNIX", "AF_LOCAL", "AF_NETLINK")
        # Port 53 is the system's resolver, which the script's head names.
        and "127.0.0.1" not in address
        and '"::1"' not in address
        and "htons(53)" not in address
    }
    assert strangers == set()
    assert not [
        line
        for line in lines
        if re2.match(r"^\d+ +(mount|setuid|sethostname|clock_settime|reboot|init_module)\(", line)
    ]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.skipif(not traceable(), reason="strace is not here or may not trace")
def test_the_check_itself_sees_a_write_and_a_connection(tmp_path: Path) -> None:
    code = "import socket as s; open('x', 'w'); s.socket(s.AF_INET, s.SOCK_DGRAM).connect(('192.0.2.1', 9))"
    argv = ["strace", "-f", "-y", "-qq", "-e", f"trace={CALLS}", "-o", str(tmp_path / "trace")]
    subprocess.run([*argv, sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    lines = (tmp_path / "trace").read_text(encoding="utf-8").splitlines()
    assert str(tmp_path / "x") in written(lines, tmp_path)
    assert any("192.0.2.1" in address for _, address in spoken_to(lines))
