"""Set-ups written after the likelihoods were fixed: none was changed for them (docs/diagnostics.md says what came
out)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.setups.machines import cluster, sshd
from tests.setups.model import BASE_PATH, PYTHON, Run, heldout, ranks
from tests.setups.network_setups import free_port, over
from tests.setups.software_setups import environment

CODE = "import os, torch, torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
NETWORK, COMMUNICATION, LIMITS = "network_environment", "communication_configuration", "resource_limits"


@contextmanager
def group(controller: str, name: str, **values: str) -> Iterator[list[str]]:
    """A control group (version 1) with these values; yields what stands before a command to run it inside."""
    place = Path("/sys/fs/cgroup") / controller / name
    place.mkdir()
    try:
        for key, value in values.items():
            (place / key.replace("__", ".")).write_text(value, encoding="ascii")
        yield ["sh", "-c", 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"', "sh", str(place)]
    finally:
        place.rmdir()


@heldout(
    "cpu-starved",
    "a container of half a processor for two ranks",
    LIMITS,
    ["cgroup_cpu:starved"],
    needs=("root", "cgroup-memory"),
)
def cpu_starved(folder: Path) -> Iterator[list[Run]]:
    with group("cpu", "distriage-starved", cpu__cfs_period_us="100000", cpu__cfs_quota_us="50000") as before:
        yield [Run(run.env, before) for run in ranks(2, free_port())]


@heldout(
    "tf-address-twice",
    "TF_CONFIG names one address for two workers",
    COMMUNICATION,
    ["tf_config:address_twice"],
    framework="tensorflow",
)
def tf_address_twice(folder: Path) -> Iterator[list[Run]]:
    cluster_part = '{"worker": ["127.0.0.1:2222", "127.0.0.1:2222"]}'
    config = f'{{"cluster": {cluster_part}, "task": {{"type": "worker", "index": %d}}}}'
    yield [Run({"TF_CONFIG": config % index}) for index in (0, 1)]


@heldout(
    "too-few-slots",
    "the host file offers two slots and four ranks are asked for",
    COMMUNICATION,
    ["hostfile:too_few_slots"],
    framework="deepspeed",
)
def too_few_slots(folder: Path) -> Iterator[list[Run]]:
    (folder / "hostfile").write_text("node0 slots=1\nnode1 slots=1\n", encoding="utf-8")
    yield [Run(run.env, cwd=folder) for run in ranks(4, free_port())]


@heldout(
    "peer-unresolvable",
    "the second host of -H does not resolve",
    NETWORK,
    ["peers:unresolvable"],
    framework="horovod",
    needs=("root", "ip"),
)
def peer_unresolvable(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        yield [Run({}, machines[0].before, arguments=("--hosts", "node0,node7"))]


@heldout(
    "host-key-unknown",
    "the second host's ssh key was never accepted",
    NETWORK,
    ["ssh:unknown_host_key"],
    framework="horovod",
    needs=("root", "ip", "ssh", "sshd", "ssh-keygen"),
)
def host_key_unknown(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines, sshd(machines[1], folder):
        yield [Run({}, machines[0].before, arguments=("--hosts", "node0,node1"))]


@heldout(
    "worlds-differ",
    "one machine was started for a world of two, the other for four",
    COMMUNICATION,
    ["launch_agrees:differ", "rehearsal:ranks_missing"],
    needs=("root", "ip"),
)
def worlds_differ(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        first, second = over(machines)
        yield [Run({**first.env, "WORLD_SIZE": "4"}, first.before), second]


@heldout(
    "other-ports-closed",
    "the master's firewall lets MASTER_PORT through and drops all other new connections",
    NETWORK,
    ["gloo_world:hangs", "gloo_world:fails"],
    needs=("root", "ip", "nft", "torch"),
)
def other_ports_closed(folder: Path) -> Iterator[list[Run]]:
    rules = (
        "add table inet t; add chain inet t in { type filter hook input priority 0; }; "
        "add rule inet t in iif lo accept; add rule inet t in tcp dport 29500 accept; "
        "add rule inet t in ct state new tcp dport 1024-65535 drop"
    )
    with cluster(folder) as machines:
        machines[0].run("nft", rules)
        yield over(machines)


@heldout(
    "nobody-at-address",
    "MASTER_ADDR is an address where no machine is",
    NETWORK,
    ["master_port:no_route", "rehearsal:no_route", "master_port:blocked", "rehearsal:blocked"],
    needs=("root", "ip"),
)
def nobody_at_address(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        yield [Run({**run.env, "MASTER_ADDR": "10.77.0.99"}, run.before) for run in over(machines)]


@heldout(
    "master-listens-on-loopback",
    "on the master its own name is 127.0.1.1, so its rendezvous listens on loopback only",
    NETWORK,
    ["own_name:loopback_name"],
    needs=("root", "ip"),
)
def master_listens_on_loopback(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        hosts = machines[0].hosts
        hosts.write_text(hosts.read_text("utf-8").replace(machines[0].address, "127.0.1.1"), encoding="utf-8")
        yield over(machines)


@heldout(
    "installed-twice",
    "two versions of tokenizers lie on the path",
    "dependency",
    ["package_versions:installed_twice"],
    report="It does not start.",
)
def installed_twice(folder: Path) -> Iterator[list[Run]]:
    venv = environment(folder / "venv", {"tokenizers": ("0.19.1", ""), "accelerate": ("1.2.0", "")})
    other = environment(folder / "other", {"tokenizers": ("0.21.0", "")})
    site = next(other.glob("lib/python3*/site-packages"))
    yield [Run({"PYTHONPATH": str(site)}, python=str(venv / "bin" / "python"))]


def code(folder: Path, text: str) -> list[Run]:
    """Two ranks in a folder that holds this training script."""
    (folder / "train.py").write_text(CODE + text, encoding="utf-8")
    return [Run(run.env, cwd=folder) for run in ranks(2, free_port())]


@heldout(
    "one-gpu-for-all",
    "every rank of a DDP script sends its model to cuda:0",
    "device_placement",
    ["device_binding:fixed_device"],
    report="Only one GPU is used.",
)
def one_gpu_for_all(folder: Path) -> Iterator[list[Run]]:
    yield code(folder, "dist.init_process_group('nccl')\nmodel = DDP(torch.nn.Linear(8, 1).to('cuda:0'))\n")


@heldout(
    "data-not-divided",
    "a DDP script gives every rank the whole data set",
    "batch_or_partition",
    ["sampling:not_divided"],
    report="Training with more GPUs is not faster.",
)
def data_not_divided(folder: Path) -> Iterator[list[Run]]:
    text = "from torch.utils.data import DataLoader\nlocal_rank = int(os.environ['LOCAL_RANK'])\n"
    text += "dist.init_process_group('nccl')\ntorch.cuda.set_device(local_rank)\n"
    text += "loader = DataLoader(data, batch_size=8)\n"
    yield code(folder, text)


@heldout(
    "start-not-broadcast",
    "a Horovod script never broadcasts its start state",
    "distributed_api_misuse",
    ["api_use:no_broadcast"],
    framework="horovod",
    report="The result is wrong with several GPUs.",
)
def start_not_broadcast(folder: Path) -> Iterator[list[Run]]:
    text = "import horovod.torch as hvd\nhvd.init()\ntorch.cuda.set_device(hvd.local_rank())\n"
    yield code(folder, text + "optimizer = hvd.DistributedOptimizer(torch.optim.SGD([], 0.1))\n")


@heldout(
    "launcher-of-another-venv",
    "deepspeed on PATH belongs to a removed environment",
    "dependency",
    ["environment:launcher_elsewhere"],
    framework="deepspeed",
    report="It does not start.",
)
def launcher_of_another_venv(folder: Path) -> Iterator[list[Run]]:
    launcher = folder / "bin" / "deepspeed"
    launcher.parent.mkdir()
    launcher.write_text("#!/opt/conda/envs/old/bin/python\n", encoding="utf-8")
    launcher.chmod(0o755)
    yield [Run({"PATH": f"{launcher.parent}:{Path(PYTHON).parent}:{BASE_PATH}"})]
