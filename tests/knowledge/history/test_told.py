"""What a record keeps of known failures: those that match, and those that a comment would name unasked."""

from __future__ import annotations

import pytest

from knowledge.engine import Knowledge, examine, fingerprints, triage
from knowledge.findings.compile import read_catalogue
from knowledge.history.record import Post, Record
from knowledge.report import Report

TITLE = "EADDRINUSE for the second job on a machine"
BODY = """The second job that I start there fails at once. torch 2.4.0, torchrun --nproc-per-node 2

```
[E socket.cpp:500] [c10d] The server socket has failed to listen on any local network address.
torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. \
useIpv6: 0, code: -98, name: EADDRINUSE
```
"""
CONFLICT = """Building the extension fails on every node. PyTorch version: 2.1.2+cu121, Python version: 3.10
nvcc: Cuda compilation tools, release 11.8, V11.8.89

```
Traceback (most recent call last):
  File "setup.py", line 3, in <module>
RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.1).
```
"""
REGRESSION = f"I bisected this regression to commit abc1234; the release before worked.\n\n{BODY}"


def record(knowledge: Knowledge, body: str) -> Record:
    [made] = fingerprints([Post("5", TITLE, body, tracker="acme/train")], knowledge)
    return made


def test_a_record_keeps_what_a_triage_would_say_unasked(knowledge: Knowledge) -> None:
    found = record(knowledge, BODY)
    assert found.told and found.told == triage(Report("acme/train#5", TITLE, BODY), knowledge).unasked
    again = Record.from_json(found.to_json(), found.vectors, found.small)
    assert again.told == found.told


def test_what_would_not_help_is_kept_and_not_told(knowledge: Knowledge) -> None:
    found = record(knowledge, REGRESSION)
    assert found.failures and found.told == ()
    assert record(knowledge, "").told == (), "no error, nothing to look for"


def test_a_version_conflict_that_explains_the_error_is_kept_and_not_below_a_request(
    knowledge: Knowledge,
) -> None:
    found = record(knowledge, CONFLICT)
    triaged = triage(Report("acme/train#5", TITLE, CONFLICT), knowledge)
    assert found.conflicts == triaged.unasked_conflicts == ("toolkit-torch-cuda-12",)
    assert Record.from_json(found.to_json(), found.vectors).conflicts == found.conflicts
    asked = triaged.model_copy(update={"type": triaged.type.model_copy(update={"answer": ["feature"]})})
    elsewhere = triaged.model_copy(update={"scope": "other_field"})
    assert asked.unasked_conflicts == elsewhere.unasked_conflicts == ()
    assert (
        record(knowledge, CONFLICT.replace("release 11.8, V11.8.89", "release 12.1, V12.1.66")).conflicts
        == ()
    )


def test_one_read_before_it_was_kept_knows_nothing(knowledge: Knowledge) -> None:
    old = record(knowledge, BODY).to_json()
    del old["told"]
    found = Record.from_json(old, record(knowledge, BODY).vectors)
    assert found.told is None
    [triaged] = fingerprints([Post("5", TITLE, BODY)], knowledge, with_failures=False)
    assert triaged.told is None


@pytest.mark.parametrize("kind", ["telltale", "plain", "near_miss"])
def test_leaving_the_catalogue_unasked_where_no_line_tells_loses_nothing(
    knowledge: Knowledge, kind: str
) -> None:
    _, by_entry = read_catalogue()
    examples = [e for of_entry in by_entry.values() for e in of_entry if e.kind == kind][::40]
    made = fingerprints([Post(str(n), e.title, e.body) for n, e in enumerate(examples)], knowledge)
    for number, (example, kept) in enumerate(zip(examples, made, strict=True)):
        found = examine(Report(str(number), example.title, example.body), knowledge)
        sure = tuple(match.failure.id for match in found.matches if match.sure)
        shows_error = bool(kept.lines or kept.signatures or kept.exception)
        assert kept.failures == (sure if shows_error else ()), example.title
