"""`torch.__version__` and its like, in a Python session, a shell or a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import re2

from knowledge.evidence.lines import Line
from knowledge.evidence.tools.finding import ToolReading, component_named, versions_of

MARKS = ("__version__", ".version.cuda", "cudnn.version()", "nccl.version()")
_ASKED = re2.compile(
    r"\b(torch|tf|tensorflow|keras|mx|mxnet|horovod|hvd|deepspeed|pl|lightning|pytorch_lightning|ray|jax|vllm|numpy|np|transformers|accelerate|fairseq|ignite|flash_attn)\.__version__"
)
_CUDA = re2.compile(r"torch\.version\.cuda\b")
_CUDNN = re2.compile(r"cudnn\.version\(\)")
_NCCL = re2.compile(r"nccl\.version\(\)")
_ANSWER = re2.compile(r"^\s*(?:Out\[\d+\]:\s*|>>?\s*)?[u'\"(]*(\d+\.\d+[\w.+-]*)['\")]*\s*$")
_BESIDE = re2.compile(r"^[\s)'\"]*(?:#+|=+>?|-+>|:|is)\s*['\"]?v?(\d+\.\d+[\w.+]*)['\"]?\s*$")
_WHOLE = re2.compile(r"^\s*(?:Out\[\d+\]:\s*)?(\d{4,5})\s*$")
_TUPLE = re2.compile(r"^\s*(?:Out\[\d+\]:\s*)?\((\d), (\d+), (\d+)\)\s*$")
_SHORT = {"mx": "mxnet", "hvd": "horovod", "np": "numpy", "tf": "tensorflow", "pl": "pytorch-lightning"}


def read(lines: Sequence[Line]) -> ToolReading:
    """Versions that were asked for in code and printed right after."""
    return ToolReading(versions=versions_of(_pairs([line for line in lines if line.text.strip()])))


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    for index, line in enumerate(lines):
        below = lines[index + 1].text if index + 1 < len(lines) else ""
        if (asked := _ASKED.search(line.text)) is not None:
            name = asked.group(1)
            component = _SHORT.get(name) or component_named(name.replace("_", "-"))
            answer = _BESIDE.match(line.text[asked.end() :]) or _ANSWER.match(below)
            if component and answer:
                yield component, answer.group(1)
        elif _CUDA.search(line.text) and (answer := _ANSWER.match(below)) is not None:
            yield "cuda", answer.group(1)
        elif _CUDNN.search(line.text) and (whole := _WHOLE.match(below)) is not None:
            yield "cudnn", _dotted(int(whole.group(1)))
        elif _NCCL.search(line.text) and (parts := _TUPLE.match(below)) is not None:
            yield "nccl", ".".join(parts.groups())


def _dotted(number: int) -> str:
    """cuDNN 8902 is 8.9.2, 90100 is 9.1.0."""
    thousand = 10_000 if number >= 90_000 else 1_000
    return f"{number // thousand}.{number % thousand // 100}.{number % 100}"
