"""Small collectives on this machine, and the settings of the libraries that carry them."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import time

from knowledge.diagnostics.runtime.gpus import gpus_of, torch_of
from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable, quiet_settings, stop

OFF = (
    "NCCL_P2P_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_IB_DISABLE",
    "NCCL_NET_DISABLE",
    "NCCL_NVLS_ENABLE",
    "NCCL_CUMEM_ENABLE",
)
ALL_REDUCE = """
import datetime, os, sys
b, n = sys.argv[1], int(sys.argv[2])
try: import torch, torch.distributed as d
except Exception: sys.exit(7)
if not getattr(d, "is_%s_available" % b, d.is_available)(): sys.exit(7)
other = os.fork() if b == "gloo" and "both" in sys.argv else None
r = int(os.environ["RANK"]) if other is None else int(not other)
os.environ["RANK"] = str(r)
print("meets", flush=True)
if b == "nccl": torch.cuda.set_device(r)
d.init_process_group(b, timeout=datetime.timedelta(seconds=15))
t = torch.ones(4096, device="cuda" if b == "nccl" else "cpu")
d.all_reduce(t)
ok = float(t.sum()) == 4096.0 * n
d.destroy_process_group()
if other and os.waitpid(other, 0)[1]: ok = False
sys.exit(0 if ok else 5)
"""
NOTHING_TO_TEST = 7
"""Exit code of the above where torch or the backend is missing."""


def probe_collective_env(job: Job) -> Answer:
    """Settings of NCCL, Gloo, UCX and MPI: which kinds are set, and a digest to compare between ranks."""
    mine = sorted(
        name
        for name in job.env
        if name.startswith(("NCCL_", "GLOO_", "UCX_", "TORCH_NCCL_", "HOROVOD_", "OMPI_MCA_"))
    )
    varying = (
        "HOROVOD_RANK",
        "HOROVOD_LOCAL_RANK",
        "HOROVOD_CROSS_RANK",
        "HOROVOD_HOSTNAME",
        "OMPI_MCA_ess_base_vpid",
    )
    told = [
        name
        for name in mine
        if name not in varying and not name.startswith(("OMPI_MCA_orte", "OMPI_MCA_ess", "OMPI_MCA_shmem"))
    ]
    digest = hashlib.sha256("|".join(name + "=" + job.var(name) for name in told).encode()).hexdigest()[:8]
    off = [name for name in OFF if job.var(name) not in ("", "0") and name.endswith("DISABLE")]
    facts: Facts = {"names": told[:16], "digest": digest, "off": off}
    if job.var("NCCL_SHM_DISABLE") == "1" and job.var("NCCL_P2P_DISABLE") == "1":
        return "local_ways_off", facts
    if job.var("NCCL_ALGO") or job.var("NCCL_PROTO") or job.var("NCCL_NET"):
        return "forced", facts
    if job.var("NCCL_BLOCKING_WAIT") or job.var("NCCL_ASYNC_ERROR_HANDLING"):
        return "old_names", facts
    return ("some_off" if off else "set" if told else "unset"), facts


def probe_loopback(job: Job) -> Answer:
    """Whether two sockets of this machine can talk over its loopback and over its own name."""
    del job
    names = ["127.0.0.1", socket.gethostname()]
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.bind(("", 0))
        door.listen(4)
        port = door.getsockname()[1]
        for name in names:
            try:
                with socket.create_connection((name, port), timeout=3):
                    continue
            except socket.gaierror:
                continue
            except OSError:
                return ("loopback_blocked" if name == names[0] else "own_address_blocked"), {}
    return "ok", {}


def pair(job: Job, backend: str, seconds: float, extra: dict[str, str]) -> tuple[str, str]:
    """Run a two-process all-reduce over loopback with the job's own settings: ok, fails, hangs, slow or missing,
    and the last error line. For Gloo one process imports torch and forks, which halves the time."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    drop = (
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "TORCHELASTIC_USE_AGENT_STORE",
        "CUDA_VISIBLE_DEVICES" if backend == "gloo" else "",
    )
    settings = {name: value for name, value in job.env.items() if name not in drop}
    settings.update(
        quiet_settings(job.tmp), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE="2", **extra
    )
    if backend == "gloo":
        return ended([started(backend, settings, 2, "both")], time.time() + seconds)
    ranks = [dict(settings, RANK=str(rank), LOCAL_RANK=str(rank)) for rank in (0, 1)]
    return ended([started(backend, one, 2) for one in ranks], time.time() + seconds)


def started(backend: str, settings: dict[str, str], world: int, *more: str) -> subprocess.Popen[bytes]:
    """One process of an all-reduce."""
    argv = [sys.executable, "-c", ALL_REDUCE, backend, str(world), *more]
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    return subprocess.Popen(argv, env=settings, stdin=quiet, stdout=pipe, stderr=pipe)


def ended(children: list[subprocess.Popen[bytes]], until: float) -> tuple[str, str]:
    """Wait for the processes of an all-reduce: ok, fails, hangs, slow (torch was still being imported) or
    missing, and the last line of the first error."""
    state, said = "ok", b""
    for one in children:
        if state != "ok":
            break
        try:
            _, said = one.communicate(timeout=max(0.1, until - time.time()))
            state = {0: "ok", NOTHING_TO_TEST: "missing"}.get(one.returncode, "fails")
        except subprocess.TimeoutExpired as late:
            state = "hangs" if b"meets" in (late.output or b"") else "slow"
            _, said = stop(one)
    for one in children:
        if one.poll() is None:
            stop(one)
    text = said.decode("utf-8", "replace")
    last = text.strip().splitlines()[-1:] or [""]
    return ("hangs" if state == "fails" and "imed out" in text else state), last[0][-120:]


def judged(state: str, error: str) -> Answer:
    """The answer of an all-reduce that could be tried."""
    if state == "slow":
        raise NotApplicable("importing torch takes too long here")
    return state, {"error": error} if state != "ok" else {}


def probe_gloo_pair(job: Job) -> Answer:
    """A two-process Gloo all-reduce on this machine, unless all ranks have just done one."""
    if job.shared.get("gloo_world", {}).get("outcome") == "ok":
        return "ok", {"all_ranks": True}
    backends = torch_of(job).get("backends")
    if not isinstance(backends, list) or "gloo" not in backends:
        return "no_backend", {}
    state, error = pair(job, "gloo", 24, {})
    return judged("no_backend" if state == "missing" else state, error)


def probe_nccl_pair(job: Job) -> Answer:
    """A two-process NCCL all-reduce on the first two GPUs; when it does not work, again without peer
    access."""
    if len(gpus_of(job)) < 2:
        return "not_applicable", {"why": "fewer than two GPUs"}
    backends = torch_of(job).get("backends")
    if not isinstance(backends, list) or "nccl" not in backends:
        return "no_backend", {}
    state, error = pair(job, "nccl", 14, {})
    if state in ("ok", "slow", "missing"):
        return judged("no_backend" if state == "missing" else state, error)
    again, _ = pair(job, "nccl", 12, {"NCCL_P2P_DISABLE": "1"})
    return ("only_without_peer_access" if again == "ok" else state), {"error": error, "cores": os.cpu_count()}


def probe_gloo_world(job: Job) -> Answer:
    """An all-reduce over Gloo between all ranks, with the job's own settings, after their plain sockets
    met."""
    met = job.shared.get("rehearsal", {})
    if not met.get("all"):
        raise NotApplicable("the ranks did not all meet before")
    world, port = job.world or 0, job.number(("MASTER_PORT",)) or 0
    if world > 64:
        raise NotApplicable("more than 64 ranks")
    settings = dict(job.env, MASTER_PORT=str(port + 2 if port < 65534 else port - 2), RANK=str(job.rank))
    settings.update(quiet_settings(job.tmp), WORLD_SIZE=str(world), TORCHELASTIC_USE_AGENT_STORE="False")
    one = started("gloo", settings, world)
    state, error = ended([one], time.time() + 24)
    if state == "missing":
        raise NotApplicable("torch with Gloo is not installed")
    return judged(state, error)
