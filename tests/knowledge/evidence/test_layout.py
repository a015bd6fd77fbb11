"""Markdown and logs become lines of a known kind."""

from __future__ import annotations

from knowledge.evidence.layout import lay_out
from knowledge.evidence.lines import Kind, clean_text, split_lines


def kinds(body: str, *, is_log: bool = False) -> list[Kind]:
    return [line.kind for line in lay_out(body, is_log=is_log)]


def test_prose_code_log_and_environment_are_told_apart() -> None:
    body = "\n".join(
        [
            "## Environment",
            "- Horovod version: 0.19.1",
            "",
            "## Bug",
            "The job stops as soon as the second node takes part in it.",
            "```python",
            "import torch",
            "model = Net()",
            "loss.backward()",
            "```",
            "```",
            "Traceback (most recent call last):",
            '  File "a.py", line 3, in <module>',
            "RuntimeError: boom",
            "```",
        ]
    )
    found = kinds(body)
    assert found[0] is Kind.HEADING
    assert found[1] is Kind.ENVIRONMENT
    assert found[4] is Kind.PROSE
    assert found[6:9] == [Kind.CODE] * 3
    assert found[11:14] == [Kind.LOG] * 3


def test_a_hash_in_a_bare_log_is_no_heading() -> None:
    assert Kind.HEADING not in kinds("# cores 8\n## done", is_log=True)


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    lines = lay_out("text\n```\nRuntimeError: a\nlast", is_log=False)
    assert all(line.fenced for line in lines[1:])


def test_template_lines_and_comments_are_the_projects_words() -> None:
    body = (
        "<!-- please fill in -->\n- [x] I have searched\n**To Reproduce**\nSteps to reproduce the behavior:\n"
    )
    assert Kind.PROSE not in kinds(body)


def test_line_numbers_are_those_of_the_body() -> None:
    lines = lay_out("a\n\n```\nb\n```\nc", is_log=False)
    assert [line.number for line in lines] == list(range(1, 7))


def test_a_progress_bar_redrawn_with_carriage_returns_is_noise() -> None:
    text = clean_text("  0%|  | 0/10 [00:00<?, ?it/s]\r 50%|##| 5/10 [00:01<00:01, 4.9it/s]")
    assert split_lines(text) == [" 50%|##| 5/10 [00:01<00:01, 4.9it/s]"]
    assert kinds(text, is_log=True) == [Kind.NOISE]


def test_a_site_that_a_check_of_the_network_could_not_reach_is_no_error() -> None:
    text = "Error open MXNet: https://mxnet.example, <urlopen error timed out>, DNS finished in 1.29 sec."
    assert kinds(text, is_log=True) == [Kind.NOISE]
    assert kinds("Error opening https://mxnet.example: timed out", is_log=True) != [Kind.NOISE]


def test_invisible_characters_and_colours_are_dropped() -> None:
    assert clean_text("\x1b[31mEr\u200bror\x1b[0m\u202e x\x00") == "Error x"


def test_a_lone_surrogate_does_not_survive() -> None:
    assert clean_text("\x1b[31ma\ud800b").encode("utf-8") == b"a?b"


def test_text_around_a_comment_stays() -> None:
    lines = lay_out(
        "<!-- Please\ndescribe --> Training hangs on rank 3\nand <!-- x --> then dies", is_log=False
    )
    assert [line.text.strip() for line in lines] == ["", "Training hangs on rank 3", "and  then dies"]
    assert [line.kind for line in lines[1:]] == [Kind.PROSE, Kind.PROSE]


def test_a_comment_that_is_never_closed_hides_nothing() -> None:
    lines = lay_out("<!-- \nHi, my training with 4 GPUs hangs\n", is_log=False)
    assert lines[1].text == "Hi, my training with 4 GPUs hangs"


def test_an_error_in_a_table_is_read_with_its_rank() -> None:
    lines = lay_out("| rank | error |\n|---|---|\n| 3 | RuntimeError: CUDA out of memory |", is_log=False)
    assert (lines[2].kind, lines[2].rank, lines[2].text) == (Kind.LOG, 3, "RuntimeError: CUDA out of memory")


def test_lines_after_a_gap_keep_their_numbers() -> None:
    assert [line.number for line in lay_out("a\nb\nc", is_log=True, gap=(2, 100))] == [1, 2, 103]


def test_what_a_form_offers_to_choose_is_the_forms() -> None:
    assert kinds("High: It blocks me from completing my task.") == [Kind.TEMPLATE]
