"""The injected faults and what is true of each by construction.

`root` is a regular expression for the line that a reader must name; where ranks print the same, any of them is right.
Several ids are right where the taxonomy leaves it open.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

TAIL = r"(?:\[rank\d+\]: ?)?"
"""torch's own prefix of a rank's exception."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a job. `launch`: forms such as "torchrun:2" (launcher, ranks); `ranks`: empty = not scored."""

    script: str
    name: str
    root: str
    ranks: tuple[int, ...]
    symptom: tuple[str, ...]
    cause: tuple[str, ...]
    launch: tuple[str, ...]

    @property
    def function(self) -> str:
        """The function of the script."""
        return self.name.partition(":")[0]

    @property
    def id(self) -> str:
        """Stable name of the fault, whatever launches it."""
        return f"{self.script}.{self.name}"

    @property
    def held_out(self) -> bool:
        """Whether it stays out of development: half of the ids, by a hash of the id alone."""
        return hashlib.sha256(self.id.encode()).digest()[2] % 2 == 1


def _ids(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _fault(name: str, root: str, ranks: str, symptom: str, cause: str, launch: str) -> Fault:
    re.compile(root)
    script, _, function = name.partition(".")
    return Fault(
        script, function, root, tuple(map(int, ranks.split())), _ids(symptom), _ids(cause), _ids(launch)
    )


_OTHER = "D.other D.1.other"
_PREPARING = "C.other B.1 D.other D.1.other"
_LOST_TIME = r"[Tt]imed out|timeout|Timeout"
_CONNECTION = "communication_configuration network_environment"
_GRAPH = "model_construction distributed_api_misuse"
_DIVERGED = "divergent_ranks inconsistent_processes distributed_api_misuse"

FAULTS: tuple[Fault, ...] = (
    # Finding each other.
    _fault(
        "setup.too_large_world",
        r"DistStoreError|clients joined|EADDRINUSE",
        "",
        "B.2 B.1",
        "communication_configuration",
        "env:2",
    ),
    _fault(
        "setup.stale_world_size",
        r"DistStoreError|clients joined",
        "",
        "B.2 B.1",
        "communication_configuration",
        "torchrun:2",
    ),
    _fault(
        "setup.no_address",
        r"MASTER_ADDR expected",
        "",
        "B.1",
        "communication_configuration",
        "torchrun:2 mpirun:2",
    ),
    _fault("setup.unknown_host", r"train-head-0\.invalid", "", "B.1 B.2", _CONNECTION, "torchrun:2"),
    _fault(
        "setup.closed_port",
        r"failed to connect|Connection refused|timed out after|clients joined",
        "",
        "B.1 B.2",
        _CONNECTION,
        "torchrun:2",
    ),
    _fault("setup.wrong_interface", r"ib7|Unable to (?:find|resolve)", "", "B.1", _CONNECTION, "torchrun:2"),
    _fault(
        "setup.rank_past_world",
        r"clients joined|timed out|failed to connect",
        "",
        "B.1 B.2",
        "communication_configuration distributed_api_misuse",
        "env:2",
    ),
    _fault(
        "setup.nccl_without_gpu",
        r"NCCL",
        "",
        "B.1",
        "communication_configuration hardware device_placement build_configuration dependency",
        "torchrun:2",
    ),
    _fault(
        "setup.mpi_back_end",
        r"MPI",
        "",
        "B.1",
        "build_configuration communication_configuration dependency",
        "torchrun:2",
    ),
    _fault(
        "setup.joined_twice",
        r"initialize the default process group twice",
        "",
        "B.1",
        "distributed_api_misuse",
        "torchrun:2",
    ),
    _fault(
        "setup.not_joined",
        r"Default process group has not been initialized",
        "",
        "B.1 D.1.1 C.other",
        "distributed_api_misuse",
        "torchrun:2",
    ),
    _fault(
        "setup.mesh_too_large",
        r"Mesh should not be bigger",
        "",
        "B.1",
        "communication_configuration distributed_api_misuse batch_or_partition",
        "torchrun:2",
    ),
    _fault("setup.two_masters", r"EADDRINUSE|address already in use", "", "B.1", _CONNECTION, "torchrun:2"),
    _fault(
        "setup.joins:short",
        r"RendezvousTimeout|[Tt]imed out|RendezvousConnection|clients joined",
        "",
        "B.2 B.1",
        _CONNECTION,
        "short:2",
    ),
    _fault(
        "setup.joins:port",
        r"EADDRINUSE|address already in use",
        "",
        "B.1",
        "network_environment communication_configuration",
        "port:2",
    ),
    _fault(
        "setup.joins:address",
        r"no-such-host|failed to connect|[Tt]imed out|RendezvousConnectionError|gaierror|resolve",
        "",
        "B.1 B.2",
        _CONNECTION,
        "address:2",
    ),
    _fault(
        "setup.joins:script",
        r"can't open file",
        "",
        "B.1 D.1.9",
        "other communication_configuration",
        "noscript:2",
    ),
    _fault(
        "setup.joins:slots",
        r"not enough slots",
        "",
        "B.1",
        "communication_configuration resource_limits",
        "slots:64",
    ),
    _fault(
        "setup.joins:program",
        r"unable to (?:find|launch).*|could not access|executable",
        "",
        "B.1 D.1.9",
        "dependency other communication_configuration",
        "noprogram:2",
    ),
    _fault(
        "setup.joins:lambda",
        r"Can't (?:pickle|get) local object",
        "",
        "B.1",
        "other distributed_api_misuse",
        "spawn-lambda:2",
    ),
    _fault("setup.joins:handle", r"cannot pickle", "", "B.1", "other distributed_api_misuse", "spawn-lock:2"),
    _fault(
        "setup.joins:guard",
        r"RuntimeError:\s*$|An attempt has been made to start a new process",
        "",
        "B.1",
        "distributed_api_misuse other",
        "unguarded:2",
    ),
    # Talking to each other.
    _fault(
        "collectives.skipped_all_reduce",
        r"[Cc]onnection (?:was )?(?:closed|reset)|" + _LOST_TIME,
        "",
        "D.1.1 D.2.1",
        _DIVERGED,
        "torchrun:3 mpirun:2",
    ),
    _fault("collectives.skipped_and_busy", _LOST_TIME, "", "D.2.1 D.1.1", _DIVERGED, "torchrun:2"),
    _fault("collectives.lonely_barrier", _LOST_TIME, "0", "D.2.1 D.1.1", _DIVERGED, "torchrun:2 spawn:2"),
    _fault(
        "collectives.monitored_barrier",
        r"monitored ?[Bb]arrier",
        "0 1",
        "D.2.1 D.1.1",
        _DIVERGED,
        "torchrun:3",
    ),
    _fault(
        "collectives.swapped_order",
        r"enforce fail|[Mm]ismatch|" + _LOST_TIME + "|[Cc]onnection",
        "",
        "D.1.1 D.2.1",
        _DIVERGED,
        "torchrun:2",
    ),
    _fault(
        "collectives.other_shape",
        r"enforce fail|[Mm]ismatch|preamble",
        "",
        "D.1.1 D.1.5",
        _DIVERGED + " batch_or_partition",
        "torchrun:2 mpirun:2",
    ),
    _fault(
        "collectives.mismatch_in_detail",
        r"Detected mismatch between collectives",
        "",
        "D.1.1",
        _DIVERGED,
        "detail:2",
    ),
    _fault(
        "collectives.shape_in_detail",
        r"Detected mismatch between collectives|shape",
        "",
        "D.1.1 D.1.5",
        _DIVERGED + " batch_or_partition",
        "detail:2",
    ),
    _fault(
        "collectives.uneven_batches",
        _LOST_TIME + "|[Cc]onnection",
        "",
        "D.2.1 D.1.1",
        _DIVERGED + " batch_or_partition",
        "torchrun:2",
    ),
    _fault(
        "collectives.uneven_and_gone",
        r"[Cc]onnection|" + _LOST_TIME,
        "0",
        "D.1.1 D.2.1",
        _DIVERGED + " batch_or_partition",
        "torchrun:2",
    ),
    _fault(
        "collectives.wrong_gather_list",
        r"output list size",
        "0",
        "D.1.1 D.1.5",
        "distributed_api_misuse",
        "torchrun:2",
    ),
    _fault(
        "collectives.wrong_source",
        r"invalid root rank",
        "",
        "D.1.1",
        "distributed_api_misuse communication_configuration",
        "torchrun:2",
    ),
    _fault(
        "collectives.stopped_rank",
        _LOST_TIME,
        "",
        "D.2.1 D.1.1",
        "hardware divergent_ranks network_environment other inconsistent_processes communication_configuration",
        "torchrun:3",
    ),
    _fault(
        "collectives.different_models",
        r"expects same model",
        "",
        "C.3 D.1.1 C.other B.1 D.1.5",
        "inconsistent_processes divergent_ranks model_construction",
        "torchrun:2",
    ),
    _fault(
        "collectives.different_width",
        r"appears not to match|sizes of the same param",
        "",
        "C.3 D.1.1 C.other B.1 D.1.5",
        "inconsistent_processes divergent_ranks model_construction",
        "torchrun:2",
    ),
    _fault(
        "collectives.raised_in_hook",
        r"loss is not finite",
        "1",
        _OTHER + " D.2.5 D.1.4",
        "other",
        "torchrun:3 mpirun:3 spawn:2",
    ),
    _fault(
        "collectives.bad_scatter",
        r"size|length|match",
        "0",
        "D.1.1 D.1.5",
        "distributed_api_misuse",
        "torchrun:2",
    ),
    # The model.
    _fault(
        "models.unused_parameters",
        r"Expected to have finished reduction",
        "",
        "D.1.4",
        _GRAPH,
        "torchrun:2 accelerate:2",
    ),
    _fault(
        "models.in_place",
        r"modified by an inplace operation",
        "",
        "D.1.4",
        "model_construction",
        "torchrun:2",
    ),
    _fault(
        "models.widths",
        r"shapes cannot be multiplied",
        "",
        "D.1.5",
        "model_construction other",
        "torchrun:2 deepspeed:2",
    ),
    _fault(
        "models.widths_on_one_rank",
        r"shapes cannot be multiplied",
        "1",
        "D.1.5",
        "model_construction other inconsistent_processes batch_or_partition",
        "torchrun:3",
    ),
    _fault(
        "models.backward_twice",
        r"Trying to backward through the graph a second time",
        "",
        "D.1.4",
        _GRAPH + " other",
        "torchrun:2",
    ),
    _fault(
        "models.half_input",
        r"same dtype|scalar type",
        "",
        "D.1.5",
        "model_construction other",
        "accelerate:2",
    ),
    _fault(
        "models.frozen",
        r"doesn't have any parameters? that requires? a gradient",
        "",
        "C.other D.1.4 B.1 D.other C.1",
        _GRAPH,
        "torchrun:2",
    ),
    _fault(
        "models.wrong_index",
        r"CUDA|NVIDIA",
        "",
        "C.5 D.1.3 B.1",
        "device_placement hardware build_configuration dependency",
        "torchrun:2",
    ),
    _fault(
        "models.wrong_device_ids",
        r"device_ids",
        "",
        "C.5 D.1.3 B.1",
        "device_placement distributed_api_misuse",
        "torchrun:2",
    ),
    _fault(
        "models.other_device",
        r"not on the expected device|to be on the same device",
        "",
        "D.1.3",
        "device_placement",
        "torchrun:2",
    ),
    _fault(
        "models.wrapped_attribute",
        r"has no attribute 'head'",
        "",
        "D.1.8 C.other",
        "distributed_api_misuse wrapped_model_state",
        "torchrun:2 spawn:2",
    ),
    _fault("models.undefined_name", r"name 'best_loss' is not defined", "0", "D.1.8", "other", "torchrun:2"),
    _fault(
        "models.embedding_range",
        r"index out of range",
        "1",
        "D.1.4 D.1.5 D.1.2 D.other D.1.other",
        "other model_construction",
        "torchrun:2",
    ),
    _fault(
        "models.not_for_type",
        r"not implemented for",
        "",
        "D.1.10",
        "framework_defect other model_construction",
        "torchrun:2",
    ),
    _fault(
        "models.last_batch",
        r"must match the size",
        "",
        "D.1.5",
        "batch_or_partition model_construction other",
        "mpirun:2",
    ),
    _fault(
        "models.metric_of_none",
        r"'NoneType' object is not subscriptable",
        "1 2",
        _OTHER + " D.1.8",
        "divergent_ranks other",
        "torchrun:3",
    ),
    _fault(
        "models.not_written",
        r"missing the required \"forward\"",
        "",
        "D.1.10 D.1.8",
        "model_construction other",
        "torchrun:2",
    ),
    # The data.
    _fault(
        "data.missing_field",
        r"KeyError: 'label'",
        "0 1 2",
        "C.6 D.other D.1.other C.2",
        "other",
        "torchrun:3",
    ),
    _fault(
        "data.missing_field_in_worker",
        r"KeyError: 'label'",
        "0 1 2",
        "C.6 D.other D.1.other C.2",
        "other",
        "torchrun:2",
    ),
    _fault(
        "data.bad_number",
        r"could not convert string to float",
        "",
        "C.6 D.other D.1.other C.2",
        "other",
        "deepspeed:2",
    ),
    _fault(
        "data.killed_worker",
        r"is killed by signal|exited unexpectedly",
        "",
        "C.6 D.1.2 D.other D.1.other C.2",
        "resource_limits other",
        "torchrun:2",
    ),
    _fault(
        "data.worker_left",
        r"exited unexpectedly|ConnectionResetError",
        "",
        "C.6 D.1.2 D.other D.1.other C.2",
        "resource_limits other",
        "torchrun:2",
    ),
    _fault(
        "data.slow_worker",
        r"DataLoader timed out",
        "",
        "C.6 D.2.1 D.other C.4",
        "resource_limits other",
        "torchrun:2",
    ),
    _fault(
        "data.ragged",
        r"stack expects each tensor to be equal size",
        "",
        "D.1.5 C.6",
        "other batch_or_partition model_construction",
        "accelerate:2",
    ),
    _fault(
        "data.empty_shard",
        r"ZeroDivisionError",
        "2",
        "C.7 C.other C.2 D.other D.1.other C.6",
        "batch_or_partition other",
        "torchrun:3 mpirun:3",
    ),
    _fault(
        "data.no_file",
        r"No such file or directory",
        "1",
        "D.1.9 C.2",
        "inconsistent_processes other",
        "torchrun:2 deepspeed:2",
    ),
    _fault(
        "data.not_divisible",
        r"not divisible",
        "",
        "C.7 D.other B.1 C.other",
        "batch_or_partition",
        "torchrun:2",
    ),
    _fault(
        "data.empty_set",
        r"num_samples=0|num_samples should be",
        "",
        "C.2 C.6",
        "other batch_or_partition",
        "torchrun:2",
    ),
    _fault(
        "data.many_files",
        r"Too many open files",
        "",
        "D.1.2 D.other D.1.other C.2 C.6 D.1.9",
        "resource_limits",
        "files:2",
    ),
    _fault(
        "data.shared_memory",
        r"unable to (?:allocate|write).*shared memory|Bus error|No space left|out of shared memory|unable to mmap",
        "",
        "D.1.2 C.2 C.6 D.1.7",
        "resource_limits",
        "shm:2",
    ),
    # Checkpoints.
    _fault(
        "checkpoints.truncated",
        r"failed (?:reading|finding)|central directory",
        "",
        "C.1 D.1.6",
        "other resource_limits",
        "torchrun:2",
    ),
    _fault(
        "checkpoints.empty_file",
        r"EOFError|Ran out of input",
        "",
        "C.1 D.1.6",
        "other resource_limits divergent_ranks",
        "torchrun:2",
    ),
    _fault(
        "checkpoints.wrapped_keys",
        r"Error\(s\) in loading state_dict|Missing key|Unexpected key",
        "",
        "C.1 D.1.6",
        "wrapped_model_state",
        "torchrun:2",
    ),
    _fault(
        "checkpoints.fewer_keys",
        r"Error\(s\) in loading state_dict|Missing key",
        "",
        "C.1 D.1.6",
        "wrapped_model_state model_construction other",
        "torchrun:2",
    ),
    _fault(
        "checkpoints.other_width",
        r"Error\(s\) in loading state_dict|size mismatch",
        "",
        "C.1 D.1.6 D.1.5",
        "model_construction other",
        "spawn:2",
    ),
    _fault(
        "checkpoints.other_class",
        r"Weights only load failed",
        "",
        "C.1 D.1.6",
        "framework_defect dependency other wrapped_model_state",
        "torchrun:2",
    ),
    _fault(
        "checkpoints.other_optimizer",
        r"different number of parameter groups|doesn't match the size of",
        "",
        "C.1 D.1.6",
        "model_construction other wrapped_model_state",
        "torchrun:2",
    ),
    _fault(
        "checkpoints.on_one_node",
        r"No such file or directory",
        "1 2",
        "D.1.6 D.1.9",
        "inconsistent_processes other divergent_ranks",
        "torchrun:3",
    ),
    _fault(
        "checkpoints.key_of_checkpoint",
        r"KeyError: 'model'",
        "",
        "C.1 D.1.6",
        "other wrapped_model_state",
        "torchrun:2",
    ),
    _fault(
        "checkpoints.full_disk",
        r"No space left|PytorchStreamWriter|unexpected pos|iostream error",
        "0",
        "D.1.6 D.other",
        "resource_limits other",
        "disk:2 fsize:2",
    ),
    # Processes and limits.
    _fault(
        "processes.killed",
        r"(?i)exitcode\W+-9|signal 9|signal SIGKILL|return code = -9",
        "1 2",
        "D.1.2 D.1.7 D.other D.1.other",
        "resource_limits other hardware",
        "torchrun:3 mpirun:2 spawn:2 deepspeed:2",
    ),
    _fault(
        "processes.segfault",
        r"(?i)exitcode\W+-11|signal 11|signal SIGSEGV|Segmentation fault",
        "1 2",
        "D.1.7",
        "framework_defect dependency hardware other model_construction",
        "torchrun:2 mpirun:2",
    ),
    _fault(
        "processes.aborted",
        r"(?i)exitcode\W+-6|signal 6|signal SIGABRT|^Fatal Python error: Aborted",
        "1 2",
        "D.1.7 D.other D.1.other",
        "framework_defect dependency hardware other",
        "torchrun:2",
    ),
    _fault(
        "processes.bus_error",
        r"(?i)exitcode\W+-7|signal 7|signal SIGBUS|Bus error",
        "1 2",
        "D.1.7 D.1.2",
        "resource_limits hardware framework_defect other",
        "torchrun:2",
    ),
    _fault(
        "processes.exit_code",
        r"(?i)exit ?code\W*3\b|non-zero status",
        "1 2",
        _OTHER + " D.1.7 B.1",
        "other",
        "torchrun:2",
    ),
    _fault(
        "processes.left_silently",
        r"(?i)exit ?code\W*7\b|non-zero status|Process name: .*1\]$",
        "1 2",
        _OTHER + " D.1.7 B.1",
        "other",
        "mpirun:2",
    ),
    _fault(
        "processes.preempted",
        r"SIGTERM|signal: 15|Signal 15|[Cc]losing signal|Terminated",
        "",
        "D.other D.1.other",
        "other resource_limits hardware",
        "torchrun:2",
    ),
    _fault(
        "processes.host_memory",
        r"can't allocate memory|not enough memory",
        "1",
        "D.1.2",
        "resource_limits batch_or_partition",
        "memory:2",
    ),
    _fault(
        "processes.array_memory",
        r"Unable to allocate|MemoryError",
        "0",
        "D.1.2",
        "resource_limits batch_or_partition",
        "memory:2",
    ),
    _fault(
        "processes.threads",
        r"can't start new thread",
        "",
        "D.1.2 D.other D.1.other B.1 C.other",
        "resource_limits",
        "memory:2",
    ),
    # Packages, files, settings.
    _fault(
        "software.import_on_one",
        r"No module named 'sentencepieces'",
        "1",
        "A.2",
        "dependency inconsistent_processes",
        "torchrun:3",
    ),
    _fault(
        "software.missing_package", r"No module named 'flash_attn'", "", "A.2", "dependency", "deepspeed:2"
    ),
    _fault(
        "software.missing_name",
        r"cannot import name 'ReduceSum'",
        "",
        "A.2",
        "dependency framework_defect",
        "torchrun:2",
    ),
    _fault(
        "software.older_on_one",
        r"has no attribute 'pack'",
        "1",
        "D.1.8 A.2",
        "inconsistent_processes dependency",
        "torchrun:2",
    ),
    _fault(
        "software.checked_versions",
        r"package versions differ",
        "",
        "B.1 C.other D.other A.2",
        "inconsistent_processes dependency",
        "torchrun:3",
    ),
    _fault(
        "software.missing_library", r"cannot open shared object file", "", "A.2", "dependency", "mpirun:2"
    ),
    _fault("software.broken_json", r"JSONDecodeError", "", _PREPARING, "other", "deepspeed:2"),
    _fault("software.missing_setting", r"KeyError: 'optimizer'", "", _PREPARING, "other", "elastic:2"),
    _fault(
        "software.arguments",
        r"unrecognized arguments",
        "",
        "B.1 C.other",
        "other communication_configuration framework_defect distributed_api_misuse",
        "torchrun:2",
    ),
    _fault(
        "software.missing_variable",
        r"KeyError: 'DATA_ROOT'",
        "",
        _PREPARING + " D.1.9",
        "other inconsistent_processes",
        "mpirun:2",
    ),
)
