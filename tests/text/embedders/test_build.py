"""The embedder that a recipe needs."""

from pathlib import Path

import pytest

from polyglance.recipes import load_recipe
from polyglance.text.embedders import (
    CharacterEmbedder,
    TableEmbedder,
    build_embedder,
    load_embedder,
)
from polyglance.text.embedders.added import AddedEmbedder
from tests.text.embedders.texts import training_texts

TEXTS = training_texts({"en": ["a dog", "a cat"]})


@pytest.mark.parametrize(
    ("name", "kind"),
    [("vsepp", TableEmbedder), ("liwe", CharacterEmbedder), ("liwe-chargru", CharacterEmbedder)],
)
def test_built_saved_extended_and_loaded(name: str, kind: type, tmp_path: Path) -> None:
    recipe = load_recipe(name, {"text.embedder.min_count": 1})
    made = build_embedder(recipe, TEXTS)
    assert type(made) is kind
    made.save(tmp_path)
    assert type(load_embedder(recipe, tmp_path)) is kind
    made.add_words("nl", ["hond"], "en").save(tmp_path)
    loaded = load_embedder(recipe, tmp_path)
    assert isinstance(loaded, AddedEmbedder)
    assert type(loaded.base) is kind
