"""Image, manifests, workflows: each read by a checker that knows its format."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / ".github" / "workflows").glob("*.yml"))
MANIFESTS = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "deploy" / "kubernetes").glob("*.yaml")
    if path.name != "kustomization.yaml"
)
CHECKS = [
    ["hadolint", "Dockerfile"],
    ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.example.yaml"],
    ["check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml"],
    ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS],
    ["zizmor", "--offline", "--quiet", "action.yml", *WORKFLOWS],
    *(["kubernetes-validate", "--strict", manifest] for manifest in MANIFESTS),
]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which(command[0], path=path)
    assert program is not None, f"{command[0]} is not installed: make test-package does it"
    return subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("command", CHECKS, ids=lambda command: f"{command[0]} {Path(command[-1]).name}")
def test_it_is_accepted(command: list[str]) -> None:
    done = run(command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_checkers_find_faults(tmp_path: Path) -> None:
    """A checker that accepts everything would be none."""
    text = (ROOT / "deploy" / "kubernetes" / "web.yaml").read_text("utf-8")
    (tmp_path / "web.yaml").write_text(text.replace("livenessProbe", "livnessProbe"), "utf-8")
    assert run(["kubernetes-validate", "--strict", str(tmp_path / "web.yaml")]).returncode != 0
    text = (ROOT / "compose.example.yaml").read_text("utf-8")
    (tmp_path / "compose.yaml").write_text(text.replace("read_only", "readonly"), "utf-8")
    assert run([*CHECKS[1][:-1], str(tmp_path / "compose.yaml")]).returncode != 0
