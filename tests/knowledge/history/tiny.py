"""Posts in our own words and an encoder that needs no model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from embeddings.encoder import Backend, Floats
from knowledge.history.record import Post, Record, records_of
from knowledge.history.words import words
from knowledge.signatures import SignatureTable

DAY_ONE = datetime(2024, 5, 1, tzinfo=UTC)


class WordEncoder:
    """The sum of a fixed random vector for each word: texts with common words lie near each other."""

    dims = 32
    model_hash = "words"
    backend: Backend = "onnx"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return float32 (len(texts), dims) of unit length."""
        out = np.full((len(texts), self.dims), 1e-3)
        for row, text in zip(out, texts, strict=True):
            for word in words(text):
                row += np.random.default_rng(zlib.crc32(word.encode())).standard_normal(self.dims)
        return (out / np.linalg.norm(out, axis=1, keepdims=True)).astype(np.float32)


def post(id: str, title: str, body: str = "", day: float = 0, **more: str) -> Post:
    """A post opened so many days after the first."""
    return Post(id, title, body, DAY_ONE + timedelta(days=day), **more)


def made(posts: Sequence[Post]) -> list[Record]:
    """Their records."""
    return list(records_of(posts, WordEncoder(), SignatureTable()))


TIMEOUT = """We train on 16 GPUs with torch 2.4.0.

```
[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, \
OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.
Traceback (most recent call last):
  File "/home/{user}/train.py", line {line}, in main
    trainer.fit(model)
  File "/opt/env/lib/python3.10/site-packages/lightning/trainer/call.py", line 47, in _call_and_handle_interrupt
    return trainer_fn()
RuntimeError: NCCL communicator was aborted on rank {rank}.
```
"""
OTHERS = (
    post("1", "Progress bar shows a wrong total", "The bar says 12 of 10 batches in the second epoch.", 0),
    post(
        "2", "Training hangs at all_reduce in the last batch", TIMEOUT.format(user="ann", line=12, rank=3), 1
    ),
    post(
        "3",
        "CUDA out of memory with gradient checkpointing",
        "torch.cuda.OutOfMemoryError: CUDA out of memory.",
        2,
    ),
    post("4", "Docs: link to the tutorial is broken", "The link in section 3 leads nowhere.", 3),
    post("5", "Add support for a cosine schedule", "A schedule with warm restarts would be good.", 4),
)
AGAIN = post(
    "6", "Stuck at the end of the epoch, NCCL timeout", TIMEOUT.format(user="bob", line=99, rank=0), 9
)
