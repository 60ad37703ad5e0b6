"""Judging a model while it trains: the evaluation's own protocol on tokens made once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.evaluation import Report, evaluate
from polyglance.models import Model
from polyglance.text import Ragged
from polyglance.vision.extract import load_features


class Validation:
    """A model as the evaluation sees it, with word ids and features kept between evaluations."""

    def __init__(self, model: Model, dataset: Dataset, split: str, cache: Path | None) -> None:
        self.model, self.dataset, self.split = model, dataset, split
        self.similarity, self.languages = model.similarity, model.languages
        present = set(dataset.split(split).languages)
        self.judged = [code for code in model.languages if code in present]
        feature = model.recipe.image.feature
        self._features = load_features(dataset.split(split), feature, cache)
        self._tokens: dict[tuple[str | None, int, str], Ragged] = {}

    def report(self) -> Report:
        """Recalls of the model as it is now, on the languages it is trained on."""
        return evaluate(
            self, self.dataset, self.split, self.judged, bootstrap=0, show_progress=False
        )

    def encode_text(
        self,
        texts: Sequence[str],
        language: str | None = None,
        *,
        show_progress: bool | None = None,
    ) -> np.ndarray:
        key = (language, len(texts), texts[0])
        if key not in self._tokens:
            self._tokens[key] = self.model.tokens(texts, language)
        return self.model.encode_tokens(self._tokens[key], language)

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> np.ndarray:
        result = np.full((len(dataset), self.model.dim), np.nan, np.float32)
        rows = np.flatnonzero(self._features.available)
        result[rows] = self.model.encode_features(self._features, rows)
        return result
