"""What training on labelled reports added to the shipped encoder: a low-rank difference of its dense layers.

A layer's weights become W + up @ down (LoRA, Hu et al. 2021): a hundredth of the model's size, added before the
model is converted, so that it costs nothing at run time.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from embeddings.errors import ModelError

SHIPPED_ADAPTER = Path(__file__).parent / "adapter.npz"
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Adapter:
    """`parts`: dense layer (its name without ".weight") to (up (out, rank), down (rank, in)); `hash`: of the file."""

    parts: Mapping[str, tuple[Floats, Floats]]
    hash: str

    @classmethod
    def load(cls, file: Path = SHIPPED_ADAPTER) -> Adapter:
        """Read an adapter. Raises ModelError when the file is missing or damaged."""
        try:
            with file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
                names = sorted(name.removesuffix(".up") for name in arrays.files if name.endswith(".up"))
                parts = {
                    name: (arrays[f"{name}.up"].astype(np.float32), arrays[f"{name}.down"].astype(np.float32))
                    for name in names
                }
            return cls(parts, hashlib.sha256(file.read_bytes()).hexdigest())
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise ModelError(
                f"The encoder's adapter {file} cannot be read ({type(error).__name__}).",
                "Restore the file, or rebuild it with: make tune",
            ) from error

    def difference(self, name: str) -> Floats:
        """What is added to the weights of a dense layer: (out, in)."""
        up, down = self.parts[name]
        return np.asarray(up @ down)

    def added_to(self, weights: Mapping[str, Floats]) -> dict[str, Floats]:
        """All weights of the model by name, the adapted ones with their difference.

        Raises ModelError when the model lacks a layer that the adapter changes.
        """
        missing = [name for name in self.parts if f"{name}.weight" not in weights]
        if missing:
            raise ModelError(f"The model has no layer {missing[0]}.", "Rebuild the adapter with: make tune")
        adapted = {f"{name}.weight": weights[f"{name}.weight"] + self.difference(name) for name in self.parts}
        return {**weights, **adapted}
