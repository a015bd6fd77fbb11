"""Training processes of this user: left-overs, dead ranks, and where the living ones stand."""

from __future__ import annotations

import hashlib
import json
import os
import re

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

PACKAGES = re.compile(
    r"(?:site|dist)-packages/(torch|horovod|deepspeed|tensorflow|colossalai|megatron|accelerate)\b"
)
WAITING = (
    "all_reduce",
    "allreduce",
    "broadcast",
    "barrier",
    "all_gather",
    "reduce_scatter",
    "synchronize",
    "wait",
    "backward",
    "_verify",
)
MEETING = (
    "rendezvous",
    "init_process_group",
    "_store_based_barrier",
    "next_rendezvous",
    "_create_c10d_store",
    "_tcp_rendezvous",
)
LOADING = ("_try_get_data", "_next_data", "_worker_loop", "fetch")


def training_processes(job: Job) -> list[tuple[int, dict[str, str], str, int]]:
    """This user's Python processes with a rank: pid, variables, state letter, parent; our own family left
    out."""
    job.linux_only()
    family = {os.getpid(), os.getppid()}
    found = []
    for name in job.names_in("/proc"):
        if not name.isdigit() or int(name) in family:
            continue
        stat = job.read("/proc/" + name + "/stat", 4096)
        env = dict(
            part.split("=", 1)
            for part in job.read("/proc/" + name + "/environ", 262144).split("\0")
            if "=" in part
        )
        if not stat or not any(
            word in env for word in ("RANK", "OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "PMI_RANK")
        ):
            continue
        command = job.read("/proc/" + name + "/cmdline", 4096)
        if "distriage-" in env.get("TMPDIR", "") or is_this_script(job, name, command):
            continue
        rest = stat.rsplit(")", 1)[-1].split()
        if "python" in command.split("\0")[0]:
            found.append((int(name), env, rest[0], int(rest[1])))
    return found[:64]


def is_this_script(job: Job, pid: str, command: str) -> bool:
    """Whether a process is this very script in another rank, by the first line of the file that it runs."""
    files = [part for part in command.split("\0")[1:4] if part and not part.startswith("-")]
    places = [part if part.startswith("/") else f"/proc/{pid}/cwd/{part}" for part in files]
    return any(job.read(place, 16).startswith('#!/bin/sh\n""":"') for place in places)


def probe_leftovers(job: Job) -> Answer:
    """Training processes whose launcher is gone, or ranks that have stopped while others run."""
    found = training_processes(job)
    if not found:
        return "none", {}
    orphans = [pid for pid, _, _, parent in found if parent == 1]
    stopped = [pid for pid, _, state, _ in found if state in "ZTtX"]
    worlds = {
        int(env["WORLD_SIZE"])
        for _, env, _, _ in found
        if env.get("LOCAL_WORLD_SIZE", "") == env.get("WORLD_SIZE", "?").strip()
    }
    facts: Facts = {"processes": len(found), "orphans": len(orphans), "stopped": len(stopped)}
    if stopped:
        return "rank_stopped", facts
    ranks = {env.get("RANK") for _, env, _, _ in found}
    if len(worlds) == 1 and len(ranks) < next(iter(worlds)):
        return "rank_gone", dict(facts, ranks=len(ranks), world_size=next(iter(worlds)))
    return ("orphans" if orphans and len(orphans) == len(found) else "running"), facts


def probe_stacks(job: Job) -> Answer:
    """Where the training processes of this machine stand, by py-spy: names of the frameworks' functions
    only."""
    spy = job.need("py-spy")
    found = training_processes(job)[:4]
    if not found:
        raise NotApplicable("no training process runs here")
    stands, places, kinds = [], set(), set()
    for pid, _, _, _ in found:
        ran = job.run([spy, "dump", "--nonblocking", "--json", "--pid", str(pid)], 6)
        if ran.code != 0:
            continue
        function, place = innermost(json.loads(ran.out))
        stands.append(function)
        places.add(place)
        kinds.add(kind_of(function))
    if not stands:
        raise NotApplicable("py-spy may not look into them")
    facts: Facts = {"functions": stands, "places": len(places)}
    if len(stands) > 1 and len(places) > 1:
        return "different_places", facts
    for kind in ("meeting", "loading", "waiting"):
        if kind in kinds:
            return kind, facts
    return "elsewhere", facts


def innermost(threads: list[dict[str, object]]) -> tuple[str, str]:
    """Of the main thread: the innermost function of a framework, and a digest of the caller's own line."""
    main = next((one for one in threads if one.get("thread_name") == "MainThread"), threads[0])
    frames = main.get("frames")
    listed = frames if isinstance(frames, list) else []
    function = next(
        (str(frame.get("name")) for frame in listed if PACKAGES.search(str(frame.get("filename")))), ""
    )
    own: dict[str, object] = next(
        (
            frame
            for frame in listed
            if not re.search(r"(site|dist)-packages|/lib/python", str(frame.get("filename")))
        ),
        {},
    )
    place = hashlib.sha256(
        f"{os.path.basename(str(own.get('filename')))}:{own.get('line')}".encode()
    ).hexdigest()[:8]
    return function[:60], place


def kind_of(function: str) -> str:
    """Whether a function is the meeting of the ranks, the data loader, or a collective."""
    for kind, names in (("meeting", MEETING), ("loading", LOADING), ("waiting", WAITING)):
        if any(name in function for name in names):
            return kind
    return "elsewhere"
