"""Weights in fewer bits: word tables stay small until rows are looked up."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.runtime import export_model, load
from polyglance.text.embedders import TableEmbedder, Vocabulary
from tests.conftest import TOY

WORDS = [f"w{number}" for number in range(500)]


@pytest.mark.parametrize(("precision", "largest"), [("fp16", 1e-3), ("int8", 2e-2)])
def test_a_word_table(precision: str, largest: float, tmp_path: Path) -> None:
    recipe = load_recipe("nce", parse_overrides(TOY))
    model = Model(recipe, TableEmbedder(recipe, {"": Vocabulary(WORDS)}), 16, ["en"])
    export_model(model, tmp_path / "out", precision)  # type: ignore[arg-type]
    texts = ["w3 w9 w499", "w8", " ".join(WORDS[40:48])]
    found = load(tmp_path / "out").encode_text(texts, "en")
    difference = np.abs(found - model.encode_text(texts, "en")).max()
    assert 0 < difference <= largest

    graph = onnx.load(tmp_path / "out" / "text.onnx").graph
    kind = {"fp16": onnx.TensorProto.FLOAT16, "int8": onnx.TensorProto.INT8}[precision]
    rows = len(model.network.text.word_layers()[0].weight)
    tables = [one for one in graph.initializer if list(one.dims) == [rows, 8]]
    assert [one.data_type for one in tables] == [kind]
    readers = [node.op_type for node in graph.node if tables[0].name in node.input]
    assert readers == ["Gather"]
