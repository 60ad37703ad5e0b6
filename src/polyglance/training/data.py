"""What a training run reads: captions as ids, features of their photographs."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.text_only import text_only_captions
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.models.model import to_tensors
from polyglance.recipes import Recipe
from polyglance.recipes.schema import UniversalEmbedderRecipe
from polyglance.recipes.schema.sampling import ranks_captions, uses_text_only
from polyglance.text import Ragged
from polyglance.text.pretrained import check_pretrained
from polyglance.text.reader import Reader
from polyglance.text.readers import build_reader
from polyglance.text.reading import read_words
from polyglance.training.conditions import select_captions
from polyglance.training.transfer import begin_model
from polyglance.vision.extract import load_features
from polyglance.vision.features import Features

STATISTICS_FROM = 20_000
"""Photographs that are enough for the mean and deviation of features."""


@dataclass(frozen=True)
class TrainingData:
    """Captions [n] as word ids, and `photo` [n], the row of each one's image in `features`.

    The first `grounded` captions have photographs; the others are text-only tuples, whose
    `photo` numbers go on behind those of the images. `joined` says which of the ids go on with
    the word before, if words are read in pieces.
    """

    tokens: Ragged
    photo: np.ndarray
    features: Features
    languages: list[str]
    grounded: int
    joined: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.photo)


def prepare(
    recipe: Recipe,
    dataset: Dataset,
    cache: Path | None,
    show_progress: bool | None,
    source: Path | None = None,
) -> tuple[Model, TrainingData]:
    """A fresh model, or one from `source`, and the training split ready to train it on."""
    check_pretrained(recipe.text)
    part = dataset.split(recipe.data.train_split)
    features = load_features(part, recipe.image.feature, cache, show_progress=show_progress)
    table, grounded = _captions(recipe, part, features)
    if uses_text_only(recipe.sampling):
        table = _join(table, text_only_captions(dataset, table.languages, len(part)))
    if show_progress is not False:
        tell_problems(features, part)
    texts, tokens = read_words(recipe.text, table.texts, table.languages, show_progress)
    _check_words(tokens, table, part)
    by_language: dict[str, list[list[str]]] = {}
    for code, found in zip(table.languages, tokens, strict=True):
        by_language.setdefault(code, []).append(found)
    reader: Reader
    if source is not None or recipe.text.embedder.kind == "vectors":
        model = begin_model(recipe, dataset, by_language, features.dim, source, cache)
        reader = model.reader
    else:
        embedder = recipe.text.embedder
        if isinstance(embedder, UniversalEmbedderRecipe):
            from polyglance.training.universal import build_universal  # which needs the feeds

            reader = build_universal(recipe, embedder, dataset, table, tokens, cache, show_progress)
        else:
            reader = build_reader(recipe.text, by_language)
        model = Model(recipe, reader, features.dim, list(by_language))
    if recipe.image.standardise and source is None:
        photos = np.unique(table.photo[:grounded])
        model.network.image.standardise(*_statistics(features, photos))
    ids, joined = reader.encode(recipe.text, texts, tokens, table.languages)
    reader.keep()
    return model, TrainingData(ids, table.photo, features, table.languages, grounded, joined)


def _captions(recipe: Recipe, part: Dataset, features: Features) -> tuple[CaptionTable, int]:
    """Captions to train on, and how many, from the first, are ranked against images.

    Conditions come first, then only captions of readable photographs are kept.
    """
    if recipe.data.images == 0:
        return _take(part.captions([]), np.empty(0, np.int64)), 0
    wanted = recipe.data.languages
    every = sorted({*wanted, *(recipe.data.complete or ())}) if wanted else None
    table = part.captions(every)
    if wanted:
        part.captions(wanted)
    seed = recipe.training.seed
    rows = select_captions(table, recipe.data, seed, recipe.compat.halves)
    chosen = _readable(_take(table, rows), features, part)
    if not (recipe.compat.c2c_images and ranks_captions(recipe.sampling)):
        return chosen, len(chosen)
    everywhere = recipe.data.model_copy(update={"images": None, "assignment": "shared"})
    others = np.setdiff1d(select_captions(table, everywhere, seed), rows)
    return _join(chosen, _take(table, others)), len(chosen)


def _take(table: CaptionTable, rows: np.ndarray) -> CaptionTable:
    return CaptionTable(
        [table.texts[i] for i in rows],
        table.photo[rows],
        [table.languages[i] for i in rows],
        [table.kinds[i] for i in rows],
    )


def _join(first: CaptionTable, second: CaptionTable) -> CaptionTable:
    return CaptionTable(
        first.texts + second.texts,
        np.concatenate([first.photo, second.photo]),
        first.languages + second.languages,
        first.kinds + second.kinds,
    )


def _readable(table: CaptionTable, features: Features, part: Dataset) -> CaptionTable:
    """Captions whose photograph has features; none at all is an error."""
    if not len(table):
        raise PolyglanceError(
            f"{part.label}: the training split has no captions of the languages and kinds asked "
            "for; 'polyglance data info' shows what there is"
        )
    keep = np.flatnonzero(features.available[table.photo])
    if not len(keep):
        path, reason = features.problems[0]
        if features.name.startswith("imported/"):
            raise PolyglanceError(
                f"{features.store.folder}: holds none of the {len(part)} of the training split "
                f"(the first is '{path.name}'); import their features"
            )
        raise PolyglanceError(
            f"{part.label}: none of the {len(part)} training pictures can be read "
            f"(the first, {path}: {reason}); put them into {part.images}"
        )
    return _take(table, keep)


def tell_problems(features: Features, part: Dataset) -> None:
    """Say on stderr which pictures are left out, and why."""
    if features.problems and features.name.startswith("imported/"):
        print(
            f"note: {len(features.problems)} of {len(part)} have no '{features.name}' and are left "
            f"out (the first is '{features.problems[0][0].name}')",
            file=sys.stderr,
        )
    elif features.problems:
        path, reason = features.problems[0]
        print(
            f"note: {len(features.problems)} of {len(part)} pictures cannot be read and are left "
            f"out (the first, {path}: {reason}); 'polyglance data info' lists them",
            file=sys.stderr,
        )


def _check_words(tokens: list[list[str]], table: CaptionTable, part: Dataset) -> None:
    for row, found in enumerate(tokens):
        if not found:
            index = int(table.photo[row])
            where = "text-only tuples"
            if index < len(part):
                where = part.where(part.photos[index], table.texts[row])
            raise PolyglanceError(
                f"{where}: captions.{table.languages[row]}.{table.kinds[row]} holds "
                f"{table.texts[row]!r}, which has no words; remove it"
            )


def _statistics(features: Features, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and deviation [F] of the features of photographs `rows`."""
    rows = rows[:: max(1, len(rows) // STATISTICS_FROM)]
    total, squares = torch.zeros(2, features.dim, dtype=torch.double).unbind()
    count = 0
    for start in range(0, len(rows), 512):
        vectors, *rest = to_tensors(features, rows[start : start + 512])
        vectors = vectors.double().reshape(-1, features.dim)
        total, squares = total + vectors.sum(0), squares + vectors.pow(2).sum(0)
        count += int(rest[0].sum()) if rest else len(vectors)
    mean = total / count
    deviation = (squares / count - mean.pow(2)).clamp(min=0).sqrt()
    return mean.float(), deviation.float()
