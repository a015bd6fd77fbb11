"""Sentences that every surface shares."""

from __future__ import annotations

import pytest

from bot.render.wording import classified, does_not_apply, one_more, to_run, with_sign
from knowledge.taxonomy import load_taxonomy
from tests.bot.fake_core import a_triage, axis


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("**A firewall.** The call times out.", ("A firewall.", "The call times out.")),
        ("**A firewall.**", ("A firewall.", "")),
        ("A firewall drops the packets.", ("A firewall drops the packets.", "")),
    ],
)
def test_a_cause_comes_with_what_shows_it(cause: str, said: tuple[str, str]) -> None:
    assert with_sign(cause) == said


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("`ulimit -n`: less than 4096 is too low.", "To check, run `ulimit -n`. Less than 4096 is too low."),
        ("`ompi_info`: lists no CUDA.", "To check, run `ompi_info`. It lists no CUDA."),
        ("`nvidia-smi`: `ERR!` means a fault.", "To check, run `nvidia-smi`. `ERR!` means a fault."),
        ("`pip list`: torch is 2.4.", "To check, run `pip list`. torch is 2.4."),
        ("`nc -z H 1` on a node: It fails.", "To check, run `nc -z H 1` on a node. It fails."),
        ("`print(n)`: 0 means none.", "To check, run `print(n)` in your script. 0 means none."),
        (
            "`print(n)`: Put this at the end of `setup`. 0?",
            "To check, run `print(n)` at the end of `setup`. 0?",
        ),
        ("`x = f(); print(x)`: In the script, 0?", "To check, run `x = f(); print(x)` in your script. 0?"),
        ("In `a`, look at `b`.", "In `a`, look at `b`."),
        ("Compare `a` with `b`.", "To check, compare `a` with `b`."),
        ("NCCL names the peer.", "To check: NCCL names the peer."),
    ],
)
def test_a_command_to_run_is_a_sentence(check: str, said: str) -> None:
    assert to_run(check) == said


def test_a_further_check_is_sentences_of_its_own() -> None:
    assert one_more("`ompi_info`: lists no CUDA.") == "Run `ompi_info`. It lists no CUDA."
    assert one_more("Compare `a` with `b`.") == "Compare `a` with `b`."
    assert one_more("`nvidia-smi`: `ERR!` means a fault.") == "Run `nvidia-smi`. `ERR!` means a fault."


def test_when_a_finding_does_not_apply_is_a_sentence() -> None:
    assert does_not_apply("The error names a host.") == "This doesn't apply if the error names a host."
    told = does_not_apply("NCCL isn't built in. Rebuild it.")
    assert told == "This doesn't apply if NCCL isn't built in. Rebuild it."
    told = does_not_apply("The port is below 1024, in which case only root may use it.")
    assert told == "This doesn't apply if the port is below 1024. In that case, only root may use it."
    told = does_not_apply("The line is `a. Then b` or 1 ... 2.")
    assert told == "This doesn't apply if the line is `a. Then b` or 1 ... 2."


def test_a_framework_bug_is_no_headline_unless_people_say_so() -> None:
    cause = axis(("framework_defect", 0.97))
    triage = a_triage(cause=cause)
    taxonomy = load_taxonomy()
    assert "ramework" not in classified(triage, taxonomy)
    given = triage.model_copy(update={"cause": cause.model_copy(update={"by_people": True})})
    assert "Framework bug" in classified(given, taxonomy)
