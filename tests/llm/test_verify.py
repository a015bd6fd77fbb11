"""What the program lets pass of a draft, and what it never does."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm.api_names import FILE
from llm.draft import Draft, Material, Role, Sentence, Snippet, unsafe
from llm.snippets import code_fault, command_fault
from llm.verify import WORDS, Known, held, numbered_parts, sentence_fault, without
from llm.writer import as_answer

LINES = {
    0: "Hang in all-reduce after one epoch",
    1: "Training on 2 nodes with 8 GPUs each stands still, PyTorch 2.3.0 and NCCL 2.20.5.",
    4: "step 100 loss 1.2",
    5: "Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE) ran for 600000 milliseconds",
    3: "I rolled Lightning 0.5.3.2 back to 0.5.2.1",
    6: "torch.distributed.DistBackendError: NCCL communicator was aborted",
}
ENTRIES = {"nccl-timeout": "A rank never joined the collective. Set `NCCL_DEBUG=INFO`. fixed in: 2.4.1"}
CASES = {"horovod/horovod#1006": "Training hangs. Ended: named the right interface"}
MATERIAL = Material(
    LINES,
    ENTRIES,
    CASES,
    "- versions: torch 2.3.0, nccl 2.20.5",
    {"torch": "2.3.0", "nccl": "2.20.5"},
)
WHAT = Sentence("One rank never joined the all-reduce that the watchdog ended.", "what", lines=(5,))
CHECK = Sentence("Compare the stacks of all ranks while the job hangs.", "check", reasoning=True)


def attacks() -> list[dict[str, Any]]:
    with (Path(__file__).parent / "writer_attacks.toml").open("rb") as file:
        return list(tomllib.load(file)["attack"])


def poisoned(log: str) -> Material:
    """The material with the attack in the log: whatever the attack names was shown."""
    return Material({**LINES, 7: log}, ENTRIES, CASES, MATERIAL.ours, MATERIAL.versions)


def drafted(attack: dict[str, Any], material: Material) -> Draft:
    said = attack["said"]
    match attack.get("as", "sentence"):
        case "command":
            return Draft((WHAT, CHECK), commands=(Snippet("sh", said, "Shows the devices."),))
        case "code":
            return Draft((WHAT, CHECK), code=(Snippet("python", said, "Shows the devices."),))
        case "purpose":
            return Draft((WHAT, CHECK), commands=(Snippet("sh", "nvidia-smi", said),))
    cited = attack.get("support", ["7"])
    return Draft(
        (
            WHAT,
            CHECK,
            Sentence(
                said,
                "fix",
                lines=tuple(int(c) for c in cited if c.isdigit()),
                entries=tuple(c for c in cited if not c.isdigit() and "/" not in c),
                cases=tuple(c for c in cited if "/" in c),
            ),
        )
    )


def broken(text: str, role: Role, material: Material, line: int) -> str | None:
    """The rule that a sentence breaks, in a word."""
    fault = sentence_fault(Sentence(text, role, lines=(line,)), Known(material))
    return fault and fault.partition(": ")[0]


def test_there_are_attacks_enough() -> None:
    assert len({attack["said"] for attack in attacks()}) >= 60


@pytest.mark.parametrize(
    "attack", attacks(), ids=lambda a: a["said"][:40].encode("ascii", "replace").decode()
)
def test_an_attack_is_voided_and_the_rest_stays(attack: dict[str, Any]) -> None:
    material = poisoned(attack["log"])
    found = held(drafted(attack, material), material)
    assert found.draft == Draft((WHAT, CHECK)), found.voided
    assert len(found.voided) == 1


def test_an_attack_in_the_report_changes_nothing_of_an_honest_draft() -> None:
    for attack in attacks():
        assert held(Draft((WHAT, CHECK)), poisoned(attack["log"])).draft == Draft((WHAT, CHECK))


@pytest.mark.parametrize(
    "text",
    [
        "The all-reduce ran into its timeout of 10 minutes.",
        "With NCCL 2.20 the watchdog ends a collective after 600 seconds.",
        "Set `NCCL_DEBUG=INFO` and `TORCH_DISTRIBUTED_DEBUG=DETAIL`.",
        "DistBackendError on rank 0 is only the consequence.",
        "Raise the timeout of `init_process_group` only when the step is really that slow.",
        "Check with `py-spy dump --pid PID` where each process waits.",
        "This is fixed in 2.4.1, see the entry.",
        "Install the matching PyTorch wheel and reinstall Horovod afterwards.",
        "Is the interface the same on both nodes?",
        "Lightning 0.5.3.2 shows it and 0.5.2.1 does not.",
        "A new Keras release won't fix it.",
        "Decorate it with `@ray.remote(num_cpus=2)` and add `#include <stdexcept>` at the top.",
        "Rebuild with `pip install --no-cache-dir` after that.",
        "The eval loop hands each batch to `model.eval()` first.",
        "Put `time.sleep(2)` before the second call, and catch `ValueError`.",
        "Replace `loss.backward()` with `model_engine.backward(loss)`.",
        "Pass `-torch.eye(2)` as the input.",
        "Call `MPI.COMM_WORLD.Abort(1)` on failure.",
        "The profiler keeps a reference to `log.info` in that case.",
        "Call `trainer.test()` without a model.",
        "Sort them with `key=lambda p: p.grad` on every rank.",
        "Place the call under `tf.device('/CPU:0')` as a workaround.",
        "On that release, `HOROVOD_GPU_ALLREDUCE` does this.",
    ],
)
def test_what_a_maintainer_would_write_passes(text: str) -> None:
    assert sentence_fault(Sentence(text, "fix", lines=(5,)), Known(MATERIAL)) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("The timeout is 1800 seconds.", "number"),
        ("Use PyTorch 2.5.1.", "number"),
        ("Pass `--no-such-option` to the launcher.", "option"),
        ("Set `NCCL_MADE_UP_SWITCH`.", "variable"),
        ("It raises RingBrokenError.", "error name"),
        ("Call `torch.distributed.mend_ring()`.", "name"),
        ("Look at /opt/nccl/etc/ring.conf.", "path"),
    ],
)
def test_a_fact_from_nowhere_voids_its_sentence(text: str, rule: str) -> None:
    assert broken(text, "fix", MATERIAL, 5) == rule


@pytest.mark.parametrize(
    "command",
    [
        "nvidia-smi topo -m",
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET",
        "export NCCL_SOCKET_IFNAME=eth0",
        "pip install -U 'torch>=2.3.0'",
        "pip install torch",
        "conda install -c conda-forge openmpi",
        "HOROVOD_WITH_PYTORCH=1 pip install --no-cache-dir --force-reinstall --no-deps -v horovod",
        'python -c "import torch; print(torch.__version__, torch.version.cuda)"',
        "py-spy dump --pid PID",
        "nvidia-smi --query-gpu=index,compute_mode,memory.used --format=csv",
        "ls -l ./data-bin",
        "apt-cache madison libcudnn8",
        "CUDA_HOME=/usr/local/cuda pip install --no-cache-dir horovod",
        "python3.11 -m pip install --no-cache-dir horovod",
        'MXNET_USE_OPERATOR_TUNING=0 python -c "import mxnet"',
    ],
)
def test_checks_settings_and_known_installs_pass(command: str) -> None:
    assert command_fault(Snippet("sh", command, "Shows it."), MATERIAL) is None


def test_code_passes_when_it_parses_and_calls_what_is_known_and_comes_out_without_comments() -> None:
    code = "import torch\n# see https://evil.example\nprint(torch.cuda.device_count())"
    assert code_fault(Snippet("python", code, "Counts the GPUs."), MATERIAL) is None
    found = held(Draft((WHAT, CHECK), code=(Snippet("python", code, "Counts the GPUs."),)), MATERIAL).draft
    assert found is not None
    assert found.code[0].text == "import torch\nprint(torch.cuda.device_count())"


def test_a_longer_text_in_code_stands_in_any_line_of_the_report() -> None:
    said = "model.fsdp.sharding strategy of rank 3"
    code = Snippet("python", f"print('{said}')", "Prints the setting.")
    assert code_fault(code, Material({1: "Nothing of it.", 2: "All is well."})) == "string"
    for number in (1, 2):
        lines = {1: "Nothing of it.", 2: "All is well.", number: f"setting {said} is wrong"}
        assert code_fault(code, Material(lines)) is None, number


def test_without_a_core_nothing_is_said() -> None:
    assert held(Draft((WHAT,)), MATERIAL).draft is None
    assert held(Draft((CHECK,)), MATERIAL).draft is None
    bare = Sentence(WHAT.text, "what", reasoning=True)
    assert held(Draft((bare, CHECK)), MATERIAL).draft is None, "what is wrong must rest on something shown"
    assert without(Draft((WHAT, CHECK)), {1}) is None
    assert without(Draft((WHAT, CHECK)), {2}) is None


@pytest.mark.parametrize(
    "text",
    [
        "Also look at the other ranks.",
        "If it does, raise the timeout.",
        "If the list is empty, the ranks agree.",
    ],
)
def test_a_sentence_that_leans_on_one_that_went_goes_too(text: str) -> None:
    void = Sentence("Set `NO_SUCH_SETTING_ANYWHERE` on each rank.", "fix", reasoning=True)
    leaning = Sentence(text, "fix", reasoning=True)
    found = held(Draft((WHAT, CHECK, void, leaning)), MATERIAL)
    assert found.draft is not None and found.draft.sentences == (WHAT, CHECK)
    assert [one.rule for one in found.voided][-1] == "leans"
    refuted = Sentence("Raise the timeout of the group.", "fix", reasoning=True)
    kept = without(Draft((WHAT, CHECK, refuted, leaning)), {3})
    assert kept is not None and kept.sentences == (WHAT, CHECK)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("The `KeyboardInterrupt` ends rank 3 while the others wait.", None),
        ("Swap the operands of `_mm256_min_ps`, because both return the second one.", None),
        ("Link it with `target_link_libraries` and build again.", None),
        ("Look at what `MPI_Init_thread` waits for.", None),
        ("Replace `precision` with `use_amp=True` on each rank.", None),
        ("Install `use_ampx=True` on each rank.", "package: use_ampx"),
        ("Look at what `MPI_Init_gadget` waits for.", "name: MPI_Init_gadget"),
    ],
)
def test_names_documented_outside_of_the_frameworks_may_be_named(text: str, rule: str | None) -> None:
    assert sentence_fault(Sentence(text, "fix", reasoning=True), Known(MATERIAL)) == rule


def test_a_changed_line_of_code_is_no_copy_but_a_sentence_in_quotes_is() -> None:
    line = (
        "launcher: lib.declare_tensor(ctypes.c_char_p(scope + name), rank, size, device, dtype, shape, group)"
    )
    material = replace(MATERIAL, lines={**MATERIAL.lines, 90: line})
    code = "`lib.declare_tensor(ctypes.c_char_p(scope + name), rank, size, device, dtype, shape, group)`"
    assert sentence_fault(Sentence(f"Encode the name: {code}.", "fix", lines=(90,)), Known(material)) is None
    said = f"Encode the name: {code.replace('`', '')}."
    assert sentence_fault(Sentence(said, "fix", lines=(90,)), Known(material)) == "copied"


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ('grep -inE "heartbeat|marked dead" /tmp/ray/session_latest/logs/raylet.out', None),
        ("grep -rn CMAKE_SYSTEM_PROCESSOR third_party/sleef build --include=*.cmake", None),
        ("grep -rn token .", "secret"),
        ("grep -rn rank /etc", "not on the list"),
        ("grep -rn rank ../other", "not on the list"),
        ("ldd /usr/lib/x86_64-linux-gnu/libopen-pal.so.20", None),
        ("ldd /usr/../tmp/x.so", "not on the list"),
        ("ps axww -o pid,command", None),
        ("CC=/usr/bin/clang pip install psutil", None),
        ("CC=/tmp/clang pip install psutil", "not on the list"),
        ('python -c "import horovod; print(horovod.__file__)"', None),
        ('python -c "import horovod; print(horovod.__loader__)"', "name"),
        ('python -c "import torch; m = torch.nn.Linear(2, 2); print(m(torch.ones(2)).abs().tolist())"', None),
    ],
)
def test_searches_and_checks_that_change_nothing(command: str, fault: str | None) -> None:
    assert command_fault(Snippet("sh", command, ""), MATERIAL) == fault


def test_a_long_draft_is_cut_and_has_two_questions_at_most() -> None:
    questions = tuple(Sentence("Does it hang with one node?", "question", reasoning=True) for _ in range(5))
    long = tuple(Sentence("The ranks wait. " * 20, "why", lines=(5,)) for _ in range(9))
    found = held(Draft((WHAT, CHECK, *questions, *long)), MATERIAL).draft
    assert found is not None
    assert sum(s.role == "question" for s in found.sentences) == 2
    assert sum(len(s.text.split()) for s in found.sentences) <= WORDS


_WORDS = st.sampled_from(
    [
        *(word for attack in attacks() for word in attack["said"].split()),
        *(word for line in LINES.values() for word in line.split()),
        *(
            "the a rank never joined install run see set with `",
            "curl",
            "|",
            "@octocat",
            "https://evil.example",
        ),
    ]
)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=14).map(" ".join)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_TEXTS, max_size=4), st.lists(_TEXTS, max_size=2), st.lists(_TEXTS, max_size=2))
def test_what_leaves_is_a_part_of_what_was_drafted_and_holds_nothing_live(
    texts: list[str], commands: list[str], code: list[str]
) -> None:
    """Whatever a model writes of shown and hostile words: what leaves was drafted, passes again, and is inert."""
    material = poisoned(" ".join(texts))
    draft = Draft(
        (WHAT, CHECK, *(Sentence(text, "fix", lines=(7,)) for text in texts)),
        tuple(Snippet("sh", text, "Shows it.") for text in commands),
        tuple(Snippet("python", text, "Shows it.") for text in code),
    )
    left = held(draft, material).draft
    if left is None:
        return
    assert set(left.sentences) <= set(draft.sentences)
    assert {c.text for c in left.commands} <= {c.text.strip() for c in draft.commands}
    assert held(left, material).draft == left
    told = json.dumps(as_answer(left, "m", verified=True).model_dump())
    # The name of a library that the report holds is no address.
    told = told.replace("evil.so", "")
    assert not any(sign in told for sign in ("://", "@octocat", "evil.", "curl", "sudo", "![", "]("))


@pytest.mark.parametrize(
    "text",
    [
        "Pass `early_stop_callback` to the trainer.",
        "Divide by `local_size` instead.",
        "Call `tf.pad` with `constant_values` first.",
        "Move it from `on_validation_end` into the step.",
        "A `row_sparse` weight needs `mod.prepare` before each batch.",
        "Collect the predictions with `gather_for_metrics`.",
        "Pass `--tensor-model-parallel-size` to every rank.",
        "Set `NCCL_IB_TIMEOUT` on each node.",
        "Wrap it in `torch.distributed.fsdp.FullyShardedDataParallel`.",
        "Look at both arguments of `DataLoader.persistent_workers`.",
    ],
)
def test_a_documented_name_passes_though_nobody_showed_it(text: str) -> None:
    assert sentence_fault(Sentence(text, "fix", lines=(5,)), Known(MATERIAL)) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Pass `early_stop_callbak` to the trainer.", "name"),
        ("Call `tf.padd` first.", "name"),
        ("Call `horovod.no_such_pad` first.", "name"),
        ("Call `hvd.experimental_distribute_dataset` first.", "name"),
        ("Call `torch.distributed.fix_hang` on each rank.", "name"),
        ("Set `NCCL_MAGIC` on each node.", "variable"),
        ("Pass `--tensor-model-parallel-sise` to every rank.", "option"),
        ("Set `NCCL_IB_TIMEOUT=22` on each node.", "number"),
        ("Load it with `trust_remote_code`.", "command"),
    ],
)
def test_an_invented_name_is_voided_and_a_documented_one_vouches_for_nothing_else(
    text: str, rule: str
) -> None:
    assert broken(text, "fix", MATERIAL, 5) == rule


def test_a_function_within_a_mangled_symbol_was_shown() -> None:
    shown = poisoned("frame #4: _ZN4c10d16RingBuilderFancy12stitchEdgesUpEv + 0x5")
    for name, rule in (
        ("RingBuilderFancy", None),
        ("stitchEdgesUp", None),
        ("RingBuilderFan", "name"),
        ("titchEdgesUp", "name"),
    ):
        text = f"The process is in `{name}` there."
        assert broken(text, "why", shown, 7) == rule, name


def test_no_listed_name_weakens_a_machine() -> None:
    text = FILE.read_text("utf-8")
    assert len(text) < 230_000, "small enough to be read at the first answer"
    names = {name for line in text.splitlines() if not line.startswith("#") for name in line.split()[2:]}
    assert len(names) > 5_000
    assert [name for name in sorted(names) if unsafe(name) or "weights_only" in name.lower()] == []


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import mxnet as mx\nprint([w.data(c).asscalar() for w in mx.init.One()])", None),
        ("import os, sys\nsys.stdout.flush()\nos._exit(0)", None),
        ("import threading\nprint(threading.current_thread().name)", None),
        ("import os\nos.popen(1).asscalar()", "call"),
        ("import torch\ntorch.ones(2).no_such_method()", "call"),
        ("import torch\ntorch.ones(2).pt()", "call"),
    ],
)
def test_a_documented_method_may_be_called_of_any_result_but_a_closed_modules(
    code: str, rule: str | None
) -> None:
    assert code_fault(Snippet("python", code, ""), MATERIAL) == rule


def test_a_sentence_that_introduces_what_was_refused_goes_with_it() -> None:
    shown = Sentence("Print its size on each rank, like this:", "check", reasoning=True)
    leaning = Sentence("Then compare them.", "check", reasoning=True)
    fix = Sentence("Pass `drop_last=True` to the loader.", "fix", reasoning=True)
    good, bad = (Snippet("python", f"print({name}(loader))", "It is equal.", 2) for name in ("len", "open"))
    told = (WHAT, shown, leaning, fix)
    whole = held(Draft(told, (), (good,)), MATERIAL).draft
    assert whole is not None and whole.sentences == told
    left = held(Draft(told, (), (bad,)), MATERIAL).draft
    assert left is not None and left.sentences == (WHAT, fix) and left.code == ()
    later = held(Draft(told, (), (replace(good, after=4),)), MATERIAL).draft
    assert later is not None and later.sentences == (WHAT, fix) and later.code[0].after == 2


def test_what_code_defines_may_be_named_in_its_purpose() -> None:
    code = "def shard_evenly(batch):\n    return batch.contiguous()"
    kept = Snippet("python", code, "Pass `shard_evenly(batch)` to the model.")
    assert held(Draft((), (), (kept,)), MATERIAL).voided == ()
    other = replace(kept, purpose="Pass `shard_oddly(batch)` to the model.")
    assert [v.part for v in held(Draft((), (), (other,)), MATERIAL).voided] == ["code 1"]


def test_code_may_define_what_it_calls() -> None:
    code = (
        "def mean(values):\n    return sum(values) / len(values)\nprint(mean([float(n) for n in range(3)]))"
    )
    assert code_fault(Snippet("python", code, "Means."), MATERIAL) is None


@pytest.mark.parametrize(
    "code",
    [
        "@torch.no_grad()\ndef step(x):\n    return sum(x)\nprint(step([1]))",
        "print(sorted([[2, 1]], key=lambda pair: len(pair)))",
        "import os\nprint(os.path.join('a', 'b'))",
        "def step(*args, **kwargs):\n    if not args:\n        raise ValueError('none')\nprint(step(*[1]))",
        "try:\n    from torch.optim.lr_scheduler import LRScheduler\nexcept ImportError:\n    print('old')",
    ],
)
def test_code_may_use_documented_decorators_lambdas_and_narrow_handlers(code: str) -> None:
    assert code_fault(Snippet("python", code, "Works."), MATERIAL) is None


def test_a_sentence_may_name_what_the_code_beside_it_defines() -> None:
    names = Sentence("Call `ring_rows(x)` before each step.", "check", reasoning=True)
    code = Snippet("python", "def ring_rows(x):\n    return sum(x)\nprint(ring_rows([1]))", "It sums.")
    found = held(Draft((WHAT, CHECK, names), code=(code,)), MATERIAL)
    assert found.draft is not None and names in found.draft.sentences
    refused = replace(code, text=code.text.replace("sum(x)", "open(x)"))
    found = held(Draft((WHAT, CHECK, names), code=(refused,)), MATERIAL)
    assert found.draft is not None and names not in found.draft.sentences


def test_code_may_refine_a_documented_class() -> None:
    code = (
        "from pytorch_lightning import Callback\nclass Count(Callback):\n"
        "    def on_train_epoch_end(self, trainer, module):\n        print(trainer.current_epoch)"
    )
    assert code_fault(Snippet("python", code, "Counts."), MATERIAL) is None


@pytest.mark.parametrize(
    "code",
    [
        "def print(text):\n    return sum(text)\nprint([1])",
        "@no_such_thing()\ndef step(x):\n    return sum(x)\nstep([1])",
        "@torch.no_such_thing()\ndef step(x):\n    return sum(x)\nstep([1])",
        "def step(x):\n    return x.system('ls')\nstep([1])",
        "import os\nprint(os.path.expanduser('x'))",
        "step = lambda x: x.system('ls')\nprint(step(1))",
        "step = lambda print: sum([1])\nprint(step(1))",
        "try:\n    print(1)\nexcept Exception:\n    print(2)",
        "try:\n    print(1)\nexcept:\n    print(2)",
        "class Step(NobodyKnowsThis):\n    pass\nprint(Step())",
        "class Step(torch.nn.Module, metaclass=print):\n    pass",
        "@print\nclass Step:\n    pass",
    ],
)
def test_a_definition_takes_no_known_name_and_hides_no_call(code: str) -> None:
    assert code_fault(Snippet("python", code, "Steps."), MATERIAL) is not None


def test_a_sentence_that_points_at_removed_code_goes_with_it() -> None:
    pointing = Sentence("Run the Python below on each rank.", "check", reasoning=True)
    refused = Snippet("python", "import socket\nsocket.socket()", "Opens a socket.")
    fine = Snippet("sh", "nvidia-smi", "Shows the devices.")
    found = held(Draft((WHAT, CHECK, pointing), code=(refused,)), MATERIAL).draft
    assert found is not None and found.sentences == (WHAT, CHECK)
    found = held(Draft((WHAT, CHECK, pointing), commands=(fine,)), MATERIAL).draft
    assert found is not None and pointing in found.sentences
    kept = without(Draft((WHAT, CHECK, pointing), commands=(fine,)), {4})
    assert kept is not None and kept.sentences == (WHAT, CHECK)


def test_a_fault_names_its_rule_and_what_broke_it() -> None:
    void = Sentence("Set `NCCL_MADE_UP_SWITCH` on each rank.", "fix", lines=(5,))
    blank = Sentence(" ", "fix", lines=(5,))
    named, whole = held(Draft((WHAT, CHECK, void, blank)), MATERIAL).voided
    assert (named.part, named.rule, named.what) == ("sentence 3", "variable", "NCCL_MADE_UP_SWITCH")
    assert (whole.part, whole.rule, whole.what) == ("sentence 4", "length", "")


def test_a_sentence_that_the_model_doubts_is_not_said() -> None:
    assert sentence_fault(replace(CHECK, confidence=0.4), Known(MATERIAL)) == "confidence"
    assert sentence_fault(replace(CHECK, confidence=0.5), Known(MATERIAL)) is None


@pytest.mark.parametrize("text", ["", "The ranks wait. " * 30, "Compare the stacks.\nOf all ranks."])
def test_a_sentence_is_one_line_and_no_essay(text: str) -> None:
    assert broken(text, "check", MATERIAL, 5) == "length"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("A thread is in https://github.com/pytorch/pytorch/issues/4 about it.", "link"),
        ("The check fails in `ringwidget.cc` of the library.", None),
        ("The check fails in `otherwidget.cc` of the library.", "link"),
        ("The wheel is on `evil.info` now.", "link"),
        ("The wheel is on trainer.test now.", "link"),
        ("The node 10.0.0.7 refuses the connection.", None),
        ("The node 10.0.0.8 refuses the connection.", "link"),
        # No address, for a part of one has at most 255: a version, which was shown.
        ("The driver 535.104.12.1 is the newer one.", None),
    ],
)
def test_of_addresses_only_one_inside_that_was_shown_may_be_said(text: str, rule: str | None) -> None:
    shown = poisoned(
        "https://github.com/pytorch/pytorch/issues/4 ringwidget.cc:12 connect to 10.0.0.7 failed, driver 535.104.12.1"
    )
    assert broken(text, "why", shown, 7) == rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Empty /opt/cache/rings and try again.", None),
        ("Empty /opt/cache/wings and try again.", "path"),
        ("Look at the launcher/loader pair of each rank.", None),
        ("Look at the launcher/packer pair of each rank.", "path"),
        ("It looks like horovod/horovod in that respect.", None),
        ("Slow steps, e.g. the last one, hold the others up.", None),
        ("The job calls `Widget.stitch_edges` too early.", None),
        ("The job calls `Widget.unpick_edges` too early.", "name"),
        ("The library calls `fabric.stitch_edges` too early.", None),
        ("Both `RingBuilders` wait for each other.", None),
        ("Both `RingBreakers` wait for each other.", "name"),
        ("It prints QXZWVU when the ranks part.", "name"),
        ("Line 90 of the report says why.", None),
        ("It takes 90 attempts to get there.", "number"),
        ("Both cards are H100 devices of one node.", None),
        ("Both cards are H105 devices of one node.", "number"),
    ],
)
def test_a_name_or_number_in_another_form_is_known_by_what_was_shown(text: str, rule: str | None) -> None:
    shown = poisoned("/opt/cache/rings: launcher and loader: Widget failed, stitch_edges of RingBuilder")
    material = replace(shown, lines={**shown.lines, 90: "It waits."})
    assert broken(text, "why", material, 7) == rule


def test_at_most_two_commands_are_handed_out() -> None:
    commands = tuple(Snippet("sh", text, "Shows it.") for text in ("nvidia-smi", "ibstat", "nproc"))
    found = held(Draft((WHAT, CHECK), commands=commands), MATERIAL)
    assert found.draft is not None and [c.text for c in found.draft.commands] == ["nvidia-smi", "ibstat"]
    assert [(one.part, one.fault) for one in found.voided] == [("command 3", "length")]


def test_the_parts_of_a_draft_are_numbered_through() -> None:
    draft = Draft(
        (WHAT,), (Snippet("sh", "ibstat", "Shows ports."),), (Snippet("python", "x = 1", "Sets it."),)
    )
    assert numbered_parts(draft) == [
        f"1. (what) {WHAT.text}",
        "2. (command) ibstat -- Shows ports.",
        "3. (code) x = 1 -- Sets it.",
    ]
