"""A second dataset for training: images of things with their names."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.load import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes.schema import BesideRecipe, ImageSampling, Recipe
from polyglance.storage.digest import json_digest
from polyglance.text.embedders import EncodedTexts
from polyglance.training.inputs.by_language import ByLanguage
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles


@dataclass(frozen=True)
class SecondDataset:
    """Things, each with images that have the same names: `images[i]` are rows of `features`."""

    recipe: BesideRecipe
    features: Features | ImageFiles
    images: list[np.ndarray]
    texts: EncodedTexts
    names: ByLanguage

    def draw(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Images [n] of distinct things, rows of `features`, and names [n], rows of `texts`."""
        size = min(self.recipe.batch, len(self.images))
        things = generator.choice(len(self.images), size, replace=False)
        draws = generator.random((4, size))
        images = [
            self.images[thing][int(draw * len(self.images[thing]))]
            for thing, draw in zip(things, draws[0], strict=True)
        ]
        groups = [self._group(*one) for one in zip(things, draws[1], draws[2], strict=True)]
        return np.array(images), self.names.texts(np.array(groups), draws[3])

    def _group(self, thing: int, favour: float, draw: float) -> int:
        """A language of a thing, as the index of its group."""
        first = self.names.first[thing]
        groups = np.arange(first, first + self.names.count[thing])
        if favour < self.recipe.favour:
            liked = groups[np.isin(self.names.language[groups], self.recipe.languages)]
            groups = liked if len(liked) else groups
        return int(groups[int(draw * len(groups))])


def open_second_dataset(recipe: Recipe, cache: Path | None) -> tuple[Dataset, CaptionTable] | None:
    """The training split of the dataset that `sampling.beside` names, and its names as captions."""
    sampling = recipe.sampling
    if not isinstance(sampling, ImageSampling) or sampling.beside is None:
        return None
    part = load_dataset(Path(sampling.beside.data).expanduser(), cache).split(
        recipe.data.train_split
    )
    return part, part.captions()


def build_second_dataset(
    model: Model,
    found: tuple[Dataset, CaptionTable] | None,
    readable: set[str] | None,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> SecondDataset | None:
    """The second dataset of a training; None without one.

    Args:
        model: encodes the names.
        found: the dataset and its names, from `open_second_dataset`.
        readable: languages that the model can read; None is all.
        cache: folder for features.
        show_progress: None shows bars in a terminal if it takes long.
    """
    if found is None:
        return None
    part, table = found
    assert isinstance(model.recipe.sampling, ImageSampling)
    settings = model.recipe.sampling.beside
    assert settings is not None
    features = model.read_dataset(part, cache, show_progress)
    model.check_features(features)
    keep = features.available[table.image]
    if readable is not None:
        keep &= np.isin(np.array(table.languages), sorted(readable))
    table = table.take(np.flatnonzero(keep))
    for code in settings.languages:
        if code not in table.languages:
            raise PolyglanceError(
                f"sampling.beside.languages: {part.label} has no names in '{code}' to train on"
            )
    things = _things(part, np.unique(table.image))
    if len(things) < 2:
        raise PolyglanceError(
            f"sampling.beside: {part.label} has no two readable images with different names"
        )
    if features.problems and show_progress is not False:
        print(
            f"note: {len(features.problems)} of {len(part)} images of {part.name} cannot be read "
            "and are left out",
            file=sys.stderr,
        )
    owner = np.full(len(part), -1)
    owner[[images[0] for images in things]] = np.arange(len(things))
    rows = np.flatnonzero(owner[table.image] >= 0)
    table = table.take(rows)
    names = ByLanguage(np.arange(len(table)), owner[table.image], table.languages)
    return SecondDataset(
        settings, features, things, model.tokens(table.texts, table.languages), names
    )


def _things(part: Dataset, images: np.ndarray) -> list[np.ndarray]:
    """Groups of images with the same names, such as one emoji in several styles."""
    found: dict[str, list[int]] = {}
    for number in images:
        found.setdefault(json_digest(part.images[number].captions), []).append(int(number))
    return [np.array(own) for own in found.values()]
