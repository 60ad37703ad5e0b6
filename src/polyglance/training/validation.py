"""Evaluating a model while it trains: the evaluation's own protocol on tokens made once."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.evaluation import Report, evaluate
from polyglance.evaluation.captions import (
    choose_captions,
    in_batches,
    no_images,
    readable_captions,
)
from polyglance.models import Model
from polyglance.sets import Embeddings
from polyglance.text.embedders import EncodedTexts
from polyglance.vision.extract import load_features


class Validation:
    """A model as the evaluation sees it, with ids and features kept between evaluations."""

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        split: str,
        cache: Path | None,
        languages: Sequence[str] | None = None,
    ) -> None:
        self.model, self.dataset, self.split = model, dataset, split
        self.similarity_name, self.languages = model.similarity_name, model.languages
        present = set(dataset.split(split).languages)
        self.evaluated = [code for code in languages or model.languages if code in present]
        feature = model.recipe.image.feature
        self._features = load_features(dataset.split(split), feature, cache)
        model.check_features(self._features)
        self._tokens: dict[tuple[str | None, tuple[str, ...]], EncodedTexts] = {}
        self._prepare()

    def _prepare(self) -> None:
        """Find what would stop an evaluation now, not after an epoch; make the word ids."""
        part, readable = self.dataset.split(self.split), self._features.available
        if not readable.any():
            raise no_images(part, self.split)
        evaluated = []
        for captions in choose_captions(part, self.evaluated) if self.evaluated else ():
            seen = readable_captions(captions, readable)
            for _ in in_batches(seen, part, partial(self._ids, language=seen.language)):
                pass
            evaluated += [seen.language] if seen.texts else []
        self.evaluated = evaluated

    def report(self) -> Report:
        """Recalls of the model as it is now, on the languages it is trained on."""
        return evaluate(
            self,
            self.dataset,
            self.split,
            languages=self.evaluated,
            bootstrap=0,
            show_progress=False,
        )

    def encode_text(
        self,
        texts: Sequence[str],
        language: str | None = None,
        *,
        show_progress: bool | None = None,
    ) -> Embeddings:
        return self.model.encode_tokens(self._ids(texts, language), language)

    def _ids(self, texts: Sequence[str], language: str | None) -> EncodedTexts:
        key = (language, tuple(texts))
        if key not in self._tokens:
            self._tokens[key] = self.model.tokens(texts, language)
        return self._tokens[key]

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Embeddings:
        return self.model.encode_available(self._features)

    def similarity(self, images: Embeddings, texts: Embeddings) -> np.ndarray:
        return self.model.similarity(images, texts)
