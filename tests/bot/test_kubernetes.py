"""The Kubernetes manifests fit the program and the image, and ask for no more rights than it needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from bot.cli.app import app
from bot.settings import PREFIX, Settings

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
DOCS = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")
OBJECTS: list[dict[str, Any]] = [
    found
    for path in sorted(FOLDER.glob("*.yaml"))
    if path.name != "kustomization.yaml"
    for found in yaml.safe_load_all(path.read_text("utf-8"))
]
PODS = {o["metadata"]["name"]: o["spec"]["template"] for o in OBJECTS if "template" in o.get("spec", {})}
pods = pytest.mark.parametrize("pod", PODS.values(), ids=PODS)


def one(kind: str) -> dict[str, Any]:
    [found] = [o for o in OBJECTS if o["kind"] == kind]
    return found


def test_kustomize_lists_every_file() -> None:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text("utf-8"))
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(listed["resources"]) == files
    images = {c["image"] for pod in PODS.values() for c in pod["spec"]["containers"]}
    assert images == {image["name"] for image in listed["images"]}
    if shutil.which("kubectl"):
        done = subprocess.run(["kubectl", "kustomize", FOLDER], capture_output=True, text=True, check=True)
        assert len(list(yaml.safe_load_all(done.stdout))) == len(OBJECTS)


@pods
def test_a_pod_has_no_rights_and_writes_nowhere_but_its_data(pod: dict[str, Any]) -> None:
    assert set(PODS) == {"distriage-migrate", "distriage-web", "distriage-worker"}
    spec = pod["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    dockerfile = (FOLDER.parents[1] / "Dockerfile").read_text("utf-8")
    assert f"USER {spec['securityContext']['runAsUser']}\n" in dockerfile
    [container] = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (
        {"cpu", "memory"} == set(container["resources"]["limits"]) == set(container["resources"]["requests"])
    )
    assert {m["mountPath"] for m in container["volumeMounts"]} == {"/data", "/tmp"}


@pods
def test_a_pod_runs_a_command_of_ours_with_settings_that_exist(pod: dict[str, Any]) -> None:
    [container] = pod["spec"]["containers"]
    program, name, *rest = container["command"]
    assert program == "bot"
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    if rest and not rest[0].startswith("-"):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(name, rest)
    assert {name.removeprefix(PREFIX).lower() for name in one("ConfigMap")["data"]} <= set(
        Settings.model_fields
    )


def test_probes_ask_what_the_service_answers() -> None:
    web = PODS["distriage-web"]["spec"]["containers"][0]
    routes = (FOLDER.parents[1] / "bot" / "serve" / "web_app.py").read_text("utf-8")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert f'router.get("{web[probe]["httpGet"]["path"]}")' in routes
        assert web[probe]["httpGet"]["port"] == web["ports"][0]["name"]
    # A database that is away must not restart the service.
    assert web["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert web["readinessProbe"]["httpGet"]["path"] == "/readyz"
    worker = PODS["distriage-worker"]["spec"]["containers"][0]
    assert str(worker["ports"][0]["containerPort"]) == worker["command"][-1]
    assert worker["livenessProbe"]["httpGet"]["port"] == worker["ports"][0]["name"]
    graceful = 20 + 10
    assert all(
        PODS[f"distriage-{n}"]["spec"]["terminationGracePeriodSeconds"] > graceful for n in ("web", "worker")
    )


def test_selectors_find_their_pods() -> None:
    labels = PODS["distriage-web"]["metadata"]["labels"]
    assert one("Service")["spec"]["selector"] == labels
    assert one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels
    for deployment in (o for o in OBJECTS if o["kind"] == "Deployment"):
        assert (
            deployment["spec"]["selector"]["matchLabels"]
            == deployment["spec"]["template"]["metadata"]["labels"]
        )
    assert one("Service")["spec"]["ports"][0]["targetPort"] == "http"


def test_the_documented_secret_has_what_several_pods_must_share() -> None:
    command = DOCS.split("kubectl create secret generic distriage")[1].split("```")[0]
    names = set(re.findall(r"DISTRIAGE_(\w+)", command))
    assert {name.lower() for name in names} <= set(Settings.model_fields)
    assert {"DATABASE_URL", "ADMIN_SECRET", "GITHUB_WEBHOOK_SECRET"} <= names
