"""Jobs launched with numbers that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.setups.machines import cluster
from tests.setups.model import Run, ranks, setup
from tests.setups.network_setups import free_port, over

COMMUNICATION = "communication_configuration"


@setup(
    "world-never-fills",
    "WORLD_SIZE is 4 and two processes are started",
    COMMUNICATION,
    ["rehearsal:ranks_missing"],
)
def world_never_fills(folder: Path) -> Iterator[list[Run]]:
    yield ranks(4, free_port())[:2]


@setup(
    "rank-twice", "both machines were started with machine rank 0", COMMUNICATION, ["rehearsal:rank_twice"]
)
def rank_twice(folder: Path) -> Iterator[list[Run]]:
    runs = ranks(4, free_port())
    yield [runs[0], runs[1], runs[1], runs[2]]


@setup("rank-beyond-world", "ranks count from one", COMMUNICATION, ["rendezvous_env:rank_beyond_world"])
def rank_beyond_world(folder: Path) -> Iterator[list[Run]]:
    yield [Run({**run.env, "RANK": str(place + 1)}) for place, run in enumerate(ranks(2, free_port()))]


@setup(
    "variables-incomplete",
    "MASTER_PORT is not handed on to the ranks",
    COMMUNICATION,
    ["rendezvous_env:incomplete"],
)
def variables_incomplete(folder: Path) -> Iterator[list[Run]]:
    yield [
        Run({name: value for name, value in run.env.items() if name != "MASTER_PORT"})
        for run in ranks(2, 29500)
    ]


@setup(
    "master-is-loopback",
    "two machines, each with MASTER_ADDR=localhost",
    COMMUNICATION,
    ["rendezvous_env:loopback_master"],
    needs=("root", "ip"),
)
def master_is_loopback(folder: Path) -> Iterator[list[Run]]:
    with cluster(folder) as machines:
        yield [Run({**run.env, "MASTER_ADDR": "localhost"}, run.before) for run in over(machines)]


@setup(
    "launchers-nested",
    "srun starts four tasks, each of which believes in a world of two",
    COMMUNICATION,
    ["rendezvous_env:launchers_disagree"],
)
def launchers_nested(folder: Path) -> Iterator[list[Run]]:
    yield ranks(2, free_port(), SLURM_NTASKS="4", SLURM_NNODES="1")


@setup(
    "tf-config-index",
    "TF_CONFIG's task index lies outside its cluster",
    COMMUNICATION,
    ["tf_config:index_outside"],
    framework="tensorflow",
)
def tf_config_index(folder: Path) -> Iterator[list[Run]]:
    cluster = '{"worker": ["127.0.0.1:2222", "127.0.0.1:2223"]}'
    config = f'{{"cluster": {cluster}, "task": {{"type": "worker", "index": %d}}}}'
    yield [Run({"TF_CONFIG": config % index}) for index in (1, 2)]


@setup(
    "tf-config-quotes",
    "TF_CONFIG is written with single quotes",
    COMMUNICATION,
    ["tf_config:unreadable"],
    framework="tensorflow",
)
def tf_config_quotes(folder: Path) -> Iterator[list[Run]]:
    yield [
        Run(
            {"TF_CONFIG": "{'cluster': {'worker': ['127.0.0.1:22']}, 'task': {'type': 'worker', 'index': 0}}"}
        )
    ]
