"""The corpus of hostile reports: every attack in several faults, secrets of every kind, and the outsized.

All of it is ours. Secrets are put together here from parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

_HERE = Path(__file__).parent
_BOMB = re2.compile(r"\{bomb:([0-9]+):([^}]*)\}")
_A = "aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP"


@dataclass(frozen=True)
class Hostile:
    """One hostile report; `fault` names the report it was made from, `secret` must appear nowhere."""

    id: str
    family: str
    fault: str
    title: str
    body: str
    secret: str = ""


@cache
def faults() -> dict[str, tuple[str, str]]:
    """The plain reports: id to title and body."""
    with (_HERE / "faults.toml").open("rb") as file:
        return {f["id"]: (f["title"], f["body"]) for f in tomllib.load(file)["fault"]}


def secrets() -> dict[str, tuple[str, str]]:
    """Kind of secret to a line of a log that holds it, and the part that must go."""
    long = _A * 2
    hexed = "0123456789abcdef" * 3
    return {
        "github": ("git clone failed with " + (s := "ghp_" + _A + "zz11"), s),
        "github fine-grained": ("token " + (s := "github_" + "pat_" + long), s),
        "gitlab": ("CI used " + (s := "glpat-" + _A[:24]), s),
        "slack": ("notify " + (s := "xoxb-" + "123456789012-" + _A), s),
        "slack hook": ("POST https://hooks.slack.com/services/" + (s := "T0AB/B0CD/" + _A), s),
        "anthropic": ("key " + (s := "sk-ant-" + "api03-" + _A), s),
        "openai": ("key " + (s := "sk-proj-" + _A), s),
        "huggingface": ("HF login " + (s := "hf_" + _A), s),
        "google": ("gcloud " + (s := "AIza" + _A + "Q_x"), s),
        "aws id": ("credentials " + (s := "AKIA" + "ABCDEFGH12345678"), s),
        "aws secret": ("aws_secret_access_key = " + (s := _A + "AbCdEfGh"), s),
        "azure": ("AccountKey=" + (s := long + "=="), s),
        "npm": ("registry " + (s := "npm_" + _A + "abcd"), s),
        "pypi": ("upload with " + (s := "pypi-" + long), s),
        "docker": ("login " + (s := "dckr_pat_" + _A), s),
        "stripe": ("billing " + (s := "sk_" + "live_" + _A), s),
        "telegram": ("bot " + (s := "123456789:AA" + _A + "x"), s),
        "discord": ("https://discord.com/api/webhooks/" + (s := "123456789012/" + long), s),
        "jwt": ("sent " + (s := "eyJ" + _A + ".eyJ" + _A + "." + _A), s),
        "url": ("dataset postgres://trainer:" + (s := "hunter2hunter2") + "@db.internal/x", s),
        "header": ("> Authorization: Bearer " + (s := _A + "." + _A), s),
        "wandb": ("wandb login " + (s := hexed[:40]), s),
        "ssh": ("ssh-rsa " + (s := "AAAAB3NzaC1yc2E" + long), s),
        "password": ('"master_password": "' + (s := "Tr0ub4dor&3x") + '",', s),
        "option": ("train.py --password " + (s := "correcthorse9"), s),
        "email": ("mail from " + (s := "jane.doe" + "@" + "corp.example"), s),
        "hidden": ("git clone failed with ghp_\u200b" + _A + "zz22", "ghp_" + _A + "zz22"),
    }


@cache
def corpus() -> tuple[Hostile, ...]:
    """All hostile reports, in a fixed order."""
    return (*_attacked(), *_leaking(), *_outsized())


def _attacked() -> list[Hostile]:
    with (_HERE / "attacks.toml").open("rb") as file:
        attacks = tomllib.load(file)["attack"]
    found = []
    for n, attack in enumerate(attacks):
        text = _BOMB.sub(lambda m: m.group(2) * int(m.group(1)), attack["text"])
        for fault, (title, body) in faults().items():
            name = f"{attack['family']}-{n}-{fault}"
            found.append(Hostile(name, attack["family"], fault, *_placed(attack["place"], text, title, body)))
    return found


def _placed(place: str, text: str, title: str, body: str) -> tuple[str, str]:
    if place == "title":
        return f"{title} {text}", body
    if place == "top":
        return title, f"{text}\n{body}"
    if place == "bottom":
        return title, f"{body}\n{text}\n"
    if place == "quote":
        return title, body + "\n" + "\n".join(f"> {line}" for line in text.splitlines())
    before, after = body.rsplit("```", 1)
    return title, f"{before}{text}\n```{after}"


def _leaking() -> list[Hostile]:
    found = []
    for (kind, (line, secret)), fault in zip(secrets().items(), list(faults()) * 9, strict=False):
        title, body = faults()[fault]
        title, body = _placed("log", f"RuntimeError: {line}", title, body)
        found.append(Hostile(f"secret-{kind}-{fault}", "secret", fault, f"{title} {line}", body, secret))
    return found


def _outsized() -> list[Hostile]:
    title, body = faults()["hang"]
    noise = "step 1000 loss 2.31 lr 0.0001 tokens/s 31234\n"
    return [
        Hostile("size-log-5mb", "size", "hang", title, body.replace("```\n[", f"```\n{noise * 110_000}[", 1)),
        Hostile("size-one-line-5mb", "size", "hang", title, f"{body}\n{'x' * 5_000_000}"),
        Hostile("size-title", "size", "hang", title + "!" * 100_000, body),
        Hostile("size-lines", "size", "hang", title, body + "\n" * 500_000),
        Hostile("size-fences", "size", "hang", title, body + "\n```\nx\n```\n" * 20_000),
        Hostile("size-mentions", "size", "hang", title, body + " @octocat" * 100_000),
    ]
