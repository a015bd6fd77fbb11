"""Which process printed a line: launchers put a prefix before what their ranks say."""

from __future__ import annotations

import re2

# (pattern, group of the rank); the text after the prefix is what the process itself printed.
_PREFIXES = (
    # mpirun --tag-output, horovodrun: [1,3]<stderr>:  (older Open MPI ends it with a space)
    (re2.compile(r"^\s*\[\d+,(\d+)\]\s?<std(?:err|out|diag)>\s?:?\s?"), 1),
    # torchrun --tee, torch.distributed logging: [rank3]:  [default3]:
    (re2.compile(r"^\s*\[(?:rank|default)(\d+)\]\s?:\s?"), 1),
    # torchrun's own agent and recent loggers: rank3: ... , Rank 3: ...
    (re2.compile(r"^\s*(?i:rank)\s?(\d+)\s?:\s"), 1),
    # MPI on several hosts, NCCL: host:pid:tid [3] NCCL WARN ...
    (re2.compile(r"^\s*[\w.-]+:\d+:\d+ \[(\d+)\] (?:NCCL)"), 1),
    # Megatron and DeepSpeed wrappers: 3: Traceback ... (srun --label)
    (re2.compile(r"^(\d{1,4}):\s+"), 1),
)
_PROCESS_PREFIX = re2.compile(
    r"^\s*\((?:[\w.]+\s)?pid=[\d, a-z=.]+\)\s?|^\s*(?:worker|ps|node|chief)[-_ ]?\d+\s?\|\s?"
)
_CONTAINER_TIME = re2.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z?\s")


def split_rank(line: str) -> tuple[int | None, str]:
    """The rank that printed the line (None when it does not say) and the line without the prefix."""
    if not line or not (line[0] in "[( \t0123456789rR" or line[0].isalpha()):
        return None, line
    line = _CONTAINER_TIME.sub("", line)
    for pattern, group in _PREFIXES:
        match = pattern.match(line)
        if match:
            keeps_text = "NCCL" in match.group(0)
            return int(match.group(group)), line if keeps_text else line[match.end() :]
    return None, _PROCESS_PREFIX.sub("", line)
