"""Feeds: what every update of a run is made of, the same for the same seed from any start."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe
from polyglance.recipes.schema import JointSampling, LanguageSampling
from polyglance.registry import nearest
from polyglance.text import bucketed_batches
from polyglance.training.data import TrainingData
from polyglance.training.pairs import caption_pairs


@dataclass(frozen=True, slots=True)
class Term:
    """One loss of an update: captions [B] against their images, or against other captions [B]."""

    captions: np.ndarray
    others: np.ndarray | None = None
    weight: float = 1.0


class Loader:
    """Batches of rows of similar length; every pass is a new shuffle of its own seed."""

    def __init__(self, rows: np.ndarray, lengths: np.ndarray, recipe: Recipe, stream: int) -> None:
        self.rows, self.lengths = rows, lengths
        self.recipe, self.stream = recipe.training, stream
        self._pass = (-1, [np.empty(0, np.int64)])
        self.batches_per_pass = len(self._batches(0))
        if not self.batches_per_pass:
            raise PolyglanceError(
                f"{len(rows)} captions do not fill one batch of {recipe.training.batch_size}; "
                "lower training.batch_size or set training.drop_last=false"
            )

    def batch(self, number: int, index: int) -> np.ndarray:
        """Rows of batch `index` of pass `number`: [B], or [B, 2] where rows are pairs."""
        if self._pass[0] != number:
            self._pass = (number, self._batches(number))
        return self.rows[self._pass[1][index]]

    def _batches(self, number: int) -> list[np.ndarray]:
        recipe = self.recipe
        stream = [self.stream] if self.stream else []
        generator = np.random.default_rng([recipe.seed, number, *stream])
        size, buckets = recipe.batch_size, recipe.buckets
        return bucketed_batches(self.lengths, size, generator, buckets, recipe.drop_last)


class Feed(ABC):
    """An endless sequence of updates. An epoch is as many as all c2i captions fill."""

    updates_per_epoch: int

    @abstractmethod
    def steps(self, start: int) -> Iterator[Any]:
        """Updates from number `start` on, each as its `Step` takes it: here terms of a loss."""


def build_feed(recipe: Recipe, data: TrainingData) -> Feed:
    """The feed of a recipe's sampling section."""
    sampling = recipe.sampling
    if isinstance(sampling, LanguageSampling):
        _check_grounded(sampling.grounded, sampling.c2c, "sampling.c2c", data)
        return LanguageFeed(recipe, sampling, data)
    if isinstance(sampling, JointSampling):
        _check_grounded(sampling.grounded, sampling.c2c_weight, "sampling.c2c_weight", data)
        return JointFeed(recipe, sampling, data)
    return UnionFeed(recipe, data)


class UnionFeed(Feed):
    """All captions of all languages, shuffled together."""

    def __init__(self, recipe: Recipe, data: TrainingData) -> None:
        rows = np.arange(data.grounded)
        self.loader = Loader(rows, data.tokens.lengths[rows], recipe, 0)
        self.updates_per_epoch = self.loader.batches_per_pass

    def steps(self, start: int) -> Iterator[list[Term]]:
        for update in count(start):
            yield [Term(self.loader.batch(*divmod(update, self.updates_per_epoch)))]


class LanguageFeed(Feed):
    """Kádár et al. 2018, Figure 2: draw a task; for c2i draw a language, each with its loader."""

    def __init__(self, recipe: Recipe, sampling: LanguageSampling, data: TrainingData) -> None:
        self.recipe, self.c2c = recipe, sampling.c2c
        lengths, languages = data.tokens.lengths, np.array(data.languages)
        ranked = grounded_rows(sampling.grounded, data)
        codes = sorted(set(languages[: data.grounded][ranked].tolist()))
        parts = [np.flatnonzero(languages[: data.grounded] == code) for code in codes]
        self.loaders = [
            Loader(rows, lengths[rows], recipe, 1 + index) for index, rows in enumerate(parts)
        ]
        self.updates_per_epoch = sum(loader.batches_per_pass for loader in self.loaders)
        self.pairs: list[Loader] = []
        if self.c2c:
            self.pairs = _pair_loaders(recipe, sampling.grounded, data)

    def steps(self, start: int) -> Iterator[list[Term]]:
        generator = np.random.default_rng([self.recipe.training.seed, 202])
        loaders = [*self.loaders, *self.pairs]
        passes, places = [0] * len(loaders), [0] * len(loaders)
        for update in count():
            chosen = int(generator.integers(len(self.loaders)))
            if generator.random() < self.c2c:
                chosen = len(self.loaders) + int(generator.integers(len(self.pairs)))
            if update >= start:
                rows = loaders[chosen].batch(passes[chosen], places[chosen])
                yield [Term(rows) if rows.ndim == 1 else Term(rows[:, 0], rows[:, 1])]
            places[chosen] += 1
            if places[chosen] == loaders[chosen].batches_per_pass:
                again = range(len(self.loaders)) if self._restarts_all(chosen) else [chosen]
                for index in again:
                    passes[index], places[index] = passes[index] + 1, 0

    def _restarts_all(self, chosen: int) -> bool:
        return self.recipe.compat.reshuffle_all and chosen < len(self.loaders)


class JointFeed(Feed):
    """Gella et al. 2017: a batch of photographs, one random caption in each language.

    Losses of all grounded languages against the images are summed (Pivot); `c2c_weight` weighs
    those of all pairs of languages that have a grounded one (Parallel).
    """

    def __init__(self, recipe: Recipe, sampling: JointSampling, data: TrainingData) -> None:
        self.seed, self.sampling = recipe.training.seed, sampling
        languages = np.array(data.languages[: data.grounded])
        self.codes = sorted(set(languages.tolist()))
        photo = data.photo[: data.grounded]
        by_language = {code: np.flatnonzero(languages == code) for code in self.codes}
        photos = np.unique(photo)
        for rows in by_language.values():
            photos = np.intersect1d(photos, photo[rows])
        if not len(photos):
            raise PolyglanceError(
                f"sampling.kind=joint: no image has captions in {', '.join(self.codes)}"
            )
        # Sorted by photograph, so that a photograph's captions are one run of rows.
        self.rows = {c: r[np.argsort(photo[r], kind="stable")] for c, r in by_language.items()}
        self.first = {c: np.searchsorted(photo[r], photos) for c, r in self.rows.items()}
        self.count = {
            c: np.searchsorted(photo[r], photos, side="right") - self.first[c]
            for c, r in self.rows.items()
        }
        self.loader = Loader(np.arange(len(photos)), np.zeros(len(photos)), recipe, 303)
        self.updates_per_epoch = self.loader.batches_per_pass

    def steps(self, start: int) -> Iterator[list[Term]]:
        for update in count(start):
            photos = self.loader.batch(*divmod(update, self.updates_per_epoch))
            generator = np.random.default_rng([self.seed, update, 404])
            chosen = {}
            for code in self.codes:
                place = generator.integers(self.count[code][photos])
                chosen[code] = self.rows[code][self.first[code][photos] + place]
            terms = [Term(rows) for code, rows in chosen.items() if self._grounded(code)]
            if weight := self.sampling.c2c_weight:
                pairs = combinations(self.codes, 2)
                terms += [
                    Term(chosen[a], chosen[b], weight)
                    for a, b in pairs
                    if self._grounded(a) or self._grounded(b)
                ]
            yield terms

    def _grounded(self, code: str) -> bool:
        grounded = self.sampling.grounded
        return grounded is None or code in grounded


def grounded_rows(grounded: Sequence[str] | None, data: TrainingData) -> np.ndarray:
    """Which captions of images are ranked against them: [data.grounded] bool.

    `grounded` are the languages of which they are, all by default.
    """
    if grounded is None:
        return np.ones(data.grounded, bool)
    return np.isin(np.array(data.languages[: data.grounded]), list(grounded))


def _check_grounded(
    grounded: Sequence[str] | None, c2c: float, name: str, data: TrainingData
) -> None:
    """Languages that are there, and others only where captions are ranked against captions."""
    if grounded is None:
        return
    codes = sorted(set(data.languages))
    for code in grounded:
        if code not in codes:
            raise PolyglanceError(
                f"sampling.grounded: '{code}' is not a language trained on{nearest(code, codes)}"
            )
    rest = [code for code in codes if code not in grounded]
    if rest and not c2c:
        raise PolyglanceError(
            f"sampling.grounded leaves out {', '.join(rest)}, which would not be trained at all: "
            f"set {name} above 0, or data.languages"
        )


def _pair_loaders(
    recipe: Recipe, grounded: Sequence[str] | None, data: TrainingData
) -> list[Loader]:
    """Loaders of caption pairs: one over all, or one a pair of languages for separate towers."""
    pairs, codes = caption_pairs(data.photo, data.languages), np.array(data.languages)
    if grounded is not None:
        pairs = pairs[np.isin(codes, list(grounded))[pairs].any(1)]
    if not len(pairs):
        raise PolyglanceError(
            "sampling.c2c: no image has captions in two of the languages trained on"
        )
    groups = [np.ones(len(pairs), bool)]
    if recipe.text.towers == "per-language":
        named = np.char.add(np.char.add(codes[pairs[:, 0]], " "), codes[pairs[:, 1]])
        groups = [named == name for name in sorted(set(named.tolist()))]
    lengths = data.tokens.lengths
    return [
        Loader(pairs[group], lengths[pairs[group]].max(1), recipe, 500 + index)
        for index, group in enumerate(groups)
    ]
