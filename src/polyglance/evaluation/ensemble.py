"""Several models as one: the average of their scores (VSE∞'s region + grid)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.encoder import (
    Encoder,
    as_embeddings,
    concatenate,
    dim_of,
    encode_quietly,
    finite,
    similarity_of,
)
from polyglance.numerics.sets import Embeddings


class Bundle:
    """What several models encoded the same images or texts as, row by row."""

    def __init__(self, parts: Sequence[Embeddings]) -> None:
        if len({len(part) for part in parts}) != 1:
            raise PolyglanceError("the models gave different numbers of vectors for the same data")
        self.parts = list(parts)

    @staticmethod
    def concatenate(bundles: Sequence["Bundle"]) -> "Bundle":
        """The rows of all bundles, in order."""
        by_model = zip(*(bundle.parts for bundle in bundles), strict=True)
        return Bundle([concatenate(parts) for parts in by_model])

    @property
    def dim(self) -> object:
        """What images and texts must agree in."""
        return [dim_of(part) for part in self.parts]

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, rows: Any) -> "Bundle":
        return Bundle([part[rows] for part in self.parts])

    def finite(self) -> np.ndarray:
        """Which rows are finite for all models, [n] bool."""
        return np.logical_and.reduce([finite(part) for part in self.parts])


class Ensemble:
    """An `Encoder` whose score is the mean of its members' scores.

    Members may differ in features, similarity and languages. An image that one of them
    cannot read is left out. A member that does not know a language is asked without its name;
    the ensemble knows the languages that any member knows. Order violations and the sums of
    cross-attention are not on the cosine's scale, so members with wider scores count for more.

    `evaluate(Ensemble([first, second]), dataset)` evaluates the ensemble.
    """

    def __init__(self, models: Sequence[Encoder]) -> None:
        if not models:
            raise PolyglanceError("an ensemble needs a model or more")
        self.models = list(models)
        kinds = [similarity_of(model) for model in models]
        self._prepare = [prepare for _, prepare, _ in kinds]
        self._score = [score for _, _, score in kinds]
        self.similarities = [name for name, _, _ in kinds]
        self.similarity_name = f"mean of {', '.join(self.similarities)}"
        self._known = [getattr(model, "languages", None) for model in models]
        found = {code for codes in self._known for code in codes or ()}
        self.languages = None if None in self._known else sorted(found)

    @property
    def mixed(self) -> bool:
        """Whether the members' scores are of different kinds, and so perhaps scales."""
        return len(set(self.similarities)) > 1

    def encode_text(
        self, texts: list[str], language: str | None = None, *, show_progress: bool | None = None
    ) -> Bundle:
        """As `Encoder.encode_text`, of each member."""
        parts = []
        for model, known, prepare in zip(self.models, self._known, self._prepare, strict=True):
            given = language if known is None or language in known else None
            parts.append(prepare(as_embeddings(encode_quietly(model, texts, given))))
        return Bundle(parts)

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Bundle:
        """As `Encoder.encode_dataset`, of each member."""
        parts = []
        for model, prepare in zip(self.models, self._prepare, strict=True):
            found = model.encode_dataset(dataset, cache=cache, show_progress=show_progress)
            parts.append(prepare(as_embeddings(found)))
        return Bundle(parts)

    def similarity(self, images: Bundle, texts: Bundle) -> np.ndarray:
        """Mean [n, m] of the members' scores of n images and m texts."""
        total = np.zeros((len(images), len(texts)), np.float32)
        for score, mine, theirs in zip(self._score, images.parts, texts.parts, strict=True):
            total += score(mine, theirs)
        return total / np.float32(len(self.models))
