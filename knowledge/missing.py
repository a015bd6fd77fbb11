"""What the report does not say and a maintainer would ask for first."""

from __future__ import annotations

from collections.abc import Mapping

import re2

from knowledge.evidence import Reading
from knowledge.evidence.facts_table import component_of, framework_of
from knowledge.evidence.lines import Kind
from knowledge.frameworks import Framework, frameworks
from knowledge.text.words import listed
from knowledge.triage import Axis, Distributed, MissingItem

MOST = 2
LIKELY = 0.5
"""From which probability on a hang that isn't claimed is asked after, where the report speaks of one."""
ENOUGH = 3
"""Lines of log that make a log."""
LITTLE = 300
"""Characters of prose under which a report without a log says next to nothing."""
FEWEST_IN_TITLE, FEWEST_IN_PROSE = 2, 8
"""Words below which neither says anything: a form's own placeholders are some five."""
_WORD = re2.compile(r"\pL{2,}")
_HANGS = frozenset({"D.2.1", "B.2", "C.4"})
_SLOW = "D.2.3"
_RESULTS = ("D.2.2", "D.2.4", "D.2.5", "D.2.other", "B.3")
_GROUP = ("B.1", "B.2", "C.3", "D.1.1")
_SAID = {
    "python": re2.compile(
        r"(?i)\bpy(?:thon)?[ :=]{0,3}v?\d|\bcp\d{2,3}\b|\bpy3\d|\bpython version\W{1,4}(?:n/?a|none)\b"
    ),
    "cuda": re2.compile(r"(?i)\bcuda[-_ :=]{0,3}v?\d|\bcu\d{2,3}\b|\bcuda version\W{1,4}(?:n/?a|none)\b"),
    "gcc": re2.compile(r"(?i)\b(?:gcc|g\+\+|clang|msvc|visual studio|gnu)[-_ (:=\w]{0,20}\d|\bcl\.exe\b"),
    "": re2.compile(
        r"(?i)\b(?:nightly|latest|master|main branch|from source|git clone|trunk)\b|\bcommit\b|\b[0-9a-f]{7,40}\b"
        r"|[-_](?:master|main|nightly)\b"
    ),
}
_STANDS_STILL = re2.compile(
    r"(?i)\b(?:hangs?|hung|hanging|stuck|stalls?|stalled|fr(?:ee|o)z\w+|dead-?lock\w*|pauses?|blocks? forever|waits? (?:for ever|forever|indefinitely)"
    r"|never (?:returns?|ends?|exits?|finish\w*|completes?|starts?|progress\w*)|no progress)\b"
)
_STACKS = re2.compile(
    r"(?m)py-spy|\bgdb\b|pstack|faulthandler|most recent call first|\((?:active|idle)(?:\+gil)?\)|^\W{0,4}#\d+ +0x|gstack"
    r"|thread apply all|^\W{0,4}Thread \S+ \(|\bKeyboardInterrupt\b"
)
_SPEED = re2.compile(
    r"(?i)\d\s?(?:s|sec|secs|seconds?|ms|minutes?|min|hours?|h)\b|\d\s?(?:it|samples?|img|images?|examples?|tokens?|steps?|fps|gb|mb)\s?/\s?s"
    r"|(?:sent(?:ence)?s?|words?|tokens?|samples?|images?|steps?)\s?/\s?s(?:ec)?\b|(?:per|a) (?:second|step|epoch|iteration)|\d%|\d ?x (?:slower|faster)|\d times"
)
_ERROR = re2.compile(
    r"(?i)traceback \(most recent|(?:^|[\s.:`'(])[a-z_]\w*(?:error|exception)\b|\berror ?:|\[error\]|\bline \d+|\.py:\d+|terminate called|core dumped"
    r"|segmentation fault|\bsig(?:segv|abrt|kill|bus|term)\b|check failed|undefined symbol|exit code|errno|out of memory|\bpanic\b"
)
_PICTURE = re2.compile(r"!\[[^\]]*\]\(|<img |(?i:user-images\.githubusercontent|screenshot)")
_ATTACHED = re2.compile(r"https://github\.com/(?:user-attachments|[\w.-]+/[\w.-]+)/files/\d")
_COMPILER = re2.compile(
    r"(?i)\berror:|error C\d{4}|undefined reference|fatal error|CMake Error|no rule to make|: not found|\bE: |could not build|no matching distribution|\bError \d|No such file"
)
_LAUNCH = re2.compile(
    r"(?i)\bpython[\d.]*\s+(?:-\S+\s+)*[\w./$<{-]+\.py|\bpython[\d.]* -m |\bvllm (?:serve|bench)|\bray (?:job submit|start|up|exec)"
    r"|--world_info|\.sh\b|\bfairseq-\w+|\bsrun\b|\bsbatch\b|llamafactory-cli|docker run|kubectl|trainer\.fit|tune\.run|ray\.init"
    r"|rllib train|\.fit\(|init_process_group|distributed\.initialize|TF_CONFIG|mp\.spawn|hvd\.init|\bpytest\b|\bnosetests\b|rank=\d|num_processes|nproc"
)
_OWN_SIDE = re2.compile(
    r"(?i)tpu|torch_xla|\bxla_|macos|mac os|\bosx\b|darwin|apple|\bmps\b|cpu[- ]only|cpuonly|\+cpu|\bgloo\b|use_cuda ?= ?(?:0|off)|without cuda|no gpu"
)
_GPU = re2.compile(r"(?i)cuda|nvcc|nccl|\bgpus?\b|cudnn")
_LIBRARY = re2.compile(r"(?i)libcu\w+|libnccl|undefined symbol|\.so\b")
_PACKAGED = re2.compile(r"(?i)\bpip3?\b|\bconda\b|setup\.py|wheel|\bpython")
_PIP = re2.compile(r"\bpip3? install\b")
_COMPILED = re2.compile(r"(?i)\b(?:gcc|g\+\+|nvcc|\w+\.(?:cc|cpp|cu|h|hpp)[:(]\d+)")
_MEMORY = re2.compile(r"(?i)\bmemory|\bleak|\boom\b|\bram\b|disk")
_LEAK = re2.compile(r"(?i)\bleak|memory (?:usage )?(?:constantly |keeps )?(?:grow|increas)")
_FAILS = re2.compile(
    r"(?i)crash|fail|error|exception|dump|abort|kill|exit|break|broken|not work|n't work|stops?\b|dies\b"
)
_NCCL_FAILED = re2.compile(
    r"(?i)nccl(?:system|internal|remote|unhandledcuda|invalidusage)?error|nccl error|unhandled system error|ncclcomm"
)
_NOT_REACHED = re2.compile(
    r"(?i)client socket has|TCPStore|rendezvous|store->get|no route to host|not built in|without nccl|doesn't have nccl|no socket interface|NCCL_DEBUG|NCCL INFO"
)

_HELD = {
    "log": _ERROR,
    "stacks": _STACKS,
    "throughput": _SPEED,
    "command": _LAUNCH,
    "nccl_debug": _NOT_REACHED,
}


def ask_for(reading: Reading, axes: Mapping[str, Axis], distributed: Distributed) -> list[MissingItem]:
    """At most two concrete requests, the most useful first: what this symptom needs and the report does not hold.

    Of a fault that surely shows on one device, nobody is asked how many processes take part. Of a form in which nothing
    is filled in, nothing is asked.
    """
    if not _says_something(reading):
        return []
    text = "\n".join([reading.report.title, *(line.text for line in reading.lines)])
    symptom = _symptom(axes["symptom"], text)
    several = distributed.answer is not False
    if symptom in _HANGS:
        asks = [] if symptom == "B.2" and _ERROR.search(text) else _stacks(reading, text)
    elif symptom == _SLOW:
        asks = _throughput(text)
    elif symptom in ("A.1", "A.2"):
        asks = [*_compiler(reading, text, symptom), *_versions(reading, text, symptom)]
    elif symptom in _RESULTS:
        asks = []
    else:
        asks = _log(reading, text, claimed=bool(axes["symptom"].answer))
    if symptom in _GROUP:
        asks += [*(_launch(reading, text) if several else []), *_nccl(text)]
    return asks[:MOST]


def _says_something(reading: Reading) -> bool:
    in_title, in_prose = (len(_WORD.findall(text)) for text in (reading.report.title, reading.prose))
    shown = any(d.role != "context" for d in reading.decisive) or bool(_PICTURE.search(reading.report.body))
    return shown or in_title >= FEWEST_IN_TITLE or in_prose >= FEWEST_IN_PROSE


def holds(item: str, text: str) -> bool:
    """Whether a text has what an item asks for, as far as words tell, whatever its symptom is now."""
    if item == "versions":
        return any(said.search(text) for said in _SAID.values())
    return item in _HELD and bool(_HELD[item].search(text))


def _symptom(axis: Axis, text: str) -> str:
    """The symptom that is asked after: hangs are one here; "" where none is sure enough."""
    if axis.answer:
        return axis.answer[0]
    hangs = [ranked for ranked in axis.ranking if ranked.id in _HANGS]
    likely = sum(ranked.p for ranked in hangs) >= LIKELY and _STANDS_STILL.search(text)
    return hangs[0].id if likely else ""


def _stacks(reading: Reading, text: str) -> list[MissingItem]:
    if reading.facts or _STACKS.search(text):
        return []
    ask = "While it hangs, please run `py-spy dump --pid PID` for every process and post the stacks."
    return [MissingItem(id="stacks", ask=ask)]


def _throughput(text: str) -> list[MissingItem]:
    if _SPEED.search(text) or _MEMORY.search(text):
        return []
    return [MissingItem(id="throughput", ask="What throughput do you get on one device, and on all of them?")]


def _log(reading: Reading, text: str, *, claimed: bool) -> list[MissingItem]:
    """The log of a failure, where no line of the report shows it; of a symptom not `claimed` only where little is said."""
    logged = sum(line.kind is Kind.LOG for line in reading.lines)
    if logged >= ENOUGH or reading.hits or _ERROR.search(text):
        return []
    if _LEAK.search(text):
        return []
    # A log that is there and cannot be read is worth asking for, however much is said besides.
    little = len(reading.prose) < LITTLE and (_FAILS.search(text) or _PICTURE.search(text))
    if not (_FAILS.search(text) if claimed else little or _ATTACHED.search(text)):
        return []
    return [MissingItem(id="log", ask=f"Please post the log from the first error onward{_as_text(text)}.")]


def _as_text(text: str) -> str:
    """What is posted as a picture or as a file cannot be read."""
    picture, file = _PICTURE.search(text), _ATTACHED.search(text)
    if picture and file:
        return ", as text in a comment"
    return ", as text rather than a picture" if picture else ", as text rather than a file" if file else ""


def _compiler(reading: Reading, text: str, symptom: str) -> list[MissingItem]:
    logged = sum(line.kind is Kind.LOG for line in reading.lines)
    if logged >= ENOUGH or _COMPILER.search(text) or (symptom == "A.2" and _ERROR.search(text)):
        return []
    built = "output of `pip install`" if _PIP.search(text) and not _COMPILED.search(text) else "build output"
    what = built if symptom == "A.1" else "traceback of the import"
    return [MissingItem(id="log", ask=f"Please post the full {what}{_as_text(text)}.")]


def _versions(reading: Reading, text: str, symptom: str) -> list[MissingItem]:
    about = next((one for one in frameworks() if one.id == reading.framework), None)
    wanted = []
    # What pip says: "Successfully installed pytorch-ignite-0.4.0.dev20200129".
    names = "|".join(map(re2.escape, (about.packages[0], about.id))) if about else ""
    said = about and re2.search(
        rf"(?i)\b(?:{names})(?:[-_ ]|[\s._]*version\W{{1,4}}(?:is )?|[-\w]*==)v?\d", text
    )
    if about and _is_about(about, reading) and not said:
        wanted.append((component_of(about.packages[0]) or about.id, about.name))
    own_side = _OWN_SIDE.search(text)
    if symptom == "A.2" or _PACKAGED.search(text):
        wanted.append(("python", "Python"))
    if not own_side and (_GPU if symptom == "A.1" else _LIBRARY).search(text):
        wanted.append(("cuda", "CUDA"))
    if symptom == "A.1" and not own_side and _COMPILED.search(text):
        wanted.append(("gcc", "GCC"))
    lacking = [
        shown
        for name, shown in wanted
        if name not in reading.versions and not _SAID.get(name, _SAID[""]).search(text)
    ]
    if not lacking:
        return []
    noun = "version" if len(lacking) == 1 else "versions"
    return [MissingItem(id="versions", ask=f"Which {listed(lacking)} {noun} are you using?")]


def _is_about(framework: Framework, reading: Reading) -> bool:
    """Whether the framework is what fails to install or import, not just what the job uses."""
    title = reading.report.title.lower()
    return framework_of(reading.report.id) is not None or framework.name.lower() in title


def _launch(reading: Reading, text: str) -> list[MissingItem]:
    """The command, where no error says more than it could."""
    known = reading.launcher is not None or reading.world_size is not None or _LAUNCH.search(text)
    if not known and not _ERROR.search(text):
        return [MissingItem(id="command", ask="What's the exact command that starts the job?")]
    return []


def _nccl(text: str) -> list[MissingItem]:
    """NCCL's own log, where NCCL failed: not where the ranks never met, and not where the report has it."""
    if not _NCCL_FAILED.search(text) or _NOT_REACHED.search(text):
        return []
    return [
        MissingItem(id="nccl_debug", ask="Please run it again with `NCCL_DEBUG=INFO` and post the output.")
    ]
