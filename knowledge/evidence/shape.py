"""What a line looks like when nothing but its own text says it."""

from __future__ import annotations

import re2

from knowledge.evidence.lines import Kind

_LOG = re2.compile(
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
    r"|^Primary job|^Process name:|^\s*Exit code:"
)
_CODE = re2.compile(
    r"^\s*(?:import \w|from [\w.]+ import |def \w+\(|class \w+|@\w[\w.]*(?:\(|$)|async def )"
    r"|^\s*(?:if|for|while|with|elif|except|try|else|finally)\b.*:\s*(?:#.*)?$"
    r"|^\s*(?:return|raise|yield|assert|del|pass|break|continue|print)\b(?:[ (]|$)"
    r"|^\s*[A-Za-z_][\w.\[\]'\", ]*\s?(?:=|\+=|-=|\*=)\s?[^=\s]"
    r"|^\s*[\w.]+\([^.?!]*\)?[,;]?\s*$"
    r"|^\s*#include|^\s*(?:auto|const|void|int|template|namespace|static) |[;{]\s*$|^\s*[\])}]+[,;]?\s*$"
    r"|^\s*[\w'\"]+\s?=\s?.*,\s*$|^\s*['\"]\w+['\"]\s?:|^\s*#\s?\S"
)
_COMMAND = re2.compile(
    r"^\s*(?:[$>%!]+ ?|\w+@\S+[:$#~ ]+)?(?:sudo |time |env |nohup |[A-Z_]+=\S+ )*"
    r"(?:pip3?|conda|mamba|apt|apt-get|mpirun|mpiexec|horovodrun|torchrun|python[\d.]*|deepspeed|srun|sbatch|accelerate|colossalai"
    r"|docker|kubectl|git|cmake|make|export|wget|curl|bpslaunch|ray|fairseq-\w+|nvidia-smi|bash|sh|ssh|singularity) +[\w./-]"
)
_ENVIRONMENT = re2.compile(
    r"(?i)^[\s*•-]*(?:\d+\. )?(?:[\w.+/ -]{0,40}?\b)?"
    r"(?:version|versions|os|platform|python|pytorch|torch|tensorflow|keras|mxnet|horovod|cuda|cudnn|nccl|mpi|open ?mpi|gcc|cmake"
    r"|framework|gpu|gpus|driver|ray|lightning|deepspeed|fairseq|ignite|conda|pip|distro|distribution|compiler|hardware|docker|bazel"
    r"|installed from|spark|mofed|rdma|mellanox|machine|memory|numpy|apex|transformers)"
    r"[^:?.]{0,60}(?::|\?|==)\s*\S{0,60}"
)
_PIP_LIST = re2.compile(
    r"^\s*(?:\[(?:pip3?|conda)\] |- )?[A-Za-z][\w.-]{1,40}\s?(?:==|\s{2,}|: +)v?\d+[\w.+-]*(?:\s+\S+){0,3}\s*$"
)
_HARDWARE = re2.compile(
    r"^\s*(?:Architecture|CPU op-mode|Byte Order|CPU\(s\)|On-line CPU|Thread\(s\)|Core\(s\)|Socket\(s\)|NUMA|Vendor ID|CPU family|Model"
    r"|Model name|Stepping|CPU MHz|CPU max|CPU min|BogoMIPS|Virtualization|Hypervisor|L[123][di]? ?cache|Flags|Address sizes"
    r"|processor|machine|system|node|release|Compiler|Build|Arch|Directory|Platform|Timing for)\s*:"
)
_TIMING = re2.compile(
    r"\d+%\|| \d+(?:\.\d+)?(?:it|s|samples|img|images|examples)/(?:s|it|sec)\b|\bETA:? |\[=*>?\.*\] ?-|━{4,}|█{2,}|▏"
)
_SPAM = re2.compile(
    r"Successfully opened dynamic library|successful NUMA node read|Found device \d+ with properties|pciBusID:|Adding visible gpu"
    r"|cpu_feature_guard|XLA service 0x|Created TensorFlow device|peer_to_peer|coreClock:|StreamExecutor device|DMA: |Interconnect StreamExec"
    r"|NCCL INFO (?:Channel|Ring|Trees?|Setting affinity|threadThresholds|Connected all|comm 0x)"
    r"|^\s*\|\s.*\|\s.*\|\s*$|^\s*[|+][-=+]{6,}|Requirement already satisfied|^\s*-?\d+(?:\.\d*)?(?:[ ,]+-?\d+(?:\.\d*)?){3,}[ ,\])]*$"
)
_RULE = re2.compile(r"^[\s\-=*_~#+.]{3,}$|^[\s~^|]*\^[\s~^|]*$")
_WORDS = re2.compile(r"[A-Za-z]{2,}")


def is_noise(text: str) -> bool:
    """Progress bars, device listings, rulers, tables: lines that never say what failed."""
    return bool(_RULE.match(text) or _TIMING.search(text) or _SPAM.search(text))


def shape_of(text: str, *, fenced: bool) -> Kind:
    """The kind of a line by its looks; prose when it looks like nothing else (log inside a fence)."""
    if not text.strip():
        return Kind.BLANK
    if _LOG.search(text):
        return Kind.NOISE if _SPAM.search(text) else Kind.LOG
    if is_noise(text):
        return Kind.NOISE
    if _COMMAND.match(text):
        return Kind.COMMAND
    if _HARDWARE.match(text) or _PIP_LIST.match(text):
        return Kind.ENVIRONMENT
    if _CODE.search(text) and (fenced or not _reads_like_prose(text)):
        return Kind.CODE
    if not fenced and len(text) < 160 and _ENVIRONMENT.match(text) and len(_WORDS.findall(text)) <= 16:
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
