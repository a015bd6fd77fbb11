"""A BERT sentence encoder as an ONNX graph.

It uses ONNX Runtime's fused operators (attention, layer norm, exact GELU) from the start, so that a session
has nothing left to fuse when it opens.
Operators: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
from onnx import TensorProto, helper

from embeddings.errors import ModelError
from embeddings.model_files import BertShape, Floats

_PAGE = 4096
"""Offsets in the weights file are multiples of a page, so that they can be mapped into memory as they lie."""
_FUSED = "com.microsoft"


def write_graph(shape: BertShape, weights: Mapping[str, Floats], graph: Path, data: Path) -> None:
    """Write the graph to `graph` and its weights to `data`, in the same folder.

    Inputs: `input_ids`, `mask`: int32 (batch, length). Output: `vector`: float32 (batch, hidden).
    Raises ModelError when a weight is missing, OSError when the disk refuses.
    """
    with data.open("wb") as file:
        builder = _Builder(weights, file, data.name, shape.layer_norm_eps)
        try:
            _sentence_vector(builder, shape)
        except KeyError as error:
            raise ModelError(f"The model's weights don't include {error}.", "Reinstall the model.") from error
    onnx.save(builder.model(shape.hidden), str(graph))


class _Builder:
    """Collects nodes and initializers; every value is named after its position."""

    def __init__(self, weights: Mapping[str, Floats], data: BinaryIO, location: str, epsilon: float) -> None:
        self.weights = weights
        self._data = data
        self._location = location
        self._epsilon = epsilon
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []

    def constant(self, value: Floats) -> str:
        """Write `value` to the weights file and return its name."""
        self._data.write(b"\0" * (-self._data.tell() % _PAGE))
        tensor = TensorProto(
            name=f"w{len(self._initializers)}", data_type=TensorProto.FLOAT, dims=value.shape
        )
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": self._location, "offset": self._data.tell(), "length": value.nbytes}
        for key, entry in place.items():
            tensor.external_data.add(key=key, value=str(entry))
        self._data.write(np.ascontiguousarray(value, dtype="<f4").tobytes())
        self._initializers.append(tensor)
        return str(tensor.name)

    def axis(self, number: int) -> str:
        """Return the name of a constant holding one axis or index."""
        name = f"i{len(self._initializers)}"
        self._initializers.append(helper.make_tensor(name, TensorProto.INT64, [1], [number]))
        return name

    def node(
        self, kind: str, inputs: Sequence[str], name: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add a node and return the name of its first output."""
        output = name or f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def fused(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Add one of ONNX Runtime's own operators."""
        return self.node(kind, inputs, domain=_FUSED, **attributes)

    def norm(self, name: str) -> list[str]:
        """Return scale and shift of the layer norm called `name`."""
        return [self.constant(self.weights[f"{name}.LayerNorm.{part}"]) for part in ("weight", "bias")]

    def dense(self, name: str, value: str) -> tuple[str, str]:
        """Multiply `value` with the dense layer `name`; return the product and the bias still to be added."""
        product = self.node("MatMul", [value, self.constant(self.weights[f"{name}.weight"].T)])
        return product, self.constant(self.weights[f"{name}.bias"])

    def add_and_norm(self, name: str, value: str, skip: str) -> str:
        """Dense layer, residual and layer norm, as they end both halves of a BERT layer."""
        product, bias = self.dense(f"{name}.dense", value)
        inputs = [product, skip, *self.norm(name), bias]
        return self.fused("SkipLayerNormalization", inputs, epsilon=self._epsilon)

    def embed(self) -> str:
        """Sum and normalise the embeddings of words and positions."""
        at, table = "embeddings", "_embeddings.weight"
        words = self.constant(self.weights[f"{at}.word{table}"])
        # One sentence a row: its token type is always 0, so that row is folded into the positions.
        places = self.weights[f"{at}.position{table}"] + self.weights[f"{at}.token_type{table}"][0]
        inputs = ["input_ids", "", words, self.constant(places), "", *self.norm(at)]
        output = self.fused("EmbedLayerNormalization", inputs, epsilon=self._epsilon)
        self._nodes[-1].output.append("unused_mask_index")
        return output

    def attend(self, name: str, value: str, heads: int) -> str:
        """Self-attention: query, key and value in one product."""
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        kernel = np.concatenate([self.weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        inputs = [value, self.constant(kernel), self.constant(bias), "mask"]
        return self.fused("Attention", inputs, num_heads=heads)

    def model(self, dims: int) -> onnx.ModelProto:
        """Return the finished model."""
        ids, mask = (
            helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "length"])
            for name in ("input_ids", "mask")
        )
        vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", dims])
        graph = helper.make_graph(self._nodes, "sentence", [ids, mask], [vector], self._initializers)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="distriage")


def _sentence_vector(build: _Builder, shape: BertShape) -> None:
    """Layers as in Devlin et al. 2018 (layer norm after each half), then pooling, then unit length."""
    state = build.embed()
    for layer in range(shape.layers):
        at = f"encoder.layer.{layer}"
        heads = build.attend(f"{at}.attention.self", state, shape.heads)
        state = build.add_and_norm(f"{at}.attention.output", heads, state)
        wide, bias = build.dense(f"{at}.intermediate.dense", state)
        state = build.add_and_norm(f"{at}.output", build.fused("BiasGelu", [wide, bias]), state)
    if shape.pooling == "cls":
        first = build.node("Gather", [state, build.axis(0)], axis=1)
        pooled = build.node("Squeeze", [first, build.axis(1)])
    else:
        pooled = _mean_over_mask(build, state)
    build.node("LpNormalization", [pooled], name="vector", axis=-1, p=2)


def _mean_over_mask(build: _Builder, state: str) -> str:
    """The mean over the tokens that are no padding; each text has at least [CLS] and [SEP]."""
    mask = build.node("Cast", ["mask"], to=TensorProto.FLOAT)
    masked = build.node("Mul", [state, build.node("Unsqueeze", [mask, build.axis(2)])])
    total = build.node("ReduceSum", [masked, build.axis(1)], keepdims=0)
    return build.node("Div", [total, build.node("ReduceSum", [mask, build.axis(1)], keepdims=1)])
