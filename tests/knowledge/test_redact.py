"""Secrets leave, everything else stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.redaction import redact, redaction_kinds

SECRETS = {
    "github_token": "ghp_" + "a1B2" * 9,
    "gitlab_token": "glpat-" + "x9Y8" * 5,
    "slack_token": "xoxb-123456789012-" + "AbCd" * 4,
    "slack_webhook": "https://hooks.slack.com/services/T000/B000/" + "Zz9" * 6,
    "anthropic_key": "sk-ant-api03-" + "q1W2" * 6,
    "openai_key": "sk-proj-" + "e3R4" * 8,
    "huggingface_token": "hf_" + "tYuI" * 8,
    "google_api_key": "AIza" + "Sy12" * 9,
    "aws_access_key": "AKIA" + "Q2W3E4R5" * 2,
    "aws_secret_key": "aws_secret_access_key = " + "aB3/" * 10,
    "azure_key": "AccountKey=" + "Kk1+" * 12,
    "npm_token": "npm_" + "a1B2" * 9,
    "pypi_token": "pypi-" + "AgEI" * 12,
    "docker_token": "dckr_pat_" + "a1-_" * 6,
    "stripe_key": "sk_live_" + "a1B2" * 5,
    "telegram_token": "123456789:AA" + "b2C3" * 9,
    "discord_webhook": "https://discord.com/api/webhooks/123456789012/" + "a1B2" * 8,
    "jwt": "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
    "url_password": "postgres://user:hunter2@db:5432/x",
    "authorization": "Authorization: Bearer " + "a1B2" * 5,
    "wandb_key": "wandb login " + "0a1b2c3d" * 5,
    "ssh_public_key": "ssh-rsa AAAA" + "B3Nz" * 12,
    "password": "redis_password=s3cretw0rd ",
    "email": "jane.doe@example.org",
    "home": "/home/janedoe/run",
    "private_key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize(("kind", "text"), SECRETS.items())
def test_each_kind_is_removed_and_named(kind: str, text: str) -> None:
    cleaned = redact(f"before {text} after")
    assert cleaned.counts.get(kind), cleaned
    assert f"[redacted:{kind}]" in cleaned.text
    assert cleaned.text.startswith("before ")
    assert cleaned.text.endswith(" after")


def test_at_least_twenty_kinds_are_known() -> None:
    assert len(redaction_kinds()) >= 20


def test_a_private_key_keeps_its_number_of_lines() -> None:
    text = SECRETS["private_key"]
    assert redact(text).text.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "pad_token=self.pad_index",
        "loss.backward(); optimizer.step()",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
        "torch==1.13.1+cu117 on Ubuntu 20.04",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text).text == text


@given(st.text(max_size=300), st.sampled_from(sorted(SECRETS.values())), st.text(max_size=300))
def test_redacting_twice_changes_nothing(before: str, secret: str, after: str) -> None:
    once = redact(f"{before} {secret} {after}")
    assert redact(once.text).text == once.text
    assert once.text.count("\n") == f"{before} {secret} {after}".count("\n")
