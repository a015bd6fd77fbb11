"""The wheel and the source archive, built once, and an installation of the wheel far from the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Built:
    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel, and a folder that is nowhere near the checkout."""

    bin: Path
    folder: Path
    seconds: float = 0.0
    """How long the installation took."""

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing of this process's own."""
        places = {"HOME": str(self.folder), "DISTRIAGE_DATA_DIR": str(self.folder / "data")}
        return {"PATH": f"{self.bin}{os.pathsep}{os.defpath}", **places, **more}

    def run(self, *command: str, text: str = "", **more: str) -> str:
        """The output of a command, which must succeed."""
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            input=text,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment(**more),
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout


def tracked() -> list[str]:
    """What git would put into a commit now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())


def documented_pip() -> list[list[str]]:
    """The arguments of each `pip install` of docs/install.md's way with pip."""
    block = (ROOT / "docs" / "install.md").read_text("utf-8").split("With pip:")[1].split("```")[1]
    return [line.split() for line in re.findall(r"/pip install (.+)", block)]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("build")
    for name in tracked():
        (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / "src" / name)
    # First the source archive, then the wheel out of it: what the archive lacks, the wheel lacks, too.
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder / "dist", folder / "src"], check=True)
    [sdist], [wheel] = (list((folder / "dist").glob(kind)) for kind in ("*.tar.gz", "*.whl"))
    return Built(sdist, wheel)


@pytest.fixture(scope="session")
def installed(built: Built) -> Iterator[Installed]:
    # Root's embedded PostgreSQL runs as another user, who must reach its programs; and its socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="dt-", dir="/tmp"))
    folder.chmod(0o755)
    started = time.monotonic()
    python = folder / "venv" / "bin" / "python"
    # Debian's Python has no pip to put into it.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for arguments in documented_pip():
        what = [str(built.wheel) if argument == "." else argument for argument in arguments]
        subprocess.run([*pip, *what], check=True, env=clean, cwd=ROOT)
    yield Installed(python.parent, folder, time.monotonic() - started)
    shutil.rmtree(folder, ignore_errors=True)
