"""Ensembles: the average of several models' scores (VSE∞'s region + grid)."""

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


class MemberEmbeddings:
    """Embeddings of the same images or texts by several models."""

    def __init__(self, parts: Sequence[Embeddings]) -> None:
        if len({len(part) for part in parts}) != 1:
            raise PolyglanceError(
                "the models returned different numbers of vectors for the same data"
            )
        self.parts = list(parts)

    @staticmethod
    def concatenate(bundles: Sequence["MemberEmbeddings"]) -> "MemberEmbeddings":
        """The rows of all bundles, in order."""
        by_model = zip(*(bundle.parts for bundle in bundles), strict=True)
        return MemberEmbeddings([concatenate(parts) for parts in by_model])

    @property
    def dim(self) -> object:
        """What images and texts must have in common."""
        return [dim_of(part) for part in self.parts]

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, rows: Any) -> "MemberEmbeddings":
        return MemberEmbeddings([part[rows] for part in self.parts])

    def finite(self) -> np.ndarray:
        """[n] bool: which rows are finite for all models."""
        return np.logical_and.reduce([finite(part) for part in self.parts])


class Ensemble:
    """An `Encoder` whose score is the mean of its members' scores.

    Members may differ in features, similarity and languages. Images that one of them cannot read
    are omitted. A language is not passed to members that do not know it; the ensemble knows the
    languages that any member knows. Order violations and cross-attention scores are not on the
    cosine's scale, so members with wider scores have more weight.

    `evaluate(Ensemble([first, second]), dataset)` evaluates the ensemble.
    """

    def __init__(self, models: Sequence[Encoder]) -> None:
        if not models:
            raise PolyglanceError("an ensemble needs at least one model")
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
        """Whether the members have different similarities, so perhaps different scales."""
        return len(set(self.similarities)) > 1

    def encode_text(
        self, texts: list[str], language: str | None = None, *, show_progress: bool | None = None
    ) -> MemberEmbeddings:
        """`Encoder.encode_text` of each member."""
        parts = []
        for model, known, prepare in zip(self.models, self._known, self._prepare, strict=True):
            own = language if known is None or language in known else None
            found = encode_quietly(model, texts, own, show_progress)
            parts.append(prepare(as_embeddings(found)))
        return MemberEmbeddings(parts)

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> MemberEmbeddings:
        """`Encoder.encode_dataset` of each member."""
        parts = []
        for model, prepare in zip(self.models, self._prepare, strict=True):
            found = model.encode_dataset(dataset, cache=cache, show_progress=show_progress)
            parts.append(prepare(as_embeddings(found)))
        return MemberEmbeddings(parts)

    def similarity(self, images: MemberEmbeddings, texts: MemberEmbeddings) -> np.ndarray:
        """Mean of the members' scores, [n, m]."""
        total = np.zeros((len(images), len(texts)), np.float32)
        for score, mine, theirs in zip(self._score, images.parts, texts.parts, strict=True):
            total += score(mine, theirs)
        return total / np.float32(len(self.models))
