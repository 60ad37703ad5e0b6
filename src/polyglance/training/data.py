"""What a training run reads: captions as ids, features of their photographs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.models.model import to_tensors
from polyglance.recipes import Recipe
from polyglance.text import Ragged, Vocabulary, tokenize_many
from polyglance.vision.extract import load_features
from polyglance.vision.features import Features

STATISTICS_FROM = 20_000
"""Photographs that are enough for the mean and deviation of features."""


@dataclass(frozen=True)
class TrainingData:
    """Captions [n] as word ids, and `photo` [n], the row of each one's image in `features`."""

    tokens: Ragged
    photo: np.ndarray
    features: Features
    languages: list[str]
    """Language of each caption."""

    def __len__(self) -> int:
        return len(self.photo)


def prepare(
    recipe: Recipe, dataset: Dataset, cache: Path | None, show_progress: bool | None
) -> tuple[Model, TrainingData]:
    """A fresh model for the dataset's training split, and that split ready to train on."""
    part = dataset.split(recipe.data.train_split)
    features = load_features(part, recipe.image.feature, cache, show_progress=show_progress)
    table = part.captions(recipe.data.languages, recipe.data.kinds)
    table = _readable(table, features, part)
    tokens = tokenize_many(table.texts, table.languages, recipe.text.tokenizer, show_progress)
    _check_words(tokens, table, part)
    by_language: dict[str, list[list[str]]] = {}
    for code, found in zip(table.languages, tokens, strict=True):
        by_language.setdefault(code, []).append(found)
    vocabulary = Vocabulary.build(by_language, recipe.text.threshold, recipe.text.scope)
    model = Model(recipe, vocabulary, features.dim, list(by_language))
    if recipe.image.standardise:
        model.network.image.standardise(*_statistics(features, np.unique(table.photo)))
    ids = vocabulary.encode_many(tokens, recipe.text.max_length, recipe.text.ends)
    return model, TrainingData(ids, table.photo, features, table.languages)


def _readable(table: CaptionTable, features: Features, part: Dataset) -> CaptionTable:
    """Captions whose photograph has features; none at all is an error."""
    if not len(table):
        raise PolyglanceError(
            f"{part.name}: the training split has no captions of the languages and kinds asked for"
        )
    keep = np.flatnonzero(features.available[table.photo])
    if not len(keep):
        path, reason = features.problems[0]
        raise PolyglanceError(
            f"{part.name}: none of the {len(part)} training pictures can be read "
            f"(the first, {path}: {reason}); put them into {part.images}"
        )
    return CaptionTable(
        [table.texts[i] for i in keep],
        table.photo[keep],
        [table.languages[i] for i in keep],
        [table.kinds[i] for i in keep],
    )


def _check_words(tokens: list[list[str]], table: CaptionTable, part: Dataset) -> None:
    for row, found in enumerate(tokens):
        if not found:
            photo = part.photos[table.photo[row]]
            raise PolyglanceError(
                f"{part.where(photo)}: captions.{table.languages[row]}.{table.kinds[row]} holds "
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
