"""Whether what is said after a report adds evidence to it: logs, versions, answers. Pure, and by words alone."""

from __future__ import annotations

import re2

from knowledge.redaction import redact

MANY_CHARS = 200
"""An author who writes more than this adds something, whatever it is."""
FENCE_LINE = re2.compile(r"^ {0,3}(```|~~~)")
_LOG_LINE = re2.compile(
    r"(?i)^\s*(\[?\d{4}-\d{2}-\d{2}|\d{2}:\d{2}:\d{2}|traceback \(|file \".{1,300}\", line \d|\[?rank ?\d+\]?[ :]"
    r"|[\w.]{1,100}(error|exception)\b|[\w.-]{1,64}:\d+:\d+ \[\d+\]|(error|fatal|warning|info)[ :])"
)
_VERSION = re2.compile(
    r"(?i)\b(py ?torch|torch|cuda|cudnn|nccl|python|tensorflow|keras|horovod|deepspeed|megatron|colossal-?ai|lightning|"
    r"mxnet|ray|driver|ubuntu|open ?mpi|gcc|cmake|rocm|jax|transformers|accelerate)\b[^\n]{0,24}\b\d+\.\d+"
)
_ANSWER = re2.compile(
    r"(?i)\b(?:torchrun|accelerate launch|deepspeed|horovodrun|mpirun|mpiexec|srun|sbatch|python[\d.]*)\b"
    r"[^\n]*(?:\s--?\w|\.py\b)"
    r"|\d\s?(?:it|iters?|samples?|img|images?|tokens?|steps?|examples?)\s?(?:/\s?s|per sec|a sec)"
    r"|\(active|most recent call first|\b(?:nightly|main branch|master|built from source)\b"
    r"|!\[[^\]]*\]\(|<img |github\.com/(?:user-attachments/|[\w.-]+/[\w.-]+/(?:files|assets)/\d)"
)
"""Short answers to what is asked for: a command, a speed, a stack, a build; and pictures and files, in case it is asked
for the text of them."""


def adds_evidence(text: str, by_author: bool) -> bool:
    """Whether a text holds log lines or a listing of versions; quotes do not count.

    By the author also any code or version, what answers a request, or more than a few words.
    """
    own = unquoted(text)
    lines = own.split("\n")
    logged = sum(map(_is_log, lines))
    fenced = any(FENCE_LINE.match(line) for line in lines)
    if logged >= 2 or (fenced and logged):
        return True
    if by_author:
        said = len(own.strip()) > MANY_CHARS or _VERSION.search(own) is not None
        return fenced or said or _ANSWER.search(own) is not None
    return sum(_VERSION.search(line) is not None for line in lines) >= 2


def has_log(text: str) -> bool:
    """Whether a text shows what a program printed: log lines, or a block of code of a few lines."""
    lines = unquoted(text).split("\n")
    logged = sum(map(_is_log, lines))
    fences = [number for number, line in enumerate(lines) if FENCE_LINE.match(line)]
    blocks = zip(fences[::2], [*fences[1::2], len(lines)], strict=False)
    return logged >= 2 or any(end - start > 3 for start, end in blocks) or (logged > 0 and bool(fences))


def both_ends(text: str, room: int) -> str:
    """The text, of a longer one its beginning and its end: they say what began and what failed.

    Redacted before it is cut, lest half a secret stays at the edge.
    """
    if len(text) <= room:
        return text
    text = redact(text).text
    if len(text) <= room:
        return text
    first = room // 4
    return f"{text[:first]}\n{text[first - room :]}"


def _is_log(line: str) -> bool:
    return _LOG_LINE.search(line) is not None


def unquoted(text: str) -> str:
    """Without the lines that quote somebody: answers by mail repeat what they answer, our own comment, too.

    A prompt in a block of code is no quote.
    """
    kept, fenced = [], False
    for line in text.split("\n"):
        fenced ^= FENCE_LINE.match(line) is not None
        if fenced or not line.startswith(">"):
            kept.append(line)
    return "\n".join(kept)
