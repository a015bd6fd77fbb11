"""Habits of training code that are known to split ranks, devices or checkpoints."""

from __future__ import annotations

from knowledge.diagnostics.runtime.habits import WRAPPERS
from knowledge.diagnostics.runtime.job import Answer, Facts, Job, NotApplicable


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
