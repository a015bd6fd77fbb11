"""What the frameworks' own check commands say."""

from __future__ import annotations

import re

from knowledge.diagnostics.runtime.job import Answer, Facts, Job


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
