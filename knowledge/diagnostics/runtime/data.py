"""Lengths of loaders, batch sizes of a DeepSpeed configuration, key names of checkpoints."""

from __future__ import annotations

import glob
import json
import os
import pickletools
import re
import struct
import sys
import zipfile

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

LENGTHS = """
import importlib, sys
sys.path.insert(0, "")
name, _, call = sys.argv[1].partition(":")
made = getattr(importlib.import_module(name), call or "loader")
loader = made() if callable(made) and not hasattr(made, "__len__") else made
data = getattr(loader, "dataset", None)
print("lengths", len(loader), len(data) if hasattr(data, "__len__") else -1, getattr(loader, "batch_size",
None) or -1)
"""


PREFIXES = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_forward_module.", "model.module.")


PARAMETER = re.compile(
    r"^[\w.-]{1,300}(?:weight|bias|running_mean|running_var|gamma|beta|embedding|kernel|scale)$"
)


def probe_lengths(job: Job) -> Answer:
    """Batches and samples of this rank's loader, from a function that the reporter names."""
    name = str(getattr(job.options, "loader", "")) or job.var("DISTRIAGE_LOADER")
    if not re.match(r"^[\w.]+(:\w+)?$", name):
        raise NotApplicable("no --loader MODULE:FUNCTION was named")
    ran = job.run([sys.executable, "-c", LENGTHS, name], 20)
    found = re.search(r"^lengths (\d+) (-?\d+) (-?\d+)$", ran.out, re.M)
    if not found:
        last = ran.err.strip().splitlines()[-1:] or [""]
        return "fails", {"error": last[0][-120:]}
    batches, samples, size = (int(part) for part in found.groups())
    facts: Facts = {"batches": batches, "samples": samples, "batch_size": size}
    return ("empty" if batches == 0 else "counted"), facts


def probe_deepspeed_batch(job: Job) -> Answer:
    """Whether train_batch_size is the product of micro batch, accumulation and ranks."""
    for file in sorted(glob.glob("*.json") + glob.glob("config*/*.json") + glob.glob("ds_config*"))[:20]:
        text = job.read(os.path.abspath(file)) if job.root == "/" else ""
        if "train_batch_size" not in text and "train_micro_batch_size_per_gpu" not in text:
            continue
        config = json.loads(text)
        names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
        total, micro, steps = (config.get(name) for name in names)
        world = job.world
        facts: Facts = {"total": total, "micro": micro, "steps": steps, "world_size": world}
        if not world or not all(isinstance(one, int) for one in (total, micro)):
            return "undetermined", facts
        if total != micro * (steps if isinstance(steps, int) else max(1, total // (micro * world))) * world:
            return "does_not_divide", facts
        return "ok", facts
    raise NotApplicable("no DeepSpeed configuration lies here")


def probe_checkpoint_keys(job: Job) -> Answer:
    """Prefixes of a checkpoint's key names; it is not loaded: only names are read, no object is built
    from it."""
    place = str(getattr(job.options, "checkpoint", "")) or newest_checkpoint()
    if not place:
        raise NotApplicable("no checkpoint was named and none lies here")
    try:
        names = safetensors_names(place) if place.endswith(".safetensors") else zip_names(place)
    except (zipfile.BadZipFile, ValueError, struct.error, KeyError, EOFError):
        return "unreadable", {"bytes": os.path.getsize(place)}
    keys = [name for name in names if PARAMETER.match(name)]
    if not keys:
        raise NotApplicable("no parameter names were found in it")
    count = {prefix: sum(key.startswith(prefix) for key in keys) for prefix in PREFIXES}
    facts: Facts = {"keys": len(keys), "prefixes": [prefix for prefix in PREFIXES if count[prefix]]}
    most = max(count.values())
    return ("plain" if most == 0 else "wrapped" if most == len(keys) else "mixed"), facts


def newest_checkpoint() -> str:
    """The newest checkpoint file of the current folder and of its checkpoint folders."""
    ends = ("pt", "pth", "bin", "ckpt", "safetensors")
    files = [
        file
        for end in ends
        for folder in ("", "checkpoint*/", "output*/", "ckpt*/")
        for file in glob.glob(folder + "*." + end)
    ]
    return max(files, key=os.path.getmtime, default="")


def safetensors_names(place: str) -> list[str]:
    """Names in the JSON head of a safetensors file; ValueError when the file is shorter than it says."""
    with open(place, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        if size > 50 << 20:
            raise ValueError("head too large")
        head = json.loads(file.read(size))
    ends = [
        entry["data_offsets"][1]
        for entry in head.values()
        if isinstance(entry, dict) and "data_offsets" in entry
    ]
    if os.path.getsize(place) < 8 + size + max(ends, default=0):
        raise ValueError("cut")
    return list(head)


def zip_names(place: str) -> list[str]:
    """Texts in the pickle of a torch checkpoint, read as tokens and not executed; BadZipFile when it is
    cut."""
    with zipfile.ZipFile(place) as archive:
        inside = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if not inside or archive.getinfo(inside[0]).file_size > 64 << 20:
            raise ValueError("not a torch checkpoint")
        text = archive.read(inside[0])
    return [
        value
        for code, value, _ in pickletools.genops(text)
        if "UNICODE" in code.name and isinstance(value, str)
    ]
