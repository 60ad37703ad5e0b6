"""Validation during training: the evaluation protocol on texts tokenized once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation import Report, evaluate
from polyglance.evaluation.captions import (
    choose_captions,
    in_batches,
    no_images,
    readable_captions,
)
from polyglance.evaluation.protocol import EncodedLanguage
from polyglance.models import Model
from polyglance.numerics.sets import Embeddings
from polyglance.recipes.schema import DataRecipe
from polyglance.text.embedders import EncodedTexts
from polyglance.training.distributed import SINGLE, World
from polyglance.training.distributed.encode import encode_images, encode_tokens, similarity

TEMPERATURES = tuple(0.0125 * 2 ** (step / 2) for step in range(13))
"""Tried for the log-likelihood, so that it measures the order of scores, not their scale."""
MOST_IMAGES = 1000
"""Most images that the log-likelihood is computed on."""


class Validation:
    """A model for the evaluation protocol that keeps ids and features between evaluations."""

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        split: str,
        cache: Path | None,
        languages: Sequence[str] | None = None,
        world: World = SINGLE,
    ) -> None:
        """A model and what it is evaluated on.

        Args:
            model: in its current state at each evaluation.
            dataset: images with captions.
            split: to evaluate on.
            cache: folder for features.
            languages: to evaluate; None is all of the model.
            world: the processes that share the encoding.
        """
        self.world = world
        dataset = first_images(dataset, split, model.recipe.data.validation_images)
        self.model, self.dataset, self.split = model, dataset, split
        self.similarity_name, self.languages = model.similarity_name, model.languages
        part = dataset.split(split)
        present = set(part.languages)
        self.evaluated = [code for code in languages or model.languages if code in present]
        self.kinds = validation_kinds(model.recipe.data, part, self.evaluated)
        self._features = model.read_dataset(part, cache)
        model.check_features(self._features)
        self._tokens: dict[tuple[str | None, tuple[str, ...]], EncodedTexts] = {}
        transfer = model.recipe.transfer
        self.breaks_ties = transfer is not None and transfer.tune
        """Whether log-likelihoods decide between weights with the same rsum.

        Fine-tuning often has few images to evaluate on: recalls among them are coarse, and may be
        100 % before training.
        """
        self._prepare()

    def _prepare(self) -> None:
        """Raise now what would stop an evaluation later; compute the word ids."""
        part, readable = self.dataset.split(self.split), self._features.available
        if not readable.any():
            raise no_images(part, self.split)
        evaluated = []
        for captions in choose_captions(part, self.evaluated, self.kinds) if self.evaluated else ():
            seen = readable_captions(captions, readable)
            for _ in in_batches(seen, part, partial(self._ids, language=seen.language)):
                pass
            evaluated += [seen.language] if seen.texts else []
        self.evaluated = evaluated

    def report(self) -> Report:
        """Recalls of the current model, in the languages it is trained on."""
        return self.assess()[0]

    def assess(self) -> tuple[Report, dict[str, float]]:
        """Recalls of the current model, and log-likelihoods by language if they break ties."""
        likelihoods: dict[str, float] = {}

        def measure(encoded: EncodedLanguage) -> None:
            captions = np.flatnonzero(encoded.caption_image < MOST_IMAGES)
            found = encoded.score(encoded.images[:MOST_IMAGES], encoded.captions[captions])
            own = encoded.caption_image[captions]
            likelihoods[encoded.source.language] = log_likelihood(found, own)

        found = evaluate(
            self,
            self.dataset,
            self.split,
            languages=self.evaluated,
            kinds=self.kinds,
            bootstrap=0,
            show_progress=False,
            on_language=measure if self.breaks_ties else None,
        )
        return self.world.broadcast((found, likelihoods))

    def encode_text(
        self,
        texts: Sequence[str],
        language: str | None = None,
        *,
        show_progress: bool | None = None,
    ) -> Embeddings:
        ids = self._ids(texts, language)
        return encode_tokens(self.world, self.model, ids, language)

    def _ids(self, texts: Sequence[str], language: str | None) -> EncodedTexts:
        key = (language, tuple(texts))
        if key not in self._tokens:
            self._tokens[key] = self.model.tokens(texts, language)
        return self._tokens[key]

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Embeddings:
        return encode_images(self.world, self.model, self._features)

    def similarity(self, images: Embeddings, texts: Embeddings) -> np.ndarray:
        return similarity(self.world, self.model, images, texts)


def log_likelihood(scores: np.ndarray, caption_image: np.ndarray) -> float:
    """Mean log-probability of the matches, in both directions.

    It is that of a caption's image among all images, and of each of an image's captions among the
    captions of other images, by a softmax of the scores with the best of several temperatures.
    Unlike recalls, it still increases when all matches rank first.

    >>> log_likelihood(np.array([[0.3, 0.2], [0.3, 0.4]]), np.array([0, 1])).__round__(3)
    -0.173

    Args:
        scores: [N, M], of N images and M captions.
        caption_image: [M], the row of each caption's image.
    """
    return max(_log_likelihood(scores / value, caption_image) for value in TEMPERATURES)


def _log_likelihood(scores: np.ndarray, caption_image: np.ndarray) -> float:
    scores, columns = scores.astype(np.float64), np.arange(scores.shape[1])
    own = scores[caption_image, columns]
    images = _logsumexp(scores, 0)
    matches = caption_image[None, :] == np.arange(len(scores))[:, None]
    others = _logsumexp(np.where(matches, -np.inf, scores), 1)[caption_image]
    return float(np.mean((own - images) + (own - np.logaddexp(own, others))) / 2)


def _logsumexp(values: np.ndarray, axis: int) -> np.ndarray:
    """Logarithm of the sum of exponentials along an axis; minus infinity if all values are."""
    most = np.maximum(values.max(axis, keepdims=True), np.finfo(np.float64).min)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - most).sum(axis)) + most.squeeze(axis)


def first_images(dataset: Dataset, split: str, count: int | None) -> Dataset:
    """A dataset with only the first images of a split, like COCO's in VSE++ and VSE∞'s code.

    Args:
        dataset: images with captions.
        split: to shorten.
        count: number of images kept; None is all.
    """
    if count is None:
        return dataset
    part = [entry for entry in dataset.images if entry.split == split][:count]
    others = [entry for entry in dataset.images if entry.split != split]
    return replace(dataset, images=[*part, *others])


def validation_kinds(
    recipe: DataRecipe, part: Dataset, languages: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The kinds of captions that early stopping uses in each language.

    Kádár et al.'s code validates on the captions it trains on: translations for `en1` and `de1`.

    Args:
        recipe: of the data; its `validation_kinds`, else `kinds`.
        part: the validation split.
        languages: to evaluate; one without an entry uses its best kind.
    """
    if recipe.validation_kinds == "best":
        return {}
    explicit = recipe.validation_kinds is not None
    wanted = _by_language(recipe.validation_kinds or recipe.kinds or {}, languages)
    present = {code: own for code, own in wanted.items() if len(part.captions([code], own))}
    # Machine translations made for training are in no other split: use the best kind then.
    if explicit and (missing := [code for code in wanted if code not in present]):
        raise PolyglanceError(
            f"data.validation_kinds: {part.label}, split '{recipe.validation_split}', has no "
            f"captions of kind {', '.join(wanted[missing[0]])} in '{missing[0]}'"
        )
    return present


def _by_language(
    kinds: Sequence[str] | Mapping[str, Sequence[str]], languages: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    if isinstance(kinds, Mapping):
        return {code: tuple(kinds[code]) for code in languages if kinds.get(code)}
    return {code: tuple(kinds) for code in languages if kinds}
