"""What the script prints names no person, machine, folder or secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.diagnostics.runtime.redact import redact_facts, redact_text

NAMES = ["annalise", "gpu-node-17"]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/annalise/proj/run.py failed", "<path> failed"),
        ("libnccl.so.2 => /opt/x/libnccl.so.2", "libnccl.so.2 => <path>:libnccl.so.2"),
        ("connect to 10.1.2.3 port 22", "connect to <private-ip> port 22"),
        ("peer 8.8.8.8 and 127.0.0.1", "peer <public-ip> and <loopback-ip>"),
        ("fe80::1ff:fe23:4567:890a", "<ip6>"),
        ("token=abcd1234", "token=<secret>"),
        ("WANDB_API_KEY: 0123abcd", "WANDB_API_KEY: <secret>"),
        ("ghp_0123456789abcdef", "<secret>"),
        ("see https://me:pw@host.example/x now", "see <url> now"),
        ("mail a.b@c.example.org now", "mail <mail> now"),
        ("on gpu-node-17 as annalise", "on <name> as <name>"),
        ("torch 2.5.1+cu121", "torch 2.5.1+cu121"),
        ('login(password="correct horse battery")', "login(password=<secret>)"),
        ("DB_PASS=p#ss~w?rd|12[3] x", "DB_PASS=<secret> x"),
        ("Authorization: Bearer abc123", "Authorization: <secret>"),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": <secret>}'),
        ("run --hf-token " + "abc123 --lr 1", "run --hf-token <secret> --lr 1"),
        ("key " + "nvapi" + "-0123456789abcdef", "key <secret>"),
        ("-----BEGIN RSA PRIVATE " + "KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "<secret>"),
        ("in C:\\Users\\Alice Smith\\train.py now", "in <path> now"),
        ("\\\\server\\alice\\x failed", "<path> failed"),
        ("/home/张三/train.py failed", "<path> failed"),
        ("KeyError: 'model' tokenizer=gpt2", "KeyError: 'model' tokenizer=gpt2"),
    ],
)
def test_it_takes_out(text: str, clean: str) -> None:
    assert redact_text(text, NAMES) == clean


@given(st.text(max_size=200))
def test_doing_it_twice_changes_nothing(text: str) -> None:
    once = redact_text(text, NAMES)
    assert redact_text(once, NAMES) == once


def test_facts_are_short_flat_and_clean() -> None:
    facts = {
        "a": "x" * 500,
        "b": ["/home/annalise"] * 99,
        "c": {"d": "gpu-node-17"},
        "e": 0.123456,
        "f": None,
        "g": True,
    }
    clean = redact_facts(facts, NAMES)
    assert len(str(clean["a"])) == 120
    assert clean["b"] == ["<path>"] * 16
    assert "gpu-node" not in str(clean["c"])
    assert (clean["e"], clean["f"], clean["g"]) == (0.1235, None, True)


def test_a_driver_version_of_four_numbers_is_no_address() -> None:
    assert redact_facts({"version": "2.1.0.4"}, [])["version"] == "2.1.0.4"
