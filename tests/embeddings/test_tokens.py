import time

import pytest

from embeddings.tokens import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ncclSystemError", ["ncclsystemerror", "nccl", "system", "error"]),
        ("CUBLAS_STATUS_ALLOC_FAILED", ["cublas_status_alloc_failed", "cublas", "status", "alloc", "failed"]),
        ("ProcessGroupNCCL.cpp:784", ["processgroupnccl", "process", "group", "nccl", "cpp"]),
        ("zero_to_fp32.py", ["zero_to_fp32", "zero", "to", "fp32", "py"]),
        ("torch.distributed.elastic", ["torch", "distributed", "elastic"]),
        ("GPUs bf16 cu118 H100", ["gpus", "bf16", "cu118", "h100"]),
        ("sm_86", ["sm_86", "sm"]),
        ("__init__", ["init"]),
    ],
)
def test_identifiers_stand_whole_and_in_parts(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "noise",
    [
        "0x7f3ab4",
        "2023-01-02T10:22:33.123Z",
        "3f9a2bc",
        "16GB 120s 45ms",
        "1.13.1",
        "___",
        "a",
        "A" * 100,
        "",
    ],
)
def test_noise_leaves_no_token(noise: str) -> None:
    assert tokens(noise) == []


def test_a_number_that_only_counts_is_dropped_from_its_name() -> None:
    assert tokens("[rank7]: node03") == ["rank", "node"]


def test_a_number_that_names_something_stays() -> None:
    assert tokens("fp16 int8 fsdp2 resnet50") == ["fp16", "int8", "fsdp2", "resnet50"]


def test_colour_codes_do_not_stick_to_words() -> None:
    assert tokens("\x1b[31mERROR\x1b[0m") == ["error"]


def test_a_mangled_symbol_yields_its_names() -> None:
    found = tokens("undefined symbol: _ZN3c104cuda20CUDACachingAllocator9raw_allocEm")
    assert found[:3] == ["undefined", "symbol", "cuda"]
    assert "cudacachingallocator" in found


def test_words_of_other_scripts_stay() -> None:
    assert tokens("Ошибка: 训练失败") == ["ошибка", "训练失败"]


def test_order_and_repetition_are_kept() -> None:
    assert tokens("hang then hang") == ["hang", "then", "hang"]


@pytest.mark.parametrize("piece", ["aB", "_Z9", "a_", "\x1b[", "0", " x1", "aBc_D9 "])
def test_time_is_linear_in_length_for_hostile_text(piece: str) -> None:
    start = time.process_time()
    tokens(piece * (2_000_000 // len(piece)))
    assert time.process_time() - start < 5
