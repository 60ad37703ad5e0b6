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
from polyglance.models import Model
from polyglance.numerics.sets import Embeddings
from polyglance.recipes.schema import DataRecipe
from polyglance.text.embedders import EncodedTexts
from polyglance.training.distributed import SINGLE, World
from polyglance.training.distributed.encode import encode_images, encode_tokens, similarity


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
        found = evaluate(
            self,
            self.dataset,
            self.split,
            languages=self.evaluated,
            kinds=self.kinds,
            bootstrap=0,
            show_progress=False,
        )
        return self.world.broadcast(found)

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
