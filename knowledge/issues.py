"""One id for an issue, however it is written."""

RENAMED = {
    "microsoft/deepspeed": "deepspeedai/deepspeed",
    "microsoft/megatron-deepspeed": "deepspeedai/megatron-deepspeed",
    "pytorchlightning/pytorch-lightning": "lightning-ai/pytorch-lightning",
    "pytorch/fairseq": "facebookresearch/fairseq",
    "apache/incubator-mxnet": "apache/mxnet",
    "uber/horovod": "horovod/horovod",
}
"""Repositories under their former names: GitHub forwards, so one issue may come under either."""


def issue_of(id: str) -> str:
    """An issue's id in small letters, under the present name of its repository."""
    repository, hash, number = id.lower().rpartition("#")
    return f"{RENAMED.get(repository, repository)}{hash}{number}"
