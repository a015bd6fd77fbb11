"""What a line looks like when nothing but its own text says it."""

from __future__ import annotations

from functools import cache

import re2

from knowledge.evidence.lines import Kind, pattern_set

_LOG = (
    r"^\W{0,4}\d{4}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d"  # date and time
    r"|^\W{0,3}\d\d:\d\d:\d\d\b"
    r"|^\s*[IWEF]\d{4} \d\d:\d\d"  # glog
    r"|^\W{0,3}(?:INFO|WARN|WARNING|ERROR|DEBUG|CRITICAL|FATAL|Error|error|fatal|warning)\b\s?[:\]\[|-]"
    r"|^\s*Traceback \(most recent call"
    r"|^\s*File \".*\", line \d+"
    r"|^\s*[\w.]*(?:Error|Exception|Warning|Interrupt|Failure)\b\s?:"
    r"|^\s*#\d+\s+(?:0x|\S+ at )"  # gdb
    r"|^\s*\[bt\]|^\s*\[\s?\d+\] \S+\(\+?0x|^\s*@\s+0x"
    r"|NCCL (?:INFO|WARN|ERROR)|^\s*\*\*\* "
    r"|^\s*frame #\d+"
    r"|^\S+:\d+:(?:\d+:)? (?:fatal )?(?:error|warning|note):"
    r"|^(?:\[\S+:\d+\]|-{3,}>?) "
    r"|terminate called|core dumped|what\(\):|^Segmentation fault|^Killed$|^Aborted"
    r"|^\s*(?:Collecting|Requirement already|Downloading|Building wheel|Installing collected|copying|creating|running) \S"
    r"|^\s*(?:gcc|g\+\+|c\+\+|x86_64-\S+-g\S+|nvcc|/\S+/(?:nvcc|g\+\+|gcc|ld)) -"
    r"|^-- |^CMake Error|^make(?:\[\d+\])?:|^ninja:|^collect2:"
    r"|^(?:mpirun|mpiexec|orted|prterun|PMIX)\S* (?:detected|was unable|noticed|has exited)"
    r"|^\S+\.(?:cc|cpp|cu|c|h|hpp|cuh|py):(?:\d|\s(?:In |At ))|^\s*\d{0,5}\s*\|\s"
    r"|^\S+\.py: error: |^usage: \S+\.py \[|^\S*python[\d.]*: can't open file '"
    r"|^Primary job|^Process name:|^\s*Exit code:"
    r"|^\s*Not all ranks joining collective|^\s*Collective sequence number: \d"  # the flight recorder's analyser
)
_CODE = (
    r"^\s*(?:import \w|from [\w.]+ import |def \w+\(|class \w+|@\w[\w.]*(?:\(|$)|async def )"
    r"|^\s*(?:if|for|while|with|elif|except|try|else|finally)\b.*:\s*(?:#.*)?$"
    r"|^\s*(?:return|raise|yield|assert|del|pass|break|continue|print)\b(?:[ (]|$)"
    r"|^\s*[A-Za-z_][\w.\[\]'\", ]*\s?(?:=|\+=|-=|\*=)\s?[^=\s]"
    r"|^\s*[\w.]+\([^.?!]*\)?[,;]?\s*$"
    r"|^\s*#include|^\s*(?:auto|const|void|int|template|namespace|static) |[;{]\s*$|^\s*[\])}]+[,;]?\s*$"
    r"|^\s*[\w'\"]+\s?=\s?.*,\s*$|^\s*['\"]\w+['\"]\s?:|^\s*#\s?\S"
)
_COMMAND = (
    r"^\s*(?:[$>%!]+ ?|\w+@\S+[:$#~ ]+)?(?:sudo |time |env |nohup |[A-Z_]+=\S+ )*"
    r"(?:pip3?|conda|mamba|apt|apt-get|mpirun|mpiexec|horovodrun|torchrun|python[\d.]*|deepspeed|srun|sbatch|accelerate|colossalai"
    r"|docker|kubectl|git|cmake|make|export|wget|curl|bpslaunch|ray|fairseq-\w+|nvidia-smi|bash|sh|ssh|singularity) +[\w./-]"
)
_ENVIRONMENT = (
    r"(?i)^[\s*•-]*(?:\d+\. )?(?:[\w.+/ -]{0,40}?\b)?"
    r"(?:version|versions|os|platform|python|pytorch|torch|tensorflow|keras|mxnet|horovod|cuda|cudnn|nccl|mpi|open ?mpi|gcc|cmake"
    r"|framework|gpu|gpus|driver|ray|lightning|deepspeed|fairseq|ignite|conda|pip|distro|distribution|compiler|hardware|docker|bazel"
    r"|installed from|spark|mofed|rdma|mellanox|machine|memory|numpy|apex|transformers)"
    r"[^:?.]{0,60}(?::|\?|==)\s*\S{0,60}"
)
_PIP_LIST = r"^\s*(?:\[(?:pip3?|conda)\] |- )?[A-Za-z][\w.-]{1,40}\s?(?:==|\s{2,}|: +)v?\d+[\w.+-]*(?:\s+\S+){0,3}\s*$"
_HARDWARE = (
    r"^\s*(?:Architecture|CPU op-mode|Byte Order|CPU\(s\)|On-line CPU|Thread\(s\)|Core\(s\)|Socket\(s\)|NUMA|Vendor ID|CPU family|Model"
    r"|Model name|Stepping|CPU MHz|CPU max|CPU min|BogoMIPS|Virtualization|Hypervisor|L[123][di]? ?cache|Flags|Address sizes"
    r"|processor|machine|system|node|release|Compiler|Build|Arch|Directory|Platform|Timing for)\s*:"
)
_TIMING = r"\d+%\|| \d+(?:\.\d+)?(?:it|s|samples|img|images|examples)/(?:s|it|sec)\b|\bETA:? |\[=*>?\.*\] ?-|━{4,}|█{2,}|▏"
_SPAM = (
    r"Successfully opened dynamic library|successful NUMA node read|Found device \d+ with properties|pciBusID:|Adding visible gpu"
    r"|cpu_feature_guard|XLA service 0x|Created TensorFlow device|peer_to_peer|coreClock:|StreamExecutor device|DMA: |Interconnect StreamExec"
    r"|^Error open [^:]{1,40}: \w+://"  # MXNet's diagnose.py: a site that it couldn't reach
    r"|NCCL INFO (?:Channel|Ring|Trees?|Setting affinity|threadThresholds|Connected all|comm 0x)"
    r"|^\s*\|\s.*\|\s.*\|\s*$|^\s*[|+][-=+]{6,}|Requirement already satisfied|^\s*-?\d+(?:\.\d*)?(?:[ ,]+-?\d+(?:\.\d*)?){3,}[ ,\])]*$"
)
_RULE = r"^[\s\-=*_~#+.]{3,}$|^[\s~^|]*\^[\s~^|]*$"
_SHAPES = {
    "log": _LOG,
    "code": _CODE,
    "command": _COMMAND,
    "environment": _ENVIRONMENT,
    "pip": _PIP_LIST,
    "hardware": _HARDWARE,
    "timing": _TIMING,
    "spam": _SPAM,
    "rule": _RULE,
}
_WORDS = re2.compile(r"[A-Za-z]{2,}")


@cache
def _set() -> tuple[re2._Set, tuple[str, ...]]:
    return pattern_set(_SHAPES.values()), tuple(_SHAPES)


def _shapes(text: str) -> set[str]:
    patterns, names = _set()
    return {names[index] for index in patterns.Match(text) or ()}


def shape_of(text: str, *, fenced: bool) -> Kind:
    """The kind of a line by its looks; prose when it looks like nothing else (log inside a fence)."""
    if not text.strip():
        return Kind.BLANK
    found = _shapes(text)
    if "log" in found:
        return Kind.NOISE if "spam" in found else Kind.LOG
    if found & {"rule", "timing", "spam"}:
        return Kind.NOISE
    if "command" in found:
        return Kind.COMMAND
    if found & {"hardware", "pip"}:
        return Kind.ENVIRONMENT
    if "code" in found and (fenced or not _reads_like_prose(text)):
        return Kind.CODE
    if not fenced and len(text) < 160 and "environment" in found and len(_WORDS.findall(text)) <= 16:
        return Kind.ENVIRONMENT
    return Kind.LOG if fenced else Kind.PROSE


def _reads_like_prose(text: str) -> bool:
    words = _WORDS.findall(text)
    return (
        len(words) >= 6
        and text.count(" ") >= 5
        and text.count("=") + text.count("(") <= 3
        and not text.startswith((" ", "\t"))
    )
