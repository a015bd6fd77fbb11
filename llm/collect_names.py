"""Collects the documented names of the frameworks from their released sources into api_names.txt.

`python -m llm.collect_names FOLDER` reads FOLDER/<framework>/<release>/, where a release is a wheel or a source
archive that was unpacked (for torch, transformers, accelerate and deepspeed a link to the installed package does).
Of Python itself a release's only folder is the standard library. Nothing is imported or run: Python is parsed,
environment variables are searched for. What stands before the mark in api_names.txt was written by hand and is kept.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import re2

from llm.api_names import FILE, MARK, attribute
from llm.draft import unsafe

SOURCES: dict[str, dict[str, tuple[str, ...]]] = {
    "torch": {
        "torch": (
            *("_C/_VariableFunctions.pyi", "_C/__init__.pyi", "__init__.py", "functional.py", "_tensor.py"),
            *("serialization.py", "random.py", "profiler/profiler.py", "compiler/__init__.py"),
            *("autograd/__init__.py", "autograd/grad_mode.py", "autograd/function.py", "autograd/anomaly_mode.py"),
        ),
        "torch.nn": ("nn/functional.py*", "nn/modules/*.py", "nn/parallel/*.py", "nn/utils/*.py"),
        "torch.optim": ("optim/*.py",),
        "torch.utils": ("utils/data/*.py", "utils/checkpoint.py"),
        "torch.distributed": (
            *("distributed/*.py", "_C/_distributed_c10d.pyi", "distributed/fsdp/api.py", "distributed/fsdp/wrap.py"),
            *("distributed/fsdp/fully_sharded_data_parallel.py", "distributed/fsdp/_fully_shard/_fsdp_api.py"),
            *("distributed/fsdp/_fully_shard/_fully_shard.py", "distributed/fsdp/sharded_grad_scaler.py"),
            *("distributed/elastic/agent/server/api.py", "distributed/elastic/rendezvous/api.py"),
            *("distributed/elastic/rendezvous/dynamic_rendezvous.py", "distributed/elastic/multiprocessing/api.py"),
            *("distributed/elastic/multiprocessing/errors/__init__.py", "distributed/launcher/api.py"),
            *("distributed/checkpoint/state_dict*.py", "distributed/checkpoint/default_planner.py"),
            *("distributed/checkpoint/filesystem.py", "distributed/tensor/_api.py"),
            *("distributed/tensor/placement_types.py", "distributed/tensor/parallel/*.py"),
            *("distributed/pipelining/schedules.py", "distributed/pipelining/stage.py", "distributed/rpc/api.py"),
            *("distributed/rpc/options.py", "distributed/algorithms/join.py"),
            *("distributed/algorithms/ddp_comm_hooks/*_hook*.py", "distributed/optim/zero_redundancy_optimizer.py"),
            "distributed/algorithms/_checkpoint/checkpoint_wrapper.py",
        ),
        "torch.cuda": ("cuda/*.py", "backends/cud*/__init__.py"),
        "torch.amp": ("amp/*.py", "cuda/amp/*.py"),
        "torch.multiprocessing": ("multiprocessing/*.py",),
        "torch.config": ("_dynamo/config.py",),
    },
    "transformers": {"transformers.trainer": ("trainer.py", "training_args.py", "trainer_callback.py",)},
    "accelerate": {
        "accelerate": (
            *("accelerator.py", "state.py", "data_loader.py", "big_modeling.py", "launchers.py"),
            *("optimizer.py", "scheduler.py", "utils/dataclasses.py", "commands/launch.py"),
            *("commands/config/config_args.py",),
        ),
    },
    "deepspeed": {
        "deepspeed": (
            *("__init__.py", "comm/comm.py", "runtime/engine.py", "runtime/pipe/engine.py", "runtime/pipe/module.py"),
            "runtime/zero/partition_parameters.py",
            *("runtime/lr_schedules.py", "runtime/activation_checkpointing/checkpointing.py"),
            *("ops/adam/*.py", "moe/layer.py"),
            *("launcher/runner.py", "launcher/launch.py"),
        ),
        "deepspeed.config": ("runtime/**/*config*.py", "runtime/**/constants.py", "comm/config.py", "profiling/config.py"),
    },
    "lightning": {
        "lightning": (
            *("core/*.py", "trainer/trainer.py"),
            *("callbacks/*.py", "callbacks/progress/*.py", "strategies/*.py"),
            "lite/lite.py",
        ),
    },
    "horovod": {
        "horovod": (
            *("common/basics.py", "common/elastic.py", "common/process_sets.py", "common/util.py", "common/exceptions.py"),
            *("torch/*.py", "torch/elastic/*.py", "tensorflow/*.py", "tensorflow/keras/*.py", "keras/*.py"),
            *("_keras/*.py", "mxnet/*.py", "runner/__init__.py", "runner/launch.py", "run/run.py", "run/runner.py"),
            *("spark/__init__.py", "common/common.h"),
        ),
    },
    "megatron": {
        "megatron": (
            *("arguments.py", "training/arguments.py", "training/config/*.py", "core/parallel_state.py"),
            *("core/model_parallel_config.py", "core/transformer/transformer_config.py"),
            *("core/optimizer/optimizer_config.py", "core/distributed/distributed_data_parallel*.py"),
        ),
    },
    "colossalai": {
        "colossalai": (
            *("booster/*.py", "booster/plugin/*.py", "initialize.py", "zero/gemini/gemini_ddp.py"),
            *("zero/wrapper.py", "cluster/*.py", "cli/launcher/__init__.py", "shardformer/shard/shard*.py"),
            *("engine/_base_engine.py", "trainer/_trainer.py", "context/parallel_context.py"),
        ),
    },
    "mxnet": {
        "mxnet": (
            *("kvstore*.py", "kvstore/*.py", "module/*.py", "model.py", "callback.py", "metric.py", "gluon/metric.py"),
            *("optimizer/optimizer.py", "gluon/trainer.py", "gluon/parameter.py", "gluon/block.py", "gluon/utils.py"),
            *("gluon/data/*.py", "io/*.py", "context.py", "lr_scheduler.py", "initializer.py", "executor.py"),
            *("ndarray/ndarray.py", "ndarray/sparse.py", "engine.py", "monitor.py", "contrib/amp/amp.py"),
            "**/env_var.md",
        ),
        "mxnet.gluon": ("gluon/nn/*.py", "gluon/rnn/*.py", "gluon/loss.py", "operator.py", "recordio.py", "image/*.py"),
    },
    "tensorflow": {"tensorflow": ("**/*.py",)},
    "ray": {
        "ray.train": (
            *("train/*.py", "train/torch/*.py", "train/tensorflow/*.py", "train/horovod/*.py"),
            *("train/lightning/*.py", "train/huggingface/**/*.py", "air/config.py", "air/session.py", "air/checkpoint.py"),
        ),
        "ray.core": (
            *("_private/worker.py", "worker.py", "remote_function.py", "actor.py", "exceptions.py", "runtime_context.py"),
            *("util/placement_group.py", "util/actor_pool.py", "util/queue.py", "util/scheduling_strategies.py"),
            *("cluster_utils.py", "runtime_env/runtime_env.py", "_private/ray_option_utils.py"),
        ),
        "ray.tune": ("tune/*.py", "tune/schedulers/*.py", "tune/search/*.py", "tune/trainable/*.py", "tune/stopper/*.py"),
        "ray.rllib": (
            *("rllib/algorithms/algorithm.py", "rllib/algorithms/algorithm_config.py", "rllib/algorithms/callbacks.py"),
            *("rllib/policy/policy.py", "rllib/policy/sample_batch.py", "rllib/env/*.py", "rllib/models/*.py"),
            *("rllib/evaluation/rollout_worker.py", "rllib/evaluation/worker_set.py", "rllib/agents/trainer.py"),
        ),
    },
    "nccl": {"nccl": ("src/**/*.cc", "src/**/*.h", "src/**/*.cu", "src/nccl.h.in", "src/**/*.in")},
    "python": {
        "python": (
            *("argparse.py", "ast.py", "inspect.py", "collections/__init__.py", "functools.py", "contextlib.py", "copy.py"),
            *("pickle.py", "multiprocessing/*.py", "threading.py", "concurrent/futures/*.py", "logging/__init__.py"),
            *("warnings.py", "traceback.py", "random.py", "json/*.py", "typing.py", "dataclasses.py", "enum.py"),
            *("weakref.py", "subprocess.py", "queue.py", "pathlib.py"),
        ),
    },
    "fairseq": {
        "fairseq": (
            *("models/**/*.py", "modules/*.py", "criterions/*.py", "tasks/*.py", "data/*.py", "optim/**/*.py", "trainer.py"),
            *("checkpoint_utils.py", "distributed_utils.py", "distributed/utils.py", "utils.py", "options.py"),
        ),
    },
}  # fmt: skip
"""Framework -> heading in the file -> files, relative to the package."""

EXPORTS = frozenset(["distribute", "data", "config", "estimator", "train", "saved_model", "errors", "keras"])
"""Parts of TensorFlow's public interface that a failure report is about; the bare `tf.` is always one."""
_EXPORTERS = frozenset({"tf_export", "keras_export", "estimator_export"})
_KERAS = frozenset(["callbacks", "optimizers", "mixed_precision", "models", "distribution"])
_SKIPPED = re2.compile(
    r"(?:^|/)(?:tests?|testing|examples?|benchmarks?|_tools|_shard|_graveyard|demos|__pycache__|legacy|_internal|_analyzer)/|_test\.py$|test_"
)
_LEFT_OUT = re2.compile(
    r"(?i)weights_only|pickle|trust|secret|ssh|download|upload|[A-Z]_PLUGIN$|CONF_FILE|REMOTE_PGO|password|credential|safe_globals|hub_|_hub$|token$|^eval$|^exec$|run_as_root|auth"
)
"""What could make a machine easier to get at, or sends data away, is known only where it was shown."""
_PREFIXES = (
    *("TORCH_", "TORCHELASTIC_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "PYTORCH_", "NCCL_", "GLOO_", "FSDP_"),
    *("ACCELERATE_", "DEEPSPEED_", "DS_", "HOROVOD_", "RAY_", "TF_", "PL_"),
)
_WITH_MXNET = (*_PREFIXES, "MXNET_")
"""MXNet documents its variables in Markdown; what else its sources quote is none."""
_VARIABLE = re2.compile(rf"[\"'`\s|*]((?:{'|'.join(_WITH_MXNET)})[A-Z0-9]+(?:_[A-Z0-9]+)*)[\"'`\s|*]")
_QUOTED = re2.compile(r"[\"']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[\"']")
_NCCL_PARAM = re2.compile(r"NCCL_PARAM\(\w+, *\"([A-Z0-9_]+)\"")
_NCCL_CALL = re2.compile(r"\b(nccl[A-Z][A-Za-z]+)\(")
_FAR_OFF = re2.compile(
    r"^(?:sparse_|string_|decode_|encode_|batch_|quantize|depth_|dequant|fake_quant|matrix_|self_adj|assert_|random_|linspace_|bincount|substr|parse_|serialize_|deserialize_|map_|queue|cholesky|fft|ifft|bitcast|betainc|igamma|polygamma|zeta|lbeta|extract_|histogram|edit_dist|glob|read_|write_|regex|reverse_|scatter_nd_|sets|nn|ragged)|initializer$|Reader|Queue"
)
_CLASSES = frozenset(
    [
        "Tensor",
        "Variable",
        "Session",
        "Model",
        "BaseSession",
        "Operation",
        "Graph",
        "GradientTape",
        "Module",
        "IndexedSlices",
        "Optimizer",
    ]
)
_LONG = frozenset({"torch.distributed", "torch.cuda", "torch.nn", "deepspeed.config", "horovod"})
_WORDY = frozenset({"deepspeed", "lightning", "megatron", "tensorflow", "accelerate", "colossalai"})
_NOISE = re2.compile(
    r"^(?:is|has|check|validate|convert|maybe|build|register|unregister|create|make|parse|to|from|total|reset|init|flops|autotuning|override|patch|unsorted|disable|tensor_scatter|set|add|on_(?:save|load)_checkpoint_)_|^[A-Z]+(?:_[A-Z0-9]+)*$|Error$|Exception$|(?i:bagua|hpu|ipu|hivemind|xla|tpu|sagemaker|bitsandbytes)|^(?:get|set)_.*(?:_config|_args?|_enabled|_type|_name|_fn|_params|_files?|_timers)$"
)
_PACKAGES = frozenset(
    [
        "distributed",
        "fsdp",
        "elastic",
        "checkpoint",
        "tensor",
        "parallel",
        "pipelining",
        "rpc",
        "algorithms",
        "ddp_comm_hooks",
        "optim",
        "utils",
        "data",
        "nn",
        "modules",
        "cuda",
        "amp",
        "autograd",
        "profiler",
        "multiprocessing",
        "rendezvous",
        "callbacks",
        "strategies",
        "trainer",
        "core",
        "plugins",
        "runtime",
        "zero",
        "booster",
        "plugin",
        "module",
        "kvstore",
        "gluon",
    ]
)
_BESIDE = re2.compile(
    r"^--(?:retro|vision|dino|biencoder|bert|ict|retriever|mask|inference|rl|img|num-classes|swin|eval|langrl|titles|evidence|query|embedding-path|indexer|block-data|faiss|val|train-dev|test|hybrid|mamba|grpo|wandb|straggler|config-logger|error-injection|kitchen|mtp|sft|tiktoken|one-logger|yaml|tpu|aws|sagemaker|ipex|mpirun|result|run-workload|rerun|perform|engram|dsa|csa|heterogeneous|encoder-|decoder-|qk|rope|yarn|mrope)"
)
_KERNELS = re2.compile(
    "^(?:fbgemm|miopen|cudnn|mkldnn|quantize|sym_|native_|special_|sparse_|bitwise_|logical_|q_|cublas|fake_q|rowwise)|_copy$|_backward$|_setup_context$|_inplace$|[a-z]_$"
)
_KEY = re2.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_OPTION = re2.compile(r"--[A-Za-z][A-Za-z0-9_-]+")

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Found:
    """What one heading of the file will list."""

    names: set[str] = field(default_factory=set)
    arguments: set[str] = field(default_factory=set)
    options: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    once: set[str] = field(default_factory=set)
    """Arguments of some function."""


def public(name: str) -> bool:
    """Whether a name is meant for others."""
    return not name.startswith("_") and name.isascii() and len(name) > 1


def files(release: Path, globs: tuple[str, ...]) -> Iterator[Path]:
    """The files of an unpacked release that one heading takes, without tests and private modules."""
    roots = [path for path in release.iterdir() if path.is_dir()] if release.is_dir() else []
    for root in [release] if (release / "src").is_dir() else roots:
        for glob in globs:
            for path in sorted(root.glob(glob)):
                private = "*" in glob and path.stem.startswith("_") and not path.stem.startswith("__")
                if path.is_file() and not private and not _SKIPPED.search(path.relative_to(root).as_posix()):
                    yield path


def read(path: Path, package: str, found: Found) -> None:
    """Adds the public names of one file."""
    text = path.read_text("utf-8", errors="replace")
    if path.suffix not in (".py", ".pyi"):
        if package == "nccl":
            found.variables |= {f"NCCL_{m}" for m in _NCCL_PARAM.findall(text)}
            found.names |= set(_NCCL_CALL.findall(text)) if path.name == "nccl.h.in" else set()
        variables = _QUOTED.findall(text) if path.suffix != ".md" else _VARIABLE.findall(text)
        found.variables |= {v for v in variables if v.startswith(_WITH_MXNET)}
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    found.variables |= {v for v in _QUOTED.findall(text) if v.startswith(_PREFIXES)}
    if package == "tensorflow":
        exported(tree, found)
        return
    if package != "python":  # its modules' own command lines
        _options(tree, found)
    listed = _all_of(tree)
    stem = path.stem
    found.names |= {part for part in path.parts[-4:-1] if part in _PACKAGES}
    if public(stem):
        found.names.add(stem)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and "config" in stem:
            found.arguments |= {t.id for t in _targets(node) if public(t.id) and not t.id.isupper()}
        if isinstance(node, ast.Assign) and stem in ("constants", "config") and package == "deepspeed":
            found.names |= {key for key in _strings([node.value]) if _KEY.fullmatch(key)}
        if isinstance(node, Definition) and (not listed or node.name in listed):
            # The stubs of torch put its methods into classes with private names.
            if not public(node.name) and path.suffix != ".pyi":
                continue
            if path.name == "__init__.pyi" and node.name != "TensorBase":
                continue
            settings = package == "deepspeed" and ("config" in stem or stem == "constants")
            if _KERNELS.search(node.name) or (settings and isinstance(node, ast.FunctionDef)):
                continue
            before = set(found.arguments)
            definition(node, found)
            if path.suffix == ".pyi" and path.stem != "_distributed_c10d":
                found.arguments = before


def definition(node: Definition, found: Found) -> None:
    """Adds a function with its arguments, or a class with its methods and fields."""
    if public(node.name):
        found.names.add(node.name)
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and (
                public(inner.name) or inner.name == "__init__"
            ):
                definition(inner, found)
            elif isinstance(inner, ast.Assign | ast.AnnAssign):
                keywords = getattr(inner.value, "keywords", [])
                found.arguments |= set(_strings(k.value for k in keywords if k.arg == "alias"))
                for target in _targets(inner):
                    if public(target.id):
                        (found.names if target.id.isupper() else found.arguments).add(target.id)
        return
    args = node.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        # What one function alone has is seldom spoken of, unless it makes an object.
        if node.name == "__init__" or arg.arg in found.once:
            found.arguments.add(arg.arg)
        found.once.add(arg.arg)


def exported(tree: ast.Module, found: Found) -> None:
    """Adds what a module of TensorFlow or Keras exports by decorator."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        taken = [
            place
            for d in node.decorator_list
            if isinstance(d, ast.Call) and ast.unparse(d.func).rpartition(".")[2] in _EXPORTERS
            for place in _strings(ast.walk(d))
            if _wanted(place.split("."))
        ]
        for place in taken:
            found.names |= {part for part in place.split(".") if public(part)}
        if taken:
            own, known = node.name, {*found.names}
            definition(node, found)
            found.names -= {own} - {place.rpartition(".")[2] for place in taken}
            if not any("." in place or own in _CLASSES for place in taken):
                found.names &= known | {own}


def _wanted(parts: list[str]) -> bool:
    if parts[0] == "keras":
        return len(parts) > 1 and (len(parts) == 2 or parts[1] in _KERAS)
    if len(parts) == 1:
        return not _FAR_OFF.search(parts[0])
    return parts[0] in EXPORTS and "experimental_" not in parts[0]


def _strings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The strings among some nodes."""
    return (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target for target in targets if isinstance(target, ast.Name)]


def _all_of(tree: ast.Module) -> frozenset[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(t.id == "__all__" for t in _targets(node)):
            return frozenset(_strings(ast.walk(node.value)))
    return frozenset()


def _options(tree: ast.Module, found: Found) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("add_argument", "option")):
            found.options |= {
                option
                for option in _strings(node.args)
                if _OPTION.fullmatch(option) and not _BESIDE.search(option)
            }


def collected(folder: Path) -> list[str]:
    """The lines of the generated part."""
    lines: list[str] = []
    arguments: set[str] = set()
    variables: set[str] = set()
    for package, headings in SOURCES.items():
        every: defaultdict[str, Found] = defaultdict(Found)
        for release in sorted((folder / package).glob("*")):
            for heading, globs in headings.items():
                for path in files(release, globs):
                    read(path, package, every[heading])
        names: set[str] = set()
        for heading, found in every.items():
            arguments |= set(map(attribute, found.options))
            new = {
                "names": found.names - names,
                "arguments": {a for a in found.arguments if len(a) > 4 and ("_" in a or not a.islower())}
                - found.names
                - names
                - arguments
                - {a for a in found.arguments if _BESIDE.search("--" + a.replace("_", "-"))},
                "options": found.options,
                "variables": found.variables - variables,
            }
            variables |= found.variables
            names |= found.names
            arguments |= new["arguments"]
            for kind, some in new.items():
                if package in _WORDY and kind == "names":
                    some = {n for n in some if not _NOISE.search(n)}
                kept = sorted(
                    n
                    for n in some
                    if len(n) <= (44 if heading in _LONG or kind != "names" else 22)
                    and not n.startswith("_")
                    and not unsafe(n)
                    and not _LEFT_OUT.search(n)
                )
                if kept:
                    lines.append(f"{kind} {heading}: {' '.join(kept)}")
    return lines


def main(folder: Path) -> None:
    """Rewrites the generated part of the file."""
    by_hand = FILE.read_text("utf-8").partition(MARK)[0]
    FILE.write_text("\n".join([by_hand + MARK, *collected(folder), ""]), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
