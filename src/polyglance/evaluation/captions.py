"""The captions that each language is evaluated on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import ArgumentError, NoWords, PolyglanceError
from polyglance.evaluation.reports.report import Perturbed

TEXTS_AT_A_TIME = 4096

T = TypeVar("T")
Kinds = Sequence[str] | Mapping[str, Sequence[str]]
"""Kinds of captions, for all languages or by language."""
Perturb = Callable[[list[str], str], tuple[list[str], Perturbed]]
"""Texts of a language → the changed texts, and statistics of the changes."""


@dataclass(frozen=True, slots=True)
class EvaluatedCaptions:
    """The captions a language is evaluated on.

    `image` [M] is the index of each caption's image in the split; `duplicates` is the number of
    duplicates removed.
    """

    language: str
    kinds: tuple[str, ...]
    texts: list[str]
    image: np.ndarray
    duplicates: int
    perturbed: Perturbed | None = None

    def perturb(self, change: Perturb) -> "EvaluatedCaptions":
        """The captions after a perturbation."""
        texts, changes = change(self.texts, self.language)
        return replace(self, texts=texts, perturbed=changes)


def choose_captions(
    part: Dataset,
    languages: Sequence[str] | None = None,
    kinds: Kinds | None = None,
    keep_duplicates: bool = False,
) -> list[EvaluatedCaptions]:
    """Select the captions each language is evaluated on.

    Args:
        part: a split.
        languages: to evaluate, all by default; an error if one has no captions.
        kinds: to use; by default, and for languages missing in a mapping, the best available kind.
        keep_duplicates: whether a caption that an image has twice counts twice.
    """
    chosen = []
    for language in dict.fromkeys(languages or part.languages):
        wanted = kinds.get(language) if isinstance(kinds, Mapping) else kinds
        used = tuple(wanted) if wanted else (part.best_kind(language),)
        captions = _distinct(part.captions([language], used), keep_duplicates)
        if captions is not None:
            chosen.append(captions)
        elif languages:
            raise ArgumentError(
                f"{part.label}: language '{language}' has no captions of kind {', '.join(used)} "
                "in this split; choose others with `kinds`"
            )
    if not chosen:
        named = not isinstance(kinds, Mapping) and kinds
        wanted = f"kind {', '.join(named)}" if named else "any language"
        raise ArgumentError(
            f"{part.label}: this split has no captions of {wanted}; choose another `split` "
            "or other `kinds`"
        )
    return chosen


def _distinct(table: CaptionTable, keep_duplicates: bool) -> EvaluatedCaptions | None:
    if not len(table):
        return None
    pairs = list(zip(table.image.tolist(), table.texts, strict=True))
    first = list(range(len(pairs)))
    if not keep_duplicates:
        first = list({pair: i for i, pair in reversed(list(enumerate(pairs)))}.values())[::-1]
    kinds = tuple(dict.fromkeys(table.kinds))
    texts = [table.texts[i] for i in first]
    left_out = len(pairs) - len(first)
    return EvaluatedCaptions(table.languages[0], kinds, texts, table.image[first], left_out)


def readable_captions(captions: EvaluatedCaptions, readable: np.ndarray) -> EvaluatedCaptions:
    """Remove the captions of unreadable images; `readable` [N] bool."""
    kept = np.flatnonzero(readable[captions.image])
    texts = [captions.texts[i] for i in kept]
    return replace(captions, texts=texts, image=captions.image[kept])


def in_batches(
    captions: EvaluatedCaptions, part: Dataset, encode: Callable[[list[str]], T]
) -> Iterator[tuple[int, T]]:
    """Yield (number of texts, result of `encode`) per batch.

    Args:
        captions: of one language.
        part: the split that `captions.image` indexes, to locate texts without words.
        encode: texts → anything.
    """
    for start in range(0, len(captions.texts), TEXTS_AT_A_TIME):
        texts = captions.texts[start : start + TEXTS_AT_A_TIME]
        try:
            yield len(texts), encode(texts)
        except NoWords as error:
            image = part.images[captions.image[start + error.index]]
            name = ".".join((captions.language, *captions.kinds[: len(captions.kinds) == 1]))
            raise PolyglanceError(
                f"{part.where(image, error.text)}: captions.{name} has {error.text!r}, "
                "which contains no words; remove it"
            ) from None


def no_images(part: Dataset, split: str) -> PolyglanceError:
    """The error for a split without a readable image."""
    return PolyglanceError(
        f"{part.label}: none of the images of split '{split}' can be read; "
        f"they should be in {part.image_folder}"
    )
