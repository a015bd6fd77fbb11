"""`make tune`: teach the shipped encoder to tell faults apart (torch; half an hour on two cores).

    python -m knowledge.training.tune --shared DIR

Learns a low-rank difference of the encoder's upper layers together with a linear head for each axis, from composed
cases and from reports annotated for training. No case of the benchmark and no report of real/labelled.jsonl is
among them, so that both stay held out in every fold of an evaluation.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import Progress
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import AutoModel

from embeddings.model_files import SHIPPED_ADAPTER, shipped_model_dir
from embeddings.tokens import WordPieces
from knowledge.evidence import Reading, read_report
from knowledge.judging.axes import Judged, axis_ids
from knowledge.judging.blocks import write_arrays
from knowledge.judging.features import views
from knowledge.judging.tuned import SHIPPED_HEADS, save_heads
from knowledge.signatures import SignatureTable
from knowledge.taxonomy import load_taxonomy
from knowledge.training.items import Learned, fingerprints
from knowledge.training.records import TrainingRecord, target, tuning_records

# The encoder with low-rank differences to learn, and a linear head for each axis over its vectors (torch).
#
# The lower layers stay as they are: their output is computed once for each text and kept.

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


LOSS: Mapping[Judged, float] = {
    "type": 0.3,
    "distributed": 0.2,
    "stage": 0.6,
    "symptom": 1.0,
    "cause": 0.5,
    "fix": 0.7,
}
"""Share of each axis in the loss."""
EPOCHS = 3
BATCH = 24
RATE, HEAD_RATE = 6e-4, 2e-3
WARM_UP = 60
"""Batches over which the rate rises; then it falls to zero."""
AVERAGED = 0.998
"""What is written is a running mean of the weights, which forgets this slowly: single passes end up points apart."""
SMOOTHING = 0.05
MAX_TOKENS = 144
"""Of a view: the longest are cut a little, which the encoder at work does not do."""


@dataclass(frozen=True, slots=True)
class Example:
    """Two views by their number, and for each axis the wanted distribution, scaled by how much it counts."""

    views: tuple[int, int]
    length: int
    targets: Mapping[Judged, torch.Tensor]


def main() -> None:
    """Learn, and write adapter and heads."""
    parser = argparse.ArgumentParser(description="Tune the shipped encoder.")
    parser.add_argument(
        "--shared", type=Path, required=True, help="folder with real/ (texts that are not shipped)"
    )
    parser.add_argument("--adapter", type=Path, default=SHIPPED_ADAPTER)
    parser.add_argument("--heads", type=Path, default=SHIPPED_HEADS)
    args = parser.parse_args()
    torch.manual_seed(0)
    order = random.Random(0)
    taxonomy = load_taxonomy()
    ids = {axis: axis_ids(taxonomy, axis) for axis in LOSS}
    table = SignatureTable()
    learned, scored = tuning_records(args.shared)
    known = Learned.of(fingerprints(read_report(record.report, table) for record in scored))
    read = [(record, read_report(record.report, table)) for record in learned]
    read = [(record, reading) for record, reading in read if not known.knows(reading)]
    records, readings = [record for record, _ in read], [reading for _, reading in read]
    texts, pairs = _views(readings)
    pieces = WordPieces(shipped_model_dir() / "tokenizer.json", MAX_TOKENS)(texts)
    examples = [
        Example(pair, len(pieces[pair[0]]), _targets(record, ids))
        for record, pair in zip(records, pairs, strict=True)
    ]
    model = TunedEncoder(shipped_model_dir(), {axis: len(of) for axis, of in ids.items()})
    below = model.below(pieces)
    with Progress() as progress:
        _fit(model, examples, below, order, progress)
    write_arrays(args.adapter, _adapter(model))
    about = {
        "sources": dict(sorted(Counter(record.source for record in records).items())),
        "fingerprints": fingerprints(readings),
    }
    sharpness = float(model.sharpness.detach())
    heads = {
        axis: (head.weight.detach().numpy().T * sharpness, head.bias.detach().numpy(), ids[axis])
        for axis in LOSS
        for head in [model.heads[f"head_{axis}"]]
    }
    save_heads(heads, args.heads, about)
    for file in (args.adapter, args.heads):
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB from {about['sources']}")


def _views(readings: Sequence[Reading]) -> tuple[list[str], list[tuple[int, int]]]:
    """All different texts, and which two of them each report has."""
    number: dict[str, int] = {}
    pairs = []
    for reading in readings:
        first, second = (number.setdefault(text, len(number)) for text in views(reading))
        pairs.append((first, second))
    return list(number), pairs


def _targets(record: TrainingRecord, ids: Mapping[Judged, tuple[str, ...]]) -> dict[Judged, torch.Tensor]:
    out: dict[Judged, torch.Tensor] = {}
    for axis, known in ids.items():
        wanted = torch.zeros(len(known))
        for label, share in target(record, axis).items():
            wanted[known.index(label)] = (1 - SMOOTHING) * share
        if wanted.any():
            wanted += SMOOTHING / len(known)
        out[axis] = wanted * (_counts(record, axis) * record.weight)
    return out


def _counts(record: TrainingRecord, axis: Judged) -> float:
    """How much a label counts beyond its source's weight."""
    distributed = record.labels.distributed
    if record.source == "composed":
        # Nearly all composed cases are distributed faults, and would drown the others on these two axes.
        return 0.2 if distributed and axis in ("type", "distributed") else 1.0
    if record.source == "report_labels" and not distributed:
        # Faults of a single device are most of these, and their cause is nearly always called a defect.
        return 0.0 if axis in ("cause", "fix") else 0.5
    return 1.0


def _fit(
    model: TunedEncoder,
    examples: Sequence[Example],
    below: Sequence[torch.Tensor],
    order: random.Random,
    progress: Progress,
) -> None:
    low = [parameter for layer in model.adapted.values() for parameter in (layer.up, layer.down)]
    heads = [*model.heads.parameters(), model.sharpness]
    optimizer = torch.optim.AdamW(
        [{"params": low, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}], weight_decay=0.01
    )
    steps = EPOCHS * -(-len(examples) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / WARM_UP) * max(0.0, 1 - step / steps)
    )
    mean = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    task = progress.add_task("tuning", total=steps)
    model.train()
    for epoch in range(EPOCHS):
        total = 0.0
        batches = _batches(examples, order)
        for batch in batches:
            with torch.autocast("cpu", torch.bfloat16):
                scores = model(_pairs(model, batch, below))
            loss = torch.zeros(())
            for axis, share in LOSS.items():
                wanted = torch.stack([example.targets[axis] for example in batch])
                loss = loss - share * (wanted * scores[axis].float().log_softmax(-1)).sum() / len(batch)
            optimizer.zero_grad()
            loss.backward()
            clip_grad_norm_(low, 1.0)
            optimizer.step()
            schedule.step()
            mean.update_parameters(model)
            total += float(loss.detach())
            progress.advance(task)
        progress.console.print(f"epoch {epoch + 1}: loss {total / len(batches):.3f}")
    model.load_state_dict(mean.module.state_dict())
    model.eval()


def _batches(examples: Sequence[Example], order: random.Random) -> list[list[Example]]:
    """All examples once, those of like length together, in another order each time."""
    mixed = order.sample(examples, len(examples))
    near = [e for many in _slices(mixed, 16 * BATCH) for e in sorted(many, key=lambda e: e.length)]
    batches = _slices(near, BATCH)
    order.shuffle(batches)
    return batches


def _slices(examples: list[Example], size: int) -> list[list[Example]]:
    return [examples[start : start + size] for start in range(0, len(examples), size)]


def _pairs(model: TunedEncoder, batch: Sequence[Example], below: Sequence[torch.Tensor]) -> torch.Tensor:
    """Both vectors of each report, one behind the other; a text that stands twice is computed once."""
    used = sorted({view for example in batch for view in example.views})
    vectors = model.vectors([below[view] for view in used])
    at = {view: row for row, view in enumerate(used)}
    return torch.cat([vectors[[at[example.views[half]] for example in batch]] for half in (0, 1)], 1)


def _adapter(model: TunedEncoder) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float16]]]:
    arrays = {}
    for name, layer in model.adapted.items():
        arrays[f"{name}.up"] = layer.up.detach().numpy().astype(np.float16)
        arrays[f"{name}.down"] = layer.down.detach().numpy().astype(np.float16)
    return arrays


if __name__ == "__main__":
    main()
