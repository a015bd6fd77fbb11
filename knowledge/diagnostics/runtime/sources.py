"""The training script's own text, parsed and never run, and its habits that are known to split ranks."""

from __future__ import annotations

import ast
import hashlib
import os

from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable

# The training script's own text, parsed and never run.

COLLECTIVES = set(
    "all_reduce all_gather all_gather_object all_gather_into_tensor reduce_scatter broadcast "
    "all_to_all gather broadcast_object_list barrier scatter allreduce allgather alltoall "
    "broadcast_parameters save_checkpoint broadcast_optimizer_state wait_for_everyone new_group".split()
)


OWNERS = set("dist distributed hvd accelerator engine model_engine comm torch".split())


WRAPPERS = set("DistributedDataParallel DDP DataParallel FullyShardedDataParallel FSDP".split())


RANK_WORDS = set(
    "rank local_rank global_rank is_main is_master is_main_process is_rank_zero get_rank "
    "is_global_zero".split()
)


def python_files() -> list[str]:
    """The *.py files of the current folder and of the folders in it, at most 60."""
    here = os.getcwd()
    below = sorted(one.path for one in os.scandir(here) if one.is_dir() and one.name[0] not in "._")
    files: list[str] = []
    for folder in [here, *below[:40]]:
        if os.access(folder, os.R_OK | os.X_OK):
            files += sorted(
                one.path for one in os.scandir(folder) if one.name.endswith(".py") and one.is_file()
            )
    return files[:60]


def collect_sources(job: Job) -> Answer:
    """Counts of habits over the Python files here, of each the first 400 kB."""
    del job
    files = python_files()
    seen = Habits()
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as handle:
            text = handle.read(400000)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        seen.visit(tree)
        if os.path.dirname(file) == os.getcwd():
            digest.update(os.path.basename(file).encode() + b"\0" + text)
    return "ok", {
        "files": len(files),
        "digest": digest.hexdigest()[:12],
        "habits": seen.count,
        "names": sorted(seen.names),
    }


class Habits(ast.NodeVisitor):
    """Walks a file; `names` holds which known names occur, `count` how often a habit does."""

    def __init__(self) -> None:
        self.count: dict[str, int] = {}
        self.names: set[str] = set()
        self.wrapped: set[str] = set()
        self.in_rank_branch = 0

    def add(self, habit: str) -> None:
        """Count a habit."""
        self.count[habit] = self.count.get(habit, 0) + 1

    def visit_If(self, node: ast.If) -> None:
        """A branch that only some ranks take: collectives inside it are not met by the others."""
        words = {getattr(one, "id", getattr(one, "attr", "")) for one in ast.walk(node.test)}
        ranked = bool(words & RANK_WORDS)
        self.visit(node.test)
        if ranked:
            inside, other = called(node.body), called(node.orelse)
            if {name for name in inside if name in COLLECTIVES} - other:
                self.add("collective_in_rank_branch")
        for one in node.body + node.orelse:
            self.visit(one)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Remember which names hold a wrapped model."""
        if isinstance(node.value, ast.Call) and last_name(node.value.func) in WRAPPERS:
            self.wrapped.update(last_name(target) for target in node.targets)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Calls that tell how devices, samplers and checkpoints are handled."""
        name = last_name(node.func)
        self.names.add(name)
        if (
            name == "state_dict"
            and isinstance(node.func, ast.Attribute)
            and last_name(node.func.value) in self.wrapped
        ):
            self.add("wrapped_state_dict")
        if name == "save" and node.args and last_name(node.args[0]) in self.wrapped:
            self.add("wrapped_state_dict")
        for one in [arg for arg in node.args if isinstance(arg, ast.Constant)]:
            if name in ("to", "device") and one.value in ("cuda:0", "cuda:1"):
                self.add("fixed_device")
        if name == "cuda" and [arg for arg in node.args if isinstance(arg, ast.Constant)]:
            self.add("fixed_device")
        self.names.update("arg:" + word.arg for word in node.keywords if word.arg)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Names that occur at all."""
        if node.id in ("local_rank", "LOCAL_RANK", "device_id"):
            self.names.add("local_rank")

    def visit_Constant(self, node: ast.Constant) -> None:
        """Names of variables read from the environment, and the main guard."""
        if node.value in ("LOCAL_RANK", "__main__"):
            self.names.add(str(node.value))


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def called(body: list[ast.stmt]) -> set[str]:
    """Names of collectives called below these statements, through an owner that offers them."""
    found = set()
    for statement in body:
        for one in ast.walk(statement):
            if (
                isinstance(one, ast.Call)
                and isinstance(one.func, ast.Attribute)
                and last_name(one.func.value) in OWNERS
            ):
                found.add(one.func.attr)
    return found


def habits_of(job: Job) -> tuple[dict[str, int], set[str]]:
    """Habits and names found, or leave the probe when no file here trains on several processes."""
    found = job.shared.get("sources", {})
    habits, names = found.get("habits"), found.get("names")
    if not found.get("files") or not isinstance(habits, dict) or not isinstance(names, list):
        raise NotApplicable("no Python file lies in the current folder")
    marks = {
        "init_process_group",
        "DistributedOptimizer",
        "deepspeed",
        "initialize",
        "Accelerator",
        "DistributedSampler",
    } | WRAPPERS
    if not marks & set(names):
        raise NotApplicable("no file in the current folder sets up distributed training")
    return habits, set(names)


def probe_rank_branches(job: Job) -> Answer:
    """Collectives under a condition on the rank."""
    habits, _ = habits_of(job)
    count = habits.get("collective_in_rank_branch", 0)
    return ("collective_in_branch" if count else "ok"), {"count": count}


def probe_device_binding(job: Job) -> Answer:
    """Whether each process is bound to its own GPU."""
    habits, names = habits_of(job)
    bound = bool(
        names
        & {"set_device", "LOCAL_RANK", "local_rank", "arg:device_ids", "set_visible_devices", "arg:device_id"}
    )
    handled = bool(names & {"Accelerator", "Trainer", "initialize", "launch_from_torch"})
    facts: Facts = {"bound": bound, "fixed": habits.get("fixed_device", 0)}
    if habits.get("fixed_device") and not handled:
        return "fixed_device", facts
    return ("ok" if bound or handled else "not_bound"), facts


def probe_sampling(job: Job) -> Answer:
    """Whether the data are divided between the ranks."""
    _, names = habits_of(job)
    if "DataLoader" not in names:
        raise NotApplicable("no DataLoader is built here")
    dividing = names & {
        "DistributedSampler",
        "shard",
        "split_dataset_by_node",
        "prepare",
        "initialize",
        "Trainer",
        "StatefulDataLoader",
    }
    facts: Facts = {
        "divided": bool(dividing),
        "set_epoch": "set_epoch" in names,
        "drop_last": "arg:drop_last" in names,
    }
    if "random_split" in names and "DistributedSampler" not in names:
        return "own_split", facts
    if not dividing:
        return "not_divided", facts
    return ("no_set_epoch" if "DistributedSampler" in names and "set_epoch" not in names else "ok"), facts


def probe_saving(job: Job) -> Answer:
    """Whether checkpoints are taken from the wrapped model."""
    habits, names = habits_of(job)
    if not names & {"save", "save_checkpoint", "state_dict", "load_state_dict"}:
        raise NotApplicable("nothing is saved or loaded here")
    return ("wrapped" if habits.get("wrapped_state_dict") else "ok"), {
        "count": habits.get("wrapped_state_dict", 0)
    }


def probe_api_use(job: Job) -> Answer:
    """Calls of the distributed APIs that miss a companion they need."""
    _, names = habits_of(job)
    broadcasts = set("broadcast_parameters broadcast_variables BroadcastGlobalVariablesCallback".split())
    setups = set("init_process_group Accelerator init_distributed prepare launch_from_torch".split())
    if "DistributedOptimizer" in names and not names & (broadcasts | {"BroadcastGlobalVariablesHook"}):
        return "no_broadcast", {}
    if names & (WRAPPERS - {"DataParallel"}) and not names & setups:
        return "no_process_group", {}
    if "spawn" in names and "__main__" not in names:
        return "no_main_guard", {}
    return "ok", {}


def probe_same_code(job: Job) -> Answer:
    """A digest of the Python files here, to be compared between machines."""
    found = job.shared.get("sources", {})
    if not found.get("files"):
        raise NotApplicable("no Python file lies in the current folder")
    return "ok", {"digest": str(found.get("digest"))}
