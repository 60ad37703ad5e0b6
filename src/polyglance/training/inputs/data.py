"""The start of a training: a model, captions as ids, and features of their images."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from polyglance.core.progress import Bar
from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.extra_captions import with_extra_captions
from polyglance.data.text_only import text_only_captions
from polyglance.errors import PolyglanceError
from polyglance.models.model import Model
from polyglance.numerics.devices import CPU, Device
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe
from polyglance.recipes.schema.recipe import IN_PIECES
from polyglance.text.embedders import TrainingTexts, build_embedder, embedders
from polyglance.text.embedders.base import AssignTokens
from polyglance.text.embedders.encoded import Unseen
from polyglance.text.tokenizers import TokenCache, read_words
from polyglance.training.inputs.classes import initialise_classes
from polyglance.training.inputs.conditions import select_captions
from polyglance.training.inputs.second_dataset import (
    SecondDataset,
    build_second_dataset,
    open_second_dataset,
)
from polyglance.training.inputs.tuple_texts import TupleTexts, add_tuple_languages, read_tuple_texts
from polyglance.vision.extraction.extract import check_images, load_features
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.image_files import ImageFiles, check_files
from polyglance.vision.image_network import ImageNetwork

STATISTICS_FROM = 20_000
"""Number of images for estimating the mean and standard deviation of features."""
STATISTICS_SEEN = 1000
"""The same if the network in the tower has to compute the features first."""


@dataclass(frozen=True)
class TrainingData:
    """Captions [n] as ids, and `image` [n], the row of each one's image in `features`.

    The first `grounded` captions have images; the others are text-only tuples, whose `image`
    numbers continue after those of the images. `continues` marks ids that continue the previous
    word, if words are split into subwords; `empty` is the id of captions without known words.
    `texts` are tuples that are read when drawn; `second_dataset` has named things.
    """

    ids: Ragged
    image: np.ndarray
    features: Features | ImageFiles
    languages: list[str]
    grounded: int
    continues: np.ndarray | None = None
    unseen: Unseen | None = None
    empty: int | None = None
    texts: TupleTexts | None = None
    second_dataset: SecondDataset | None = None

    def __len__(self) -> int:
        return len(self.image)

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of the captions, in ids: [n]."""
        return self.ids.lengths


@dataclass(frozen=True)
class InitialModel:
    """A model before training.

    Args:
        model: the model.
        fresh: whether its weights are random; image features are then standardised by the data.
        trains: languages whose parameters are trained, the others being frozen; None is all.
    """

    model: Model
    fresh: bool = True
    trains: Sequence[str] | None = None


CreateModel = Callable[[Recipe, TrainingTexts, int], InitialModel]
"""(recipe, captions, dimension of an image feature) → the model to train."""


def fresh_model(recipe: Recipe, texts: TrainingTexts, feature_dim: int) -> InitialModel:
    """A model with random weights.

    Args:
        recipe: of the model.
        texts: the training captions.
        feature_dim: dimension of an image feature.
    """
    embedder = build_embedder(recipe, texts)
    languages = sorted(set(texts.captions.languages)) or list(recipe.data.languages or ())
    return InitialModel(Model(recipe, embedder, feature_dim, languages))


def prepare(
    recipe: Recipe,
    dataset: Dataset,
    start: CreateModel,
    assign_tokens: AssignTokens | None = None,
    cache: Path | None = None,
    show_progress: bool | None = None,
    device: Device = CPU,
) -> tuple[InitialModel, TrainingData]:
    """The model to train, and the prepared training split.

    Args:
        recipe: the system.
        dataset: with the recipe's training split.
        start: creates the initial model.
        assign_tokens: learns latent tokens, for embedders that have them.
        cache: folder for features, tokens and word vectors.
        show_progress: None shows bars in a terminal if it takes long.
        device: of the model.
    """
    embedders.get(recipe.text.embedder.kind).check(recipe)
    part = with_extra_captions(dataset, recipe.data.more, recipe.data.train_split).split(
        recipe.data.train_split
    )
    second = open_second_dataset(recipe, cache)
    features = training_images(recipe, part, cache, show_progress, device)
    table, grounded = _captions(recipe, part, features)
    # A vocabulary has only words of the captions' languages; subwords cover any language.
    readable = None if recipe.text.embedder.kind in IN_PIECES else set(table.languages)
    tuples = read_tuple_texts(recipe, dataset, readable)
    if tuples is None and getattr(recipe.sampling, "text_only", False):
        table = table.join(text_only_captions(dataset, table.languages, len(part)))
    captions = len(table)
    if tuples is not None and readable is not None:
        table = table.join(tuples.table(len(part)))
    if show_progress is not False:
        report_problems(features, part)
    texts, words = read_words(
        recipe.text, table.texts, table.languages, show_progress, TokenCache(cache)
    )
    _check_words(words, table, part)
    built_from = TrainingTexts(table, words, dataset, cache, show_progress, assign_tokens)
    started = start(recipe, built_from, features.dim)
    network = started.model.network.image.backbone
    if network is not None and started.fresh:
        network.load_pretrained()
    if recipe.image.standardise and started.fresh:
        rows = np.unique(table.image[:grounded])
        started.model.network.image.standardise(*_statistics(started.model, features, rows))
    if started.fresh:
        initialise_classes(started.model, cache)
        add_tuple_languages(started.model, tuples)
    started.model.to(device)
    embedder = started.model.embedder
    texts, words = texts[:captions], words[:captions]
    table = table.take(np.arange(captions)) if captions < len(table) else table
    ids, continues, unseen = embedder.encode(texts, words, table.languages)
    started.model.network.observe(ids, cache)
    data = TrainingData(
        ids,
        table.image,
        features,
        table.languages,
        grounded,
        continues,
        unseen,
        embedder.empty,
        tuples,
        build_second_dataset(started.model, second, readable, cache, show_progress),
    )
    return started, data


def training_images(
    recipe: Recipe,
    part: Dataset,
    cache: Path | None = None,
    show_progress: bool | None = None,
    device: Device = CPU,
) -> Features | ImageFiles:
    """Features of the training images, or their files if the tower has an image network.

    Args:
        recipe: the system.
        part: the training split.
        cache: folder for features.
        show_progress: None shows bars in a terminal if it takes long.
        device: to compute features on.
    """
    feature = recipe.image.feature
    if recipe.image.backbone is None:
        return load_features(part, feature, cache, show_progress=show_progress, device=device)
    check_images(part, feature)
    with torch.device("meta"):  # uses neither memory nor random numbers
        network = ImageNetwork(recipe.image, recipe.image.backbone)
    paths = part.paths()
    return network.files(feature, paths, check_files(paths, show_progress), cache)


def _captions(
    recipe: Recipe, part: Dataset, features: Features | ImageFiles
) -> tuple[CaptionTable, int]:
    """Captions to train on, and how many of the first ones have images.

    Conditions apply first, then captions of unreadable images are dropped.
    """
    if recipe.data.images == 0:
        return part.captions([]).take(np.empty(0, np.int64)), 0
    wanted = recipe.data.languages
    every = sorted({*wanted, *(recipe.data.complete or ())}) if wanted else None
    table = part.captions(every)
    if wanted:
        part.captions(wanted)
    seed = recipe.training.seed
    rows = select_captions(table, recipe.data, seed, recipe.compat.halves)
    chosen = _readable(table.take(rows), features, part)
    if not recipe.compat.c2c_images:
        return chosen, len(chosen)
    everywhere = recipe.data.model_copy(update={"images": None, "assignment": "shared"})
    others = np.setdiff1d(select_captions(table, everywhere, seed), rows)
    return chosen.join(table.take(others)), len(chosen)


def _readable(table: CaptionTable, features: Features | ImageFiles, part: Dataset) -> CaptionTable:
    """Captions whose image has features; having none is an error."""
    if not len(table):
        raise PolyglanceError(
            f"{part.label}: the training split has no captions in the requested languages and "
            "kinds; 'polyglance data info' lists what is available"
        )
    keep = np.flatnonzero(features.available[table.image])
    if not len(keep):
        path, reason = features.problems[0]
        if isinstance(features, Features) and features.name.startswith("imported/"):
            raise PolyglanceError(
                f"{features.store.folder}: has features for none of the {len(part)} of the "
                f"training split (the first is '{path.name}'); import their features"
            )
        raise PolyglanceError(
            f"{part.label}: none of the {len(part)} training images can be read "
            f"(the first, {path}: {reason}); put them into {part.image_folder}"
        )
    return table.take(keep)


def report_problems(features: Features | ImageFiles, part: Dataset) -> None:
    """Print to stderr which images are left out, and why."""
    if features.problems and features.name.startswith("imported/"):
        print(
            f"note: {len(features.problems)} of {len(part)} have no '{features.name}' and are left "
            f"out (the first is '{features.problems[0][0].name}')",
            file=sys.stderr,
        )
    elif features.problems:
        path, reason = features.problems[0]
        print(
            f"note: {len(features.problems)} of {len(part)} images cannot be read and are left "
            f"out (the first, {path}: {reason}); 'polyglance data info' lists them",
            file=sys.stderr,
        )


def _check_words(words: list[list[str]], table: CaptionTable, part: Dataset) -> None:
    for row, found in enumerate(words):
        if not found:
            index = int(table.image[row])
            where = "text-only tuples"
            if index < len(part):
                where = part.where(part.images[index], table.texts[row])
            raise PolyglanceError(
                f"{where}: captions.{table.languages[row]}.{table.kinds[row]} has "
                f"{table.texts[row]!r}, which contains no words; remove it"
            )


def _statistics(
    model: Model, features: Features | ImageFiles, rows: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and standard deviation [F] of the features of images `rows`."""
    enough = STATISTICS_SEEN if isinstance(features, ImageFiles) else STATISTICS_FROM
    rows = rows[:: max(1, len(rows) // enough)]
    total, squares = torch.zeros(2, features.dim, dtype=torch.double).unbind()
    count = 0
    with Bar("feature statistics", len(rows), "images") as bar:
        for vectors, *rest in model.image_parts(features, rows):
            bar.advance(len(vectors))
            vectors = vectors.cpu().double().reshape(-1, features.dim)
            total, squares = total + vectors.sum(0), squares + vectors.pow(2).sum(0)
            count += int(rest[0].sum()) if rest else len(vectors)
    mean = total / count
    deviation = (squares / count - mean.pow(2)).clamp(min=0).sqrt()
    return mean.float(), deviation.float()
