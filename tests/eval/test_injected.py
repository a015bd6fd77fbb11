"""Scoring logs of injected faults, and putting them behind prefixes; no job is run here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.app import app
from eval.injected import (
    FIGURES,
    PLAIN,
    STYLES,
    TELL_RANK,
    Injected,
    Truth,
    behind,
    failures,
    figure,
    read_injected,
    score_injected,
    table,
)
from knowledge.engine import Knowledge, triage
from knowledge.errors import DataError
from tests.inject.runner import read_records

VOICED: list[tuple[int | None, str]] = [
    (0, "epoch 0 step 0 loss 0.41"),
    (1, "[rank1]: Traceback (most recent call last):"),
    (1, '[rank1]:   File "/workspace/train.py", line 31, in <module>'),
    (1, "[rank1]:     main()"),
    (1, "[rank1]: KeyError: 'label'"),
    (0, "[rank0]: Traceback (most recent call last):"),
    (0, '[rank0]:   File "/workspace/train.py", line 31, in <module>'),
    (0, "[rank0]:     main()"),
    (
        0,
        "[rank0]: RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:3599",
    ),
    (
        None,
        "E0503 10:02:31.051000 1373 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1)",
    ),
]
RECORD = Injected(
    id="data.field@torchrun:2",
    fault="data.field",
    held_out=False,
    log="\n".join(text for _, text in VOICED) + "\n",
    voices=tuple(rank for rank, _ in VOICED),
    truth=Truth(root="KeyError: 'label'", ranks=(1,), symptom=("D.other", "C.6"), cause=("other",)),
)


@pytest.mark.parametrize("style", STYLES)
def test_every_line_stands_behind_its_prefix_in_the_order_of_its_rank(style: str) -> None:
    lines = behind(style, VOICED)
    assert len(lines) == len(VOICED)
    for rank in (0, 1, None):
        own = [text for voice, text in VOICED if voice == rank]
        assert [text for text in own if any(line.endswith(text) for line in lines)] == own
        places = [
            next(i for i, line in enumerate(lines) if line.endswith(text))
            for text in own
            if "rank0" not in text
        ]
        assert places == sorted(places)


def test_ranks_that_print_at_once_are_mixed_and_the_same_seed_mixes_them_alike() -> None:
    many: list[tuple[int | None, str]] = [(i // 20 % 2, f"line {i}") for i in range(200)]
    once = behind("srun -l", many, seed=3)
    assert once == behind("srun -l", many, seed=3)
    assert once != [f" {rank}: {text}" for rank, text in many]


@pytest.mark.parametrize("style", [PLAIN, *STYLES])
def test_a_log_is_read_alike_behind_every_prefix(style: str, knowledge: Knowledge) -> None:
    [row] = score_injected([RECORD], lambda report: triage(report, knowledge), styles=[style])
    assert row.hits == dict.fromkeys(FIGURES, True)
    assert row.first_exception


def test_a_rank_that_no_prefix_tells_is_not_scored(knowledge: Knowledge) -> None:
    bare = [(rank, text.removeprefix("[rank1]: ").removeprefix("[rank0]: ")) for rank, text in VOICED]
    record = RECORD.model_copy(update={"log": "\n".join(text for _, text in bare) + "\n"})
    rows = score_injected([record], lambda report: triage(report, knowledge))
    assert {row.style for row in rows if row.hits["root rank"] is not None} == set(TELL_RANK)
    assert figure(rows, "root rank").n == len(TELL_RANK)


def test_what_was_read_wrongly_is_listed_for_the_half_that_is_developed_on_alone(
    knowledge: Knowledge,
) -> None:
    wrong = RECORD.model_copy(update={"truth": RECORD.truth.model_copy(update={"symptom": ("A.1",)})})
    held_out = wrong.model_copy(
        update={"id": "data.other@torchrun:2", "fault": "data.other", "held_out": True}
    )
    rows = score_injected([wrong, held_out], lambda report: triage(report, knowledge), styles=[PLAIN])
    [listed] = failures(rows).splitlines()
    assert json.loads(listed)["wrong"] == ["symptom"]
    assert "held out (1 faults, 1 logs" in table(rows)


def test_the_command_prints_both_tables(tmp_path: Path) -> None:
    file = tmp_path / "logs.jsonl"
    file.write_text(RECORD.model_dump_json() + "\n")
    done = CliRunner().invoke(app, ["eval", "--injected", str(tmp_path), "--report", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "| as printed | 1.00" in done.output
    assert (tmp_path / "out" / "injected.jsonl").read_text() == ""


def test_a_separator_inside_a_log_ends_no_record(tmp_path: Path) -> None:
    truth = {"root": "KeyError", "ranks": [0], "symptom": ["D.other"], "cause": ["other"]}
    record = {
        "id": "x@y",
        "fault": "x",
        "held_out": False,
        "log": "a\u2028b\x85c",
        "voices": [0],
        "truth": truth,
    }
    file = tmp_path / "logs.jsonl"
    file.write_text(json.dumps(record, ensure_ascii=False) + "\n", "utf-8")
    assert [one.log for one in read_injected(file)] == ["a\u2028b\x85c"]
    assert [one["log"] for one in read_records(file)] == ["a\u2028b\x85c"]
    assert read_records(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("text", ["", '{"id": "x"}\n', "no json\n"])
def test_a_file_of_something_else_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "logs.jsonl"
    file.write_text(text)
    with pytest.raises(DataError, match=r"doesn't contain|contains no|not valid JSON"):
        read_injected(file)
