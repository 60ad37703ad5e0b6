"""Small models that read the pieces of a random BERT."""

from pathlib import Path

import torch

from polyglance import Model
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import PieceEmbedder
from tests.conftest import TOY

TEXTS = ["A red dog", "ein roter Hund läuft", "犬が走る", "dog"]


def piece_recipe(bert: Path, *overrides: str) -> Recipe:
    """A recipe whose encoder is the BERT of a folder."""
    changes = [*TOY, "image.head.hidden=8", "text.pooling=mean"]
    changes += [f"text.encoder.pretrained={bert}", *overrides]
    return load_recipe("vse-infinity-bert", parse_overrides(changes), shared=True)


def piece_model(bert: Path, *overrides: str) -> Model:
    """An untrained model of it."""
    recipe = piece_recipe(bert, *overrides)
    torch.manual_seed(0)
    return Model(recipe, PieceEmbedder.open(recipe, bert), 16, ["en", "de", "ja"])
