"""Error signatures: the shipped table, its loader and its matcher."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest

from knowledge.errors import DataError
from knowledge.signatures import Signature, SignatureTable, load_signatures, most_specific
from knowledge.signatures.line_filter import MAX_HITS, MAX_LINE
from knowledge.signatures.signature import read_signatures

REPORTS = Path(__file__).parents[3] / "shared" / "real" / "reports.jsonl.gz"
ISSUE_TYPES = REPORTS.parent / "issue_types.jsonl.gz"

# Every family that the table promises, with signatures that must not get lost.
FAMILIES = {
    "nccl": ["nccl-unhandled-system-error", "nccl-watchdog-timeout", "nccl-peer-closed"],
    "gloo": ["gloo-connect", "gloo-timeout"],
    "mpi": ["mpi-not-enough-slots", "orte-daemon-start", "pmix-error"],
    "rendezvous": ["c10d-client-timeout", "store-barrier-timeout", "rdzv-timeout"],
    "elastic": ["elastic-child-failed", "elastic-exitcode"],
    "cuda": ["cuda-no-kernel-image", "cuda-device-assert", "gpu-ecc", "gpu-xid", "cuda-driver-too-old"],
    "memory": ["cuda-oom", "host-no-memory", "shm-insufficient", "killed-sigkill", "oom-killer"],
    "ddp": ["ddp-unused-parameters", "ddp-ready-twice", "fsdp-flatten", "dp-module-device"],
    "deepspeed": ["cpp-extension-build", "ds-batch-triple", "ds-zero-to-fp32", "ds-zero3-param-state"],
    "megatron": ["megatron-fused-module", "megatron-dist-checkpoint", "world-size-indivisible"],
    "colossalai": ["ca-extension-missing", "ca-op-builder"],
    "horovod": ["hvd-stalled", "hvd-undefined-symbol", "hvd-no-plugins", "hvd-shut-down"],
    "tensorflow": ["tf-config", "tf-strategy-scope", "grpc-unavailable"],
    "tpu": ["tpu-not-found"],
    "keras": ["keras-multi-gpu-devices", "keras-layer-count"],
    "checkpoint": ["sd-module-prefix", "sd-keys", "cannot-pickle"],
    "loaders": ["loader-worker-killed", "too-many-files", "stop-iteration"],
    "shapes": ["tensors-on-devices", "matmul-shapes", "input-weight-type"],
    "python": ["attribute-missing", "not-implemented", "file-missing"],
    "linking": ["undefined-symbol", "torch-abi", "glibcxx", "libnccl-missing"],
    "compilers": ["gcc-unsupported", "cmake-version", "cxx-standard", "header-missing"],
    "imports": ["module-missing", "apex-missing"],
    "network": ["address-in-use", "ssh-host-key", "hostname-resolution", "no-route"],
    "hangs": ["tf-create-session-waiting", "kernel-hung-task"],
    "mxnet": ["mx-ps-lite", "mx-dmlc-environment"],
    "ray": ["ray-node-dead", "ray-object-store-full", "ray-gcs"],
    "lightning": ["pl-misconfiguration", "pl-gpu-request"],
    "crashes": ["segfault", "bus-error", "abort"],
    "numerics": ["nan-loss", "loss-scale-minimum"],
    "performance": ["loader-bottleneck"],
    "cluster": ["k8s-gpus-taken", "k8s-exit-137", "k8s-back-off"],
}


@pytest.fixture(scope="module")
def table() -> SignatureTable:
    return SignatureTable()


def ids(table: SignatureTable, line: str) -> list[str]:
    return [hit.signature.id for hit in table.match([line])]


def test_the_table_is_large_enough() -> None:
    assert len(load_signatures()) >= 150


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_there(family: str) -> None:
    held = {signature.id for signature in load_signatures() if signature.family == family}
    assert held >= set(FAMILIES[family])


@pytest.mark.parametrize("signature", load_signatures(), ids=lambda s: s.id)
def test_a_signature_fires_on_its_own_sample(table: SignatureTable, signature: Signature) -> None:
    hits = [hit for hit in table.match([signature.sample]) if hit.signature is signature]
    assert len(hits) == 1
    assert 0 <= hits[0].start < hits[0].end <= len(signature.sample)


def test_overlaps_are_exactly_the_declared_ones(table: SignatureTable) -> None:
    found = {s.id: set[str]() for s in table.signatures}
    for signature in table.signatures:
        for other in ids(table, signature.sample):
            if other != signature.id:
                found[other].add(signature.id)
    declared = {s.id: set(s.also_fires_on) for s in table.signatures}
    assert found == declared


def test_no_two_signatures_swallow_each_other() -> None:
    by_id = {s.id: s for s in load_signatures()}
    for signature in by_id.values():
        for other in signature.also_fires_on:
            assert signature.id not in by_id[other].also_fires_on


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("> `RuntimeError: CUDA out of memory.` on every rank", "cuda-oom"),
        ("[rank3]: KeyError: 'module.fc.weight'", "sd-module-prefix"),
        ("[1,2]<stderr>:NotImplementedError", "not-implemented"),
        ("(pid=812) E   TimeoutError: no answer", "python-timeout"),
        ("**ncclUnhandledCudaError**: Call to CUDA function failed.", "nccl-unhandled-cuda-error"),
        ("rank 3 (local_rank: 3) exitcode: -9 (pid: 77)", "killed-sigkill"),
        ("mpirun noticed that process rank 1 exited on signal 11 (Segmentation fault).", "segfault"),
        (
            "CUDA error 35: CUDA driver version is insufficient for CUDA runtime version",
            "cuda-driver-too-old",
        ),
        ("epoch 3, loss: tensor(nan, device='cuda:0')", "nan-loss"),
        ("KeyError: 'LOCAL_RANK'", "dist-env-missing"),
        ("The cluster in TF_CONFIG is invalid", "tf-config"),
        (
            "NET/IB : Got completion from peer 10.9.8.7<40312> with status=12 opcode=0 len=0 vendor err 129",
            "nccl-ib-transport",
        ),
        ("[rank1]: RuntimeError: aten.mm.default: got mixed torch.Tensor and DTensor, need", "dtensor-mixed"),
        ("Not all ranks joining collective 1041 at entry 1040", "fr-ranks-missing"),
        ("Not all ranks joining collective: sequence number: 31117", "fr-ranks-missing"),
        ("Missing ranks are {3}", "fr-rank-list"),
        (
            "  Warning  FailedScheduling  9m  scheduler  0/6 nodes are available: 2 Insufficient nvidia.com/gpu",
            "k8s-gpus-taken",
        ),
        ("    Exit Code:    137", "k8s-exit-137"),
        ("Reason:       CrashLoopBackOff", "k8s-back-off"),
        (
            "RuntimeError: UNKNOWN: TPU initialization failed: open(/dev/accel2): Operation not permitted",
            "tpu-device-open",
        ),
        (
            "ValueError: Tensor parallel size (8) cannot be larger than the number of available GPUs (4).",
            "vllm-tensor-parallel-gpus",
        ),
        ("XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank failed", "xla-nccl-operation"),
        (
            "RuntimeError: Cuda extensions are being compiled with a version of Cuda that does not match the",
            "apex-cuda-version",
        ),
    ],
)
def test_quoting_prefixes_and_wording_do_not_hide_an_error(
    table: SignatureTable, line: str, expected: str
) -> None:
    assert expected in ids(table, line)


@pytest.mark.parametrize(
    "line",
    [
        "NCCL INFO Ring 00 : 2[0] -> 3[1] via direct shared memory",
        "mpirun -np 4 -mca btl ^openib -mca btl_tcp_if_include eth0 -x NCCL_DEBUG=INFO python train.py",
        "max locked memory       (kbytes, -l) unlimited",
        "except StopIteration:",
        "except asyncio.TimeoutError:",
        "the lossless nantucket codec reduces to 3 files",
        "Epoch 3/10: 100%|####| 120/120 [00:31<00:00, 3.8it/s, loss=0.412]",
        "PyTorch version: 1.13.1+cu117, CUDA used to build PyTorch: 11.7, GCC version: 9.4.0",
        "for batch, targets in loader: loss = criterion(model(batch), targets)",
        "Error open Conda: https://repo.example/free/, HTTP Error 403: Forbidden, DNS finished in 0.47 sec.",
        "TypeError: Cannot read properties: x is undefined",
        "",
    ],
)
def test_ordinary_lines_fire_nothing(table: SignatureTable, line: str) -> None:
    assert ids(table, line) == []


def test_hits_come_by_line_with_character_offsets(table: SignatureTable) -> None:
    lines = ["ok", "größer → Address already in use", "Connection refused"]
    hits = table.match(lines)
    assert [(hit.line, hit.signature.id) for hit in hits] == [
        (1, "address-in-use"),
        (2, "connection-refused"),
    ]
    assert lines[1][hits[0].start : hits[0].end] == "Address already in use"


def test_a_lone_surrogate_keeps_offsets(table: SignatureTable) -> None:
    line = "\ud800\ud800 Connection refused"
    (hit,) = table.match([line])
    assert line[hit.start : hit.end] == "Connection refused"


def test_only_the_head_of_a_long_line_is_read(table: SignatureTable) -> None:
    far, near = "x" * MAX_LINE + " Connection refused", "x" * 100 + " Connection refused"
    assert ids(table, far) == []
    assert ids(table, near) == ["connection-refused"]


def test_a_repeated_line_is_reported_a_limited_number_of_times(table: SignatureTable) -> None:
    hits = table.match(["Connection refused"] * 500 + ["Address already in use"])
    assert [hit.signature.id for hit in hits] == ["connection-refused"] * MAX_HITS + ["address-in-use"]


def test_an_empty_table_and_no_lines_give_no_hits(table: SignatureTable) -> None:
    assert SignatureTable([]).match(["Connection refused"]) == []
    assert table.match([]) == []


def test_the_specific_signature_wins_over_the_general_one(table: SignatureTable) -> None:
    line = 'Missing key(s) in state_dict: "module.conv1.weight"'
    assert sorted(ids(table, line)) == ["sd-keys", "sd-module-prefix"]
    assert [hit.signature.id for hit in most_specific(table.match([line]))] == ["sd-module-prefix"]


def test_the_general_signature_stays_on_other_lines(table: SignatureTable) -> None:
    lines = ['Missing key(s) in state_dict: "module.a"', 'Missing key(s) in state_dict: "head.a"']
    assert [(h.line, h.signature.id) for h in most_specific(table.match(lines))] == [
        (0, "sd-module-prefix"),
        (1, "sd-keys"),
    ]


def seconds(table: SignatureTable, lines: list[str]) -> float:
    """Best of three, in CPU time: other work on the machine does not count."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        table.match(lines)
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize(
    "line",
    [
        "a" * 1_000_000,
        "Error: " * 150_000,
        "(" * 1_000_000,
        "NCCL WARN connect " * 60_000,
        "\x00\x1b[" * 300_000,
    ],
    ids=["one letter", "many errors", "parentheses", "half a signature", "control characters"],
)
def test_a_megabyte_line_costs_no_more_than_its_head(table: SignatureTable, line: str) -> None:
    table.match([line])
    head = seconds(table, [line[:MAX_LINE]] * 20)
    assert seconds(table, [line] * 20) <= 10 * head + 0.02


def test_time_grows_linearly_with_the_number_of_lines(table: SignatureTable) -> None:
    samples = [signature.sample for signature in table.signatures]
    few, many = samples * 2, samples * 20
    table.match(few)
    assert seconds(table, many) <= 30 * seconds(table, few) + 0.02


def _write(folder: Path, text: str) -> Path:
    (folder / "made.toml").write_text(text, encoding="utf-8")
    return folder


ENTRY = """
[[signature]]
id = "made-up"
role = "root"
pattern = 'made up'
sample = 'this is made up'
meaning = "A made-up error."
symptom = ["B.1"]
cause = ["other"]
fix = ["other"]
"""


def test_a_file_of_ones_own_is_read(tmp_path: Path) -> None:
    (signature,) = read_signatures(_write(tmp_path, ENTRY))
    assert (signature.id, signature.family, signature.frameworks) == ("made-up", "made", ())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (ENTRY + ENTRY, "is used 2 times"),
        (ENTRY.replace('"B.1"', '"B.9"'), "B.9"),
        (ENTRY.replace('cause = ["other"]', 'cause = ["moon"]'), "moon"),
        (ENTRY.replace('fix = ["other"]', 'fix = ["other", "other"]'), "repeated"),
        (ENTRY.replace("pattern = 'made up'", "pattern = '(?=made)'"), "not RE2 syntax"),
        (ENTRY.replace("pattern = 'made up'", "pattern = 'x*'"), "matches the empty line"),
        (ENTRY.replace('"A made-up error."', '""'), "not blank"),
        (ENTRY.replace('role = "root"', 'role = "villain"'), "role"),
        (ENTRY + 'frameworks = ["abacus"]', "abacus"),
        (ENTRY + 'also_fires_on = ["nobody"]', "nobody"),
        (ENTRY + 'colour = "red"', "colour"),
        (ENTRY.replace('symptom = ["B.1"]', "symptom = []"), "has no labels"),
        ("[[signature]", "isn't valid TOML"),
        ("signature = 3", "must contain only"),
    ],
)
def test_a_bad_entry_is_refused_with_its_name(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as caught:
        read_signatures(_write(tmp_path, text))
    assert caught.value.remedy


def test_a_context_line_may_speak_for_nothing(tmp_path: Path) -> None:
    text = ENTRY.replace('"root"', '"context"').replace('symptom = ["B.1"]', "symptom = []")
    assert read_signatures(_write(tmp_path, text))[0].symptom == ()


def _bodies(path: Path) -> list[list[str]]:
    if not path.exists():
        pytest.skip(f"{path.name} lies beside the repository (../shared) and is not there")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [[record["title"] or "", *(record["body"] or "").split("\n")] for record in records]


@pytest.mark.shared
def test_real_reports_go_through_and_distributed_signatures_find_something(table: SignatureTable) -> None:
    hits = [{hit.signature.family for hit in table.match(lines)} for lines in _bodies(REPORTS)]
    assert 0.25 < sum(1 for families in hits if families) / len(hits) < 0.75


@pytest.mark.shared
def test_communication_signatures_stay_silent_outside_the_field(table: SignatureTable) -> None:
    families = {"nccl", "gloo", "mpi", "rendezvous", "elastic", "ddp", "deepspeed", "megatron", "colossalai"}
    false = [
        hit.signature.id
        for lines in _bodies(ISSUE_TYPES)
        for hit in table.match(lines)
        if hit.signature.family in families
    ]
    assert false == []


def test_the_flight_recorders_missing_ranks_are_not_horovods(table: SignatureTable) -> None:
    assert ids(table, "missing ranks: {1, 3}") == ["fr-rank-list"]
    assert ids(table, "grad_0 [missing ranks: 1, 3]") == ["hvd-missing-ranks"]
    assert ids(table, "Missing ranks:") == ["hvd-missing-ranks"]
