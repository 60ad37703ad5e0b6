"""The text tower of a recipe."""

from pathlib import Path

import pytest

from polyglance.models.networks.network import build_text_tower
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.recipes.schema import EncoderRecipe, variants_of
from polyglance.text.embedders import TableEmbedder, Vocabulary
from polyglance.text.encoders import (
    GruEncoder,
    LanguageTowers,
    SelfAttention,
    TextTower,
    TransformerTower,
    encoders,
    towers,
)
from tests.text.pieces import piece_model

SMALL = ["text.encoder.hidden=6", "text.embedder.word_dim=5", "joint.dim=6"]


@pytest.mark.parametrize(
    ("kind", "encoder", "part"),
    [
        ("gru", GruEncoder, "gru"),
        ("bigru", GruEncoder, "gru"),
        ("attention", SelfAttention, "attention"),
    ],
)
def test_one_tower(kind: str, encoder: type, part: str) -> None:
    recipe = load_recipe("vsepp", parse_overrides([*SMALL, f"text.encoder.kind={kind}"]))
    tower = build_text_tower(recipe, TableEmbedder(recipe, {"": Vocabulary(["dog"])}))
    assert isinstance(tower, TextTower)
    assert isinstance(tower.encoder, encoder)
    assert tower.encoder is getattr(tower, part)
    assert tower.added is None


def test_a_tower_for_each_language_and_added_ones() -> None:
    changes = [*SMALL, "text.towers=per-language", "sampling.kind=languages"]
    recipe = load_recipe("vsepp", parse_overrides(changes))
    tables = {"en": Vocabulary(["dog"]), "de": Vocabulary(["ein", "hund"])}
    embedder = TableEmbedder(recipe, tables).add_words("nl", ["hond"], "de")
    tower = build_text_tower(recipe, embedder)
    assert isinstance(tower, LanguageTowers)
    assert len(tower.of("de").words.weight) == 6
    assert tower.of("nl") is tower.of("de")
    assert tower.of("de").added is not None
    assert tower.of("en").added is None


def test_a_pretrained_transformer(bert: Path) -> None:
    assert isinstance(piece_model(bert).network.text, TransformerTower)


def test_every_kind_of_recipes_has_its_encoder() -> None:
    assert {*encoders.list(), *towers.list()} == set(variants_of(EncoderRecipe))
