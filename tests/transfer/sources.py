"""Models of every kind to bring to German, and trainings that do."""

from collections.abc import Sequence
from pathlib import Path

from polyglance.data import Dataset
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.training import Callback, Result
from polyglance.transfer import train_recipe
from tests.conftest import TOY

World = tuple[Path, Dataset]
"""A folder for runs, and the dataset."""

ATTENTION = [
    *TOY,
    "text.embedder.word_dim=12",
    "text.encoder.heads=2",
    "text.encoder.head_dim=4",
    "training.epochs=12",
]
LIWE = [*TOY, "text.embedder.layers=[12, 10]", "text.embedder.char_dim=6", "training.epochs=12"]
LIWE += ["image.attention=false"]
TABLE = [*TOY, "training.epochs=12"]
TOWERS = [*TABLE, "text.towers=per-language", "sampling.kind=languages"]
UNIVERSAL = [
    *TABLE,
    "image.head.hidden=16",
    "image.dropout=0",
    "text.embedder.vector_dim=8",
    "text.embedder.own_dim=4",
    "text.embedder.frequent=4",
    "text.embedder.rare.assignment.updates=20",
    "text.embedder.rare.tokens=12",
    "text.embedder.rare.assignment.candidates=3",
    "sampling.pretrain_epochs=0",
    "training.epochs=15",
]
KINDS = {
    "table": ("vsepp", TABLE),
    "liwe": ("liwe", LIWE),
    "towers": ("vsepp", TOWERS),
    "vectors": ("translator", ATTENTION),
    "universal": ("smalr-hem", UNIVERSAL),
}


def recipe_of(kind: str, *overrides: str) -> Recipe:
    """The small recipe of a kind of model."""
    recipe, small = KINDS[kind]
    return load_recipe(recipe, parse_overrides([*small, *overrides]), shared=True)


def run(
    world: World,
    name: str,
    kind: str,
    *overrides: str,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Result:
    """Train a recipe into the folder `name` of the world."""
    folder, dataset = world
    chosen = recipe_of(kind, *overrides)
    return train_recipe(chosen, dataset, folder / name, resume, folder / "cache", False, callbacks)


def german(source: Path, *overrides: str, dictionary: str | Path = "captions") -> list[str]:
    """Changes that bring a source to German."""
    named = [f"transfer.source={source}", f"transfer.dictionary={dictionary}"]
    return [*named, "data.languages=[de]", *overrides]


def recall(result: Result, code: str = "de") -> float:
    """The last mR of a training."""
    return result.progress.evaluations[-1]["mr"][code]
