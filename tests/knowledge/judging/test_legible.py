"""What can be read of a report, and whether it says enough."""

from __future__ import annotations

import pytest

from knowledge.evidence import Reading, read_report
from knowledge.judging.scope import (
    has_log,
    is_foreign,
    says_too_little,
    tells_distributed,
    without_foreign_prose,
)
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()
TIMEOUT = (
    "torch.distributed.DistNetworkError: The client socket has timed out after 1800s while trying to connect"
)


def read(title: str, body: str) -> Reading:
    return read_report(Report("a/b#1", title, body), TABLE)


@pytest.mark.parametrize(
    "text",
    [
        "训练卡死：多卡训练到第二个 epoch 停住不动，使用 Horovod 和 PyTorch",
        "マルチノードで学習が開始しない",
        "여러 GPU에서 학습이 멈춥니다",
        "Обучение зависает на двух узлах после первой эпохи",
        "Mein Training bleibt nach der ersten Epoche hängen und es gibt keine Meldung",
        "El entrenamiento se queda bloqueado cuando uso dos GPUs y no hay ningún mensaje",
        "L'entraînement se bloque avec deux cartes mais pas avec une seule, je ne comprends pas",
    ],
)
def test_prose_of_other_languages_is_foreign(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "Training hangs on two nodes after the first epoch. The message is 训练卡死.",
        "usage: infer.py [-h] [--source-lang de] [--target-lang en] -l -c -o DIR",
        "Fails in São Paulo and München, too; the die size is not the reason",
        "loss is α * β + γ and the gradient of it is NaN with DDP",
        "",
    ],
)
def test_english_with_a_few_strange_words_is_not(text: str) -> None:
    assert not is_foreign(text)


def test_a_post_in_two_languages_is_read() -> None:
    chinese = "训练到第二个 epoch 就停住不动了，没有任何报错，单机没有这个问题。"
    english = "Training stops in the second epoch and there is no error; it is fine on one machine with the same data."
    assert not is_foreign(f"{chinese}\n{english}")


def test_of_foreign_prose_the_log_is_left() -> None:
    reading = read("多机训练卡住了怎么办", f"两台机器连不上，请问怎么解决？\n\n```\n{TIMEOUT}\n```")
    heard = without_foreign_prose(reading)
    assert heard.prose == ""
    assert heard.report.title == ""
    assert [d.text for d in heard.decisive] == [TIMEOUT]
    assert has_log(heard)
    assert tells_distributed(heard)


def test_english_is_left_as_it_is() -> None:
    reading = read("Training hangs", "It hangs on two nodes.")
    assert without_foreign_prose(reading) is reading


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("", "it doesn't work"),
        (
            "Training error with multiple GPUs",
            "Hi, I get this error, please help!\n\n![error](https://x.example/2.png)",
        ),
        ("It fails after a while", "We use 2 nodes. Please help me"),
        ("Environment", "```\nPyTorch version: 2.5.1+cu124\nIs debug build: False\nGPU 0: NVIDIA A100\n```"),
        ("[BUG]", "**Describe the bug**\nA clear and concise description of what the bug is."),
    ],
)
def test_hardly_a_word_is_too_little(title: str, body: str) -> None:
    assert says_too_little(read(title, body))


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("It hangs at start.", "It hangs at start."),
        ("Help", f"```\n{TIMEOUT}\n```"),
        ("Question", "```python\nimport torch\nmodel = DDP(model)\nmodel(x).sum().backward()\n```"),
        ("Horovod with gradient accumulation", "Is there an example?"),
    ],
)
def test_a_symptom_a_log_or_code_is_enough(title: str, body: str) -> None:
    assert not says_too_little(read(title, body))
