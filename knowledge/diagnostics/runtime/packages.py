"""Installed Python packages: versions, what they demand of each other, what the frameworks' own checks say."""

from __future__ import annotations

import os
import re
import sys

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

FIELD = (
    "torch torchvision torchaudio tensorflow keras horovod deepspeed megatron-core megatron-lm colossalai "
    "accelerate transformers pytorch-lightning lightning apex flash-attn xformers triton transformer- "
    "engine mpi4py numpy protobuf grpcio ray jax cupy-cuda12x nvidia-nccl-cu11 nvidia-nccl-cu12 nvidia- "
    "nccl-cu13 nvidia-cudnn-cu12 nvidia-cuda-runtime-cu12 datasets tokenizers safetensors ninja pydantic "
    "torchdata bitsandbytes peft fairscale cloudpickle setuptools"
).split()
FRAMEWORKS = ("tensorflow", "horovod", "deepspeed", "colossalai", "accelerate", "apex", "mpi4py")
MARKER_PYTHON = re.compile(r"python_version\s*([<>=!]+)\s*['\"]([\d.]+)['\"]")


def collect_packages(job: Job) -> Answer:
    """Versions of the field's packages, which of them are installed twice, and demands among them that
    are not met."""
    from importlib.metadata import distributions

    versions: dict[str, str] = {}
    twice: set[str] = set()
    demands: list[tuple[str, str]] = []
    for one in distributions():
        name = str(one.metadata["Name"] or "").lower().replace("_", "-")
        if name not in FIELD:
            continue
        if versions.setdefault(name, one.version) != one.version:
            twice.add(name)
            continue
        demands += [(name, line) for line in one.requires or []]
    unmet = sorted({name + ": " + line for name, line in demands if not met(line, versions)})
    return "ok", {"versions": versions, "twice": sorted(twice), "unmet": unmet[:8]}


def numbers(version: str) -> list[int]:
    """A version's numbers, local and pre-release parts left out, trailing zeros too."""
    parts = [int(part) for part in re.findall(r"\d+", re.split(r"[+a-z]", version.strip(), maxsplit=1)[0])]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


def met(line: str, versions: dict[str, str]) -> bool:
    """Whether a requirement line is met by what is installed; what is not installed or not understood
    counts as met."""
    demand, _, marker = line.partition(";")
    found = re.match(r"\s*([\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?([^)]*)\)?\s*$", demand)
    if not found or "extra" in marker or "platform" in marker:
        return True
    for sign, python in MARKER_PYTHON.findall(marker):
        if not compare(f"{sys.version_info[0]}.{sys.version_info[1]}", sign, python):
            return True
    have = versions.get(found.group(1).lower().replace("_", "-"))
    if have is None:
        return True
    signs = re.findall(r"(~=|===?|>=|<=|!=|<|>)\s*([\w.*+!-]+)", found.group(2))
    return all(compare(have, sign, wanted) for sign, wanted in signs)


def compare(have: str, sign: str, wanted: str) -> bool:
    """Compare two versions the way requirement lines do, by their numbers."""
    left, right = numbers(have), numbers(wanted.replace("*", ""))
    if wanted.endswith("*"):
        same = (left + [0] * 9)[: len(right)] == right
        return same if sign.startswith("==") else not same
    if sign == "~=":
        count = max(1, wanted.count("."))
        return left >= right and (left + [0] * 9)[:count] == (right + [0] * 9)[:count]
    answers = {
        "==": left == right,
        "===": left == right,
        "!=": left != right,
        ">=": left >= right,
        "<=": left <= right,
    }
    return answers.get(sign, left < right if sign == "<" else left > right)


def packages_of(job: Job) -> dict[str, str]:
    """Name to version of what the collector found."""
    found = job.shared.get("packages", {}).get("versions")
    return found if isinstance(found, dict) else {}


def probe_package_versions(job: Job) -> Answer:
    """Whether the field's packages fit each other, and none is installed twice."""
    found = packages_of(job)
    if not found:
        return "none_installed", {}
    facts: Facts = {"versions": [name + " " + found[name] for name in FIELD if name in found]}
    for key, outcome in (("twice", "installed_twice"), ("unmet", "unmet")):
        bad = job.shared["packages"].get(key)
        if bad:
            return outcome, dict(facts, **{key: bad})
    return "ok", facts


def probe_environment(job: Job) -> Answer:
    """Whether the launchers on PATH belong to this Python, and whether packages come from outside its
    environment."""
    import site

    own = os.path.realpath(sys.prefix)
    elsewhere = []
    for name in ("torchrun", "deepspeed", "horovodrun", "accelerate", "colossalai", "python3", "python"):
        place = job.which(name)
        if place is None:
            continue
        with open(place, "rb") as file:
            first = file.readline(300).decode("utf-8", "replace").strip()
        interpreter = first[2:].split()[0] if first.startswith("#!/") else place
        bin_folder = os.path.dirname(interpreter)
        if (
            os.path.basename(interpreter) != "env"
            and os.path.realpath(os.path.dirname(bin_folder)) != own
            and os.path.isabs(interpreter)
        ):
            elsewhere.append(name)
    launchers = [name for name in elsewhere if not name.startswith("python")]
    facts: Facts = {
        "elsewhere": elsewhere,
        "virtual": sys.prefix != sys.base_prefix,
        "pythonpath": bool(job.var("PYTHONPATH")),
    }
    facts["user_site"] = bool(site.ENABLE_USER_SITE and os.path.isdir(site.getusersitepackages()))
    if launchers:
        return "launcher_elsewhere", facts
    return ("python_elsewhere" if elsewhere else "ok"), facts


def error_kind(text: str) -> str:
    """What kind of import failure a traceback's end tells of."""
    kinds = (
        ("undefined symbol", "undefined_symbol"),
        ("cannot open shared object", "missing_library"),
        ("GLIBC", "old_system_library"),
        ("No module named", "missing_module"),
        ("cannot import name", "missing_name"),
        ("has no attribute", "missing_name"),
    )
    return next((kind for mark, kind in kinds if mark in text), "other")


def probe_framework_import(job: Job) -> Answer:
    """Import the installed frameworks other than torch, each in a process of its own."""
    names = [name for name in FRAMEWORKS if name in packages_of(job)][:4]
    if not names:
        raise NotApplicable("no such framework is installed")
    extra = [name for name in ("torch", "tensorflow") if name in packages_of(job)]
    modules = names + ["horovod." + name for name in extra if "horovod" in names]
    for name in modules:
        ran = job.run([sys.executable, "-c", "import " + name], 15)
        if ran.code == 0:
            continue
        if ran.code is None:
            return "slow", {"package": name}
        if ran.code < 0:
            return "crashes", {"package": name, "signal": -ran.code}
        last = ran.err.strip().splitlines()[-1:] or [""]
        return error_kind(ran.err), {"package": name, "error": last[0][-120:]}
    return "ok", {"packages": modules}


def probe_toolchain(job: Job) -> Answer:
    """The compilers that a build of extensions would use, against the CUDA version that torch was built
    with."""
    said = {name: job.run([name, "--version"], 3).out for name in ("gcc", "cmake", "nvcc") if job.which(name)}
    home = job.var("CUDA_HOME") or job.var("CUDA_PATH") or "/usr/local/cuda"
    if "nvcc" not in said and os.path.exists(home + "/bin/nvcc"):
        said["nvcc"] = job.run([home + "/bin/nvcc", "--version"], 3).out
    found = {name: re.search(r"release (\d+\.\d+)|(\d+\.\d+\.\d+)", text) for name, text in said.items()}
    facts: Facts = {name: (hit.group(1) or hit.group(2)) if hit else "?" for name, hit in found.items()}
    wanted = str(job.shared.get("torch", {}).get("cuda") or "")
    facts["torch_cuda"] = wanted or None
    if not job.which("gcc") and not job.which("cc") and not job.which("clang"):
        return "no_compiler", facts
    if wanted and "nvcc" not in said:
        return "no_nvcc", facts
    if wanted and str(facts["nvcc"]).split(".")[0] != wanted.split(".")[0]:
        return "cuda_differs", facts
    return "ok", facts


# What the frameworks' own check commands say.


def probe_horovod_build(job: Job) -> Answer:
    """What Horovod was built with, by its own report."""
    ran = job.run([job.need("horovodrun"), "--check-build"], 25)
    built = set(re.findall(r"\[X\] (\w+)", ran.out))
    offered = set(re.findall(r"\[[ X]\] (\w+)", ran.out))
    if not offered:
        return "fails", {"code": ran.code}
    facts: Facts = {"built": sorted(built)}
    versions = job.shared.get("packages", {}).get("versions")
    packages = versions if isinstance(versions, dict) else {}
    wanted = [name for name in ("torch", "tensorflow") if name in packages]
    words = {"torch": "PyTorch", "tensorflow": "TensorFlow"}
    if any(words[name] not in built for name in wanted):
        return "framework_left_out", facts
    if not built & {"MPI", "Gloo"}:
        return "no_controller", facts
    return ("no_nccl" if "NCCL" not in built and job.shared.get("gpus", {}).get("gpus") else "ok"), facts


def probe_deepspeed_report(job: Job) -> Answer:
    """DeepSpeed's own report of its operations and versions."""
    ran = job.run([job.need("ds_report")], 28)
    if ran.code != 0:
        return ("slow" if ran.code is None else "fails"), {"code": ran.code}
    plain = re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
    versions = dict(
        re.findall(
            r"^(torch cuda version|nvcc version|torch version|deepspeed wheel compiled w\.) \.+ (.{1,60})$",
            plain,
            re.M,
        )
    )
    facts: Facts = {name.replace(" ", "_").rstrip(".").lower(): text for name, text in versions.items()}
    nvcc, cuda = versions.get("nvcc version", "").strip(), versions.get("torch cuda version", "").strip()
    if nvcc[:1].isdigit() and cuda[:1].isdigit() and nvcc.split(".")[0] != cuda.split(".")[0]:
        return "cuda_differs", facts
    return ("warns" if "[WARNING]" in plain else "ok"), facts


def probe_colossalai_check(job: Job) -> Answer:
    """Colossal-AI's own check of its installation."""
    ran = job.run([job.need("colossalai"), "check", "-i"], 28)
    if ran.code != 0:
        return ("slow" if ran.code is None else "fails"), {"code": ran.code}
    bad = re.findall(r"^(.{1,60}) match: (?:x|X|✗|False)", ran.out, re.M)
    return ("mismatch" if bad else "ok"), {"mismatches": bad[:4]}
