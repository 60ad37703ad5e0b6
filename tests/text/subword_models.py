"""Small models of subwords; those of a sentence encoder have random weights without the package."""

import torch

from polyglance import Model
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import SubwordEmbedder
from polyglance.text.embedders.subwords.pieces import Pieces
from tests.text.vocabulary_file import write_vocabulary

TEXTS = ["A red dog", "ein roter Hund läuft durch den Schnee", "犬が走る", "कुत्ता"]
TOY = [
    "image.feature=imported/toy",
    "joint.dim=24",
    "text.embedder.buckets=200",
    "text.embedder.word_dim=8",
    "training.batch_size=32",
    "training.updates=12",
]
LETTERS = {letter: -float(3 + place % 7) for place, letter in enumerate("▁aerdogtinhul")}


def sentence_recipe(*overrides: str) -> Recipe:
    """A small form of `sentence-nce`."""
    return load_recipe("sentence-nce", parse_overrides([*TOY, *overrides]), shared=True)


def sentence_model(*overrides: str, feature_dim: int = 16) -> Model:
    """A model of random weights, which are not the package's."""
    recipe = sentence_recipe(*overrides)
    torch.manual_seed(0)
    embedder = SubwordEmbedder(recipe, Pieces.read(write_vocabulary(LETTERS), "letters"))
    made = Model(recipe, embedder, feature_dim, ["de", "en"])
    table = made.network.text.encoder.pieces
    table.rows.random_(0, 255)
    table.scale.fill_(0.01)
    table.low.fill_(-1.2)
    return made
