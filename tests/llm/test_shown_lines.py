"""Which lines the model sees, and that it is told what it does not see."""

from __future__ import annotations

from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from llm.duties import QUESTION_TOKENS as ADJUDICATOR_TOKENS
from llm.duties import Question, adjudicator_request, with_lines
from llm.prompts import ShownLines, choose_lines, shortened
from llm.values import estimate
from tests.llm.questions import a_question, a_reading


def shown(body: str, tokens: int = 4_000, title: str = "Crash") -> ShownLines:
    return choose_lines(a_reading(Report("acme/train#1", title, body)), tokens)


def test_a_long_line_keeps_its_error_its_head_and_its_end() -> None:
    line = f"worker 3 at step 12 {'x=1, ' * 300}RuntimeError: NCCL error: unhandled system error {'y=2, ' * 60}the end"
    text = shown(f"```\n{line}\n```").lines[2]
    assert "RuntimeError: NCCL error" in text
    assert text.startswith("worker 3 at step 12")
    assert text.endswith("the end")
    assert len(text) < 1_100


def test_a_paragraph_is_not_cut_at_three_hundred_characters() -> None:
    words = "It stops after the first epoch when two nodes take part in the run. " * 8
    assert shown(f"{words}The last sentence counts.").lines[1].endswith("The last sentence counts.")


def test_shortening_leaves_short_lines_alone_and_marks_a_cut() -> None:
    assert shortened("a short line", 50, ()) == "a short line"
    cut = shortened("a" * 500 + " killed " + "b" * 500, 100, ())
    assert "killed" in cut
    assert "[…]" in cut
    assert len(cut) < 130


def test_copies_of_a_line_are_shown_once_with_their_number() -> None:
    noise = "\n".join("[W] NCCL WARN Missing socket peer on the ring" for _ in range(233))
    found = shown(f"```\n{noise}\nRuntimeError: NCCL error, unhandled system error\n```")
    assert found.text.count("Missing socket peer") <= 3  # those beside the decisive line stay
    assert "such lines]" in found.text
    assert found.partly == ""


def test_lines_that_differ_in_numbers_alone_are_folded_only_when_they_are_many() -> None:
    many = "\n".join(f"INFO worker {n} loaded shard {n}" for n in range(40))
    few = "\n".join(f"GPU {n} has {n}123 MiB free" for n in range(4))
    found = shown(f"```\n{many}\n{few}\nRuntimeError: CUDA out of memory\n```")
    assert found.text.count("loaded shard") <= 2
    assert found.text.count("MiB free") == 4


def test_of_a_long_traceback_the_end_and_of_a_native_backtrace_the_head_go_first() -> None:
    frames = "\n".join(
        f'  File "/a/deep_{n}.py", line {n}, in call_{n}\n    step_{n}(model)' for n in range(200)
    )
    native = "\n".join(
        f"frame #{n}: native_function_{n} + 0x{n} (0x7f{n} in /usr/lib/libtorch.so)" for n in range(200)
    )
    python = shown(f"```\nTraceback (most recent call last):\n{frames}\nRuntimeError: boom\n```", 1_500)
    assert "call_199" in python.text
    assert "call_3" not in python.text.split("call_30")[0]
    back = shown(f"```\nterminate called after throwing an instance of 'c10::Error'\n{native}\n```", 1_500)
    assert "native_function_2 " in back.text
    assert "native_function_199 " not in back.text


def test_the_question_says_when_only_a_part_is_shown() -> None:
    body = "\n".join(f"sentence {n} {'of prose ' * 20}" for n in range(400))
    found = shown(body, 1_000)
    assert "Only a part of the report is shown: lines " in found.partly
    last = max(found.lines)
    assert f"{last + 1}-400" in found.partly
    assert shown("a short report").partly == ""


def test_the_budget_holds_for_the_whole_question() -> None:
    body = "\n".join(f"RuntimeError: sentence{n} {'of a log ' * 30}" for n in range(900))
    reading = a_reading(Report("acme/train#1", "Crash", body))
    question: Question = with_lines(a_question(), reading, load_taxonomy(), ADJUDICATOR_TOKENS)
    request = adjudicator_request(question, load_taxonomy(), "t" * 16)
    assert 0.85 * ADJUDICATOR_TOKENS < request.estimated <= ADJUDICATOR_TOKENS
    assert estimate(choose_lines(reading, 500).text) <= 520
