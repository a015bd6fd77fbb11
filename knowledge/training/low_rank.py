"""The encoder with low-rank differences to learn, and a linear head for each axis over its vectors (torch).

The lower layers stay as they are: their output is computed once for each text and kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoModel

FROZEN = 2
"""Layers from below that are not adapted."""
RANK = 16
TOKENS_DROPPED = 0.15
"""Share of a text's tokens left out at each look at it, so that no single word is relied on."""
DENSE = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_FORBIDDEN = -1e4


class LowRank(nn.Module):  # type: ignore[misc]
    """A dense layer with a difference of rank `RANK`, which starts at zero."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.randn(RANK, layer.in_features) / math.sqrt(layer.in_features))
        self.up = nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's product with the difference's added: (..., out)."""
        return self.layer(x) + (x @ self.down.T) @ self.up.T


class TunedEncoder(nn.Module):  # type: ignore[misc]
    """Vectors of unit length of both views of a report, and scores of every axis: `sizes` maps it to its ids."""

    def __init__(self, folder: Path, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.bert = AutoModel.from_pretrained(str(folder), attn_implementation="eager", local_files_only=True)
        self.bert.requires_grad_(False)
        self.adapted: dict[str, LowRank] = {}
        for number, layer in enumerate(self.bert.encoder.layer):
            for name in DENSE if number >= FROZEN else ():
                parent = layer.get_submodule(name.rpartition(".")[0])
                low = LowRank(layer.get_submodule(name))
                setattr(parent, name.rpartition(".")[2], low)
                self.adapted[f"encoder.layer.{number}.{name}"] = low
        dims = int(self.bert.config.hidden_size)
        self.dropout = nn.Dropout(0.2)
        self.sharpness = nn.Parameter(torch.tensor(8.0))
        self.heads = nn.ModuleDict(
            {f"head_{axis}": nn.Linear(2 * dims, size) for axis, size in sizes.items()}
        )

    def below(self, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Output of the frozen layers for token ids, one bfloat16 (tokens, dims) a text."""
        out: list[torch.Tensor] = [torch.empty(0)] * len(texts)
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        self.bert.eval()
        for start in range(0, len(order), 32):
            batch = order[start : start + 32]
            ids = nn.utils.rnn.pad_sequence([torch.tensor(texts[n]) for n in batch], batch_first=True)
            mask = _mask([len(texts[n]) for n in batch])
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                state = self._layers(self.bert.embeddings(input_ids=ids), mask, 0, FROZEN)
            for at, n in enumerate(batch):
                out[n] = state[at, : len(texts[n])].to(torch.bfloat16).clone()
        return out

    def vectors(self, below: Sequence[torch.Tensor]) -> torch.Tensor:
        """Mean over the tokens of the last layer, of unit length: (texts, dims)."""
        if self.training:
            kept = [text[torch.rand(len(text)) > TOKENS_DROPPED] for text in below]
            below = [few if len(few) else text[:1] for few, text in zip(kept, below, strict=True)]
        mask = _mask([len(text) for text in below])
        state = nn.utils.rnn.pad_sequence(list(below), batch_first=True)
        state = self._layers(state, mask, FROZEN, len(self.bert.encoder.layer))
        mean = (state * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return nn.functional.normalize(mean.float(), dim=-1)

    def forward(self, pairs: torch.Tensor) -> dict[str, torch.Tensor]:
        """Scores of every axis from both vectors of each report, (reports, 2 x dims)."""
        seen = self.dropout(pairs) * self.sharpness
        return {name.removeprefix("head_"): head(seen) for name, head in self.heads.items()}

    def _layers(self, state: torch.Tensor, mask: torch.Tensor, first: int, end: int) -> torch.Tensor:
        shut = (1 - mask)[:, None, None, :] * _FORBIDDEN
        for layer in self.bert.encoder.layer[first:end]:
            made: Any = layer(state, attention_mask=shut)
            state = made[0] if isinstance(made, tuple) else made
        return state


def _mask(lengths: Sequence[int]) -> torch.Tensor:
    """1 where a token stands, 0 for padding: (texts, longest)."""
    mask = torch.zeros(len(lengths), max(lengths))
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    return mask
