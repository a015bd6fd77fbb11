"""Versions as they are asked for and answered: in forms of issue templates, and in a Python session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import re2

from knowledge.evidence.lines import Kind, Line
from knowledge.evidence.tools.finding import ToolReading, component_named, versions_of

FORM_MARKS = ("ersion", "CUDA")
_WORDS = ("ersion", "ERSION", "CUDA", "cuda", "ramework", "RAMEWORK", " Info")
"""What a line must hold for any of the patterns below."""
_LABEL = re2.compile(r"(?i)^\W*([a-z][\w .+-]{0,24}?)(?:/(?:compiler|cudnn))? versions?\W*$")
_BOTH = re2.compile(r"(?i)^\W*cuda\s?/\s?cudnn versions?\W*$")
_VALUE = re2.compile(r"(?i)^\W*(?:([a-z][\w-]{1,20}) )?v?(\d+\.\d+[\w.+-]*)\W*(?:\(.{0,40}\))?$")
_TWO = re2.compile(r"(?i)^\W*(?:cuda )?v?(\d+\.\d+(?:\.\d+)?)\s?[/,]\s?(?:cudnn )?v?(\d+(?:\.\d+){0,3})")
_ON_ONE_LINE = re2.compile(
    r"(?i)^[\s*#`-]*cuda\s?/\s?cudnn versions?(?: \([^)]*\))?[`*]*:?\s+(?:cuda ?)?v?(\d+(?:\.\d+){0,2})(?:[\s/,]+(?:cudnn ?)?v?(\d+(?:\.\d+){0,3}))?"
)
_SECTION = re2.compile(r"^\W*(\w+) Info\W*$")
_VERSION = re2.compile(r"^\s*Version\s*:\s*v?(\d+\.\d+\S*)")
_FRAMEWORK = re2.compile(r"(?i)^\W*(?:\d\. )?\W*framework:?\s*(?:\((?:[^),]*,)[^)]*\))?[:*\s(]*([a-z]\w+)")
_ITS_VERSION = re2.compile(r"(?i)^\W*(?:\d\. )?\W*framework version[:*\s]*['\"]?(\d+\.\d+[\w.+-]*)")
_RAY = re2.compile(r"(?i)ray version and other system information[^:]*:\W*(?:ray )?v?(\d+\.\d+[\w.]*)")
_CUDA_PART = re2.compile(r"^\W*CUDA:\s*$")
_DEEPER = re2.compile(r"^\W*version:\s+(\d+\.\d+(?:\.\d+)?)\s*$")
_SEEN_ON = re2.compile(r"(?i)what version are you seeing the problem on")
_PROBLEM = re2.compile(r"^\W*v?([012]\.\d+(?:\.\d+)?\w*)\W*$")


def read_forms(lines: Sequence[Line]) -> ToolReading:
    """Versions of TensorFlow's, Lightning's, Horovod's, Ray's and MXNet's forms and of GitHub's form fields."""
    return ToolReading(
        versions=versions_of(_form_versions([line for line in lines if line.kind is not Kind.BLANK]))
    )


def _form_versions(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    framework = section = None
    for index, line in enumerate(lines):
        text = line.text
        if len(text) > 300 or not any(word in text for word in _WORDS):
            continue
        below = lines[index + 1].text if index + 1 < len(lines) else ""
        if (match := _SECTION.match(text)) is not None:
            section = component_named(match.group(1))
        elif (match := _VERSION.match(text)) is not None:
            if named := "python" if below.startswith("Compiler") else section:
                yield named, match.group(1)
        elif _BOTH.match(text) and (match := _TWO.match(below)) is not None:
            yield from (("cuda", match.group(1)), ("cudnn", match.group(2)))
        elif (match := _ON_ONE_LINE.match(text)) is not None:
            yield "cuda", match.group(1)
            if match.group(2):
                yield "cudnn", match.group(2)
        elif (match := _ITS_VERSION.match(text)) is not None:
            if framework:
                yield framework, match.group(1)
        elif (match := _FRAMEWORK.match(text)) is not None:
            framework = component_named(match.group(1))
        elif (match := _RAY.search(text)) is not None:
            yield "ray", match.group(1)
        elif _CUDA_PART.match(text):
            yield from _nested(lines[index + 1 : index + 24])
        elif _SEEN_ON.search(text) and (match := _PROBLEM.match(below)) is not None:
            yield "pytorch-lightning", match.group(1)
        elif (
            line.kind in (Kind.HEADING, Kind.TEMPLATE, Kind.ENVIRONMENT)
            and (match := _LABEL.match(text)) is not None
        ):
            component = component_named(match.group(1))
            value = _VALUE.match(below)
            # "Python 3.8" below "Python version", but not "tflite-support 0.1" below "TensorFlow version".
            if component and value and (not value.group(1) or component_named(value.group(1)) == component):
                yield component, value.group(2)


def _nested(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """Lightning's "CUDA:" block: devices, "available", then "version"."""
    for line in lines:
        if (match := _DEEPER.match(line.text)) is not None:
            yield "cuda", match.group(1)
            return
        if line.text.rstrip().endswith(":") and "GPU" not in line.text:
            return


# `torch.__version__` and its like, in a Python session, a shell or a comment.

SESSION_MARKS = ("__version__", ".version.cuda", "cudnn.version()", "nccl.version()")
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


def read_session(lines: Sequence[Line]) -> ToolReading:
    """Versions that were asked for in code and printed right after."""
    return ToolReading(versions=versions_of(_asked_versions([line for line in lines if line.text.strip()])))


def _asked_versions(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
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
