"""Evaluate a model on a split: encode, rank, measure, per language."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import NoWords, PolyglanceError
from polyglance.evaluation.bootstrap import Outcome
from polyglance.evaluation.codes import as_codes, concatenate, finite, shape, width
from polyglance.evaluation.metrics import fold_slices, rank_folds
from polyglance.evaluation.report import LanguageResult, Perturbed, Report, summarise
from polyglance.evaluation.same_text import merge_texts, rank_same_text
from polyglance.evaluation.similarity import Score, dot, normalise, scores
from polyglance.evaluation.strict import strict_folds
from polyglance.progress import Bar
from polyglance.sets import Codes

TEXTS_AT_A_TIME = 4096

T = TypeVar("T")
Perturb = Callable[[list[str], str], tuple[list[str], Perturbed]]
"""Texts of a language → as many others in their place, and what was changed."""


class Encoder(Protocol):
    """What an evaluation needs of a model.

    It may also have `languages`, the languages it was trained on, and `similarity`
    ("cosine", the default, or "order") or a `score(images, captions)` of its own, which takes
    tiles of what it encoded. Codes may be vectors, or anything that has `VectorSets`' methods.
    """

    def encode_text(
        self, texts: list[str], language: str | None = None, *, show_progress: bool | None = None
    ) -> Codes:
        """Vectors [n, D] or sets; `language` is None for one that the model does not know.

        A text without any word may raise `NoWords`, which is then told with file and line.
        """

    def encode_dataset(
        self, dataset: Dataset, cache: Path | None = None, show_progress: bool | None = None
    ) -> Codes:
        """Vectors [N, D] of the photographs; NaN rows for those that could not be read.

        A set of no vectors is one that could not be read.
        """


@dataclass(frozen=True, slots=True)
class Captions:
    """The captions a language is judged on. `photo` [M] numbers the split's photographs."""

    language: str
    kinds: tuple[str, ...]
    texts: list[str]
    photo: np.ndarray
    copies: int
    perturbed: Perturbed | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A language ready to be ranked: vectors or sets prepared for `score`, and what they stand for.

    `photo` [N] numbers the gallery's images by photograph, `caption_image` [M] the captions by
    row of `images`.
    """

    source: Captions
    photo: np.ndarray
    images: Codes
    captions: Codes
    caption_image: np.ndarray
    score: Score


def evaluate(
    model: Encoder,
    dataset: Dataset,
    split: str = "test",
    languages: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    folds: int = 1,
    bootstrap: int = 1000,
    seed: int = 0,
    name: str = "model",
    cache: Path | None = None,
    strict: bool = False,
    keep_copies: bool = False,
    same_text: bool = False,
    readable: np.ndarray | None = None,
    perturb: Perturb | None = None,
    on_language: Callable[[Encoded], None] | None = None,
    show_progress: bool | None = None,
) -> Report:
    """Judge `model` on every language of a split, or on those named.

    A language is judged on its independent captions where it has them, else on what there is;
    `kinds` overrides that. Its gallery is the photographs that have such captions and could be
    read. A caption that one photograph has twice counts once unless `keep_copies` (Appendix A:
    replicated captions leave the recalls as they are). With `same_text` captions of equal text
    are one caption of all their photographs, as in HGR's evaluation of video. `bootstrap`
    resamples give the intervals, 0 none. Photographs where `readable` [N] is false are left out
    as if the model could not read them, for a comparison with one that cannot. `perturb` changes
    captions before they are encoded (polyglance.evaluation.perturb). `on_language` sees what
    each language was encoded as, for exports.
    """
    if same_text and (folds > 1 or strict):
        raise PolyglanceError("equal texts as one caption: neither folds nor strict recalls")
    part = dataset.split(split)
    chosen = choose_captions(part, languages, kinds, keep_copies)
    for captions in chosen:
        fold_slices(len(np.unique(captions.photo)), folds)  # fails before the work
    if perturb is not None:
        chosen = [_perturbed(captions, perturb) for captions in chosen]
    images = as_codes(model.encode_dataset(part, cache=cache, show_progress=show_progress))
    if getattr(images, "ndim", 2) != 2 or len(images) != len(part):
        raise PolyglanceError(
            f"the model gave images of shape {shape(images)} for {len(part)} photographs"
        )
    readable = finite(images) if readable is None else finite(images) & readable
    if not readable.any():
        raise no_pictures(part, split)
    known = getattr(model, "languages", None)
    results = []
    steps = 2 * sum(len(captions.texts) for captions in chosen)
    with Bar("evaluating", steps, "steps", show_progress) as bar:
        for captions in chosen:
            knows = known is None or captions.language in known
            encoded = _encode(model, part, captions, images, readable, knows, bar)
            judge = _result_same_text if same_text else _result
            results.append(judge(encoded, folds, knows, strict, bar))
            if on_language is not None:
                on_language(encoded)
    unreadable = [
        photo.image for photo, fine in zip(part.images, readable, strict=True) if not fine
    ]
    return summarise(
        Report(
            name,
            dataset.name,
            split,
            similarity_of(model)[0],
            [photo.image for photo in part.images],
            unreadable,
            results,
            {},
            folds,
            bootstrap,
            seed,
        )
    )


def choose_captions(
    part: Dataset,
    languages: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    keep_copies: bool = False,
) -> list[Captions]:
    """The captions each language is judged on; a language asked for without any is an error."""
    chosen = []
    for language in dict.fromkeys(languages or part.languages):
        used = tuple(kinds) if kinds else (part.best_kind(language),)
        captions = _distinct(part.captions([language], used), keep_copies)
        if captions is not None:
            chosen.append(captions)
        elif languages:
            raise PolyglanceError(
                f"{part.label}: language '{language}' has no captions of kind {', '.join(used)} "
                "in this split; choose others with --kinds"
            )
    if not chosen:
        raise PolyglanceError(
            f"{part.label}: this split has no captions of {_wanted(kinds)}; choose another --split "
            "or other --kinds"
        )
    return chosen


def _perturbed(captions: Captions, perturb: Perturb) -> Captions:
    texts, changes = perturb(captions.texts, captions.language)
    return replace(captions, texts=texts, perturbed=changes)


def _wanted(kinds: Sequence[str] | None) -> str:
    return f"kind {', '.join(kinds)}" if kinds else "any language"


def _distinct(table: CaptionTable, keep_copies: bool) -> Captions | None:
    if not len(table):
        return None
    pairs = list(zip(table.image.tolist(), table.texts, strict=True))
    first = list(range(len(pairs)))
    if not keep_copies:
        first = list({pair: i for i, pair in reversed(list(enumerate(pairs)))}.values())[::-1]
    kinds = tuple(dict.fromkeys(table.kinds))
    texts = [table.texts[i] for i in first]
    return Captions(table.languages[0], kinds, texts, table.image[first], len(pairs) - len(first))


def readable_captions(captions: Captions, readable: np.ndarray) -> Captions:
    """Without those of photographs that could not be read; `readable` [N] bool."""
    kept = np.flatnonzero(readable[captions.photo])
    texts = [captions.texts[i] for i in kept]
    return replace(captions, texts=texts, photo=captions.photo[kept])


def in_batches(
    captions: Captions, part: Dataset, encode: Callable[[list[str]], T]
) -> Iterator[tuple[int, T]]:
    """(number of texts, their code), some texts at a time; one without words is told by its place.

    `part` is the split that `captions.photo` numbers the photographs of.
    """
    for start in range(0, len(captions.texts), TEXTS_AT_A_TIME):
        texts = captions.texts[start : start + TEXTS_AT_A_TIME]
        try:
            yield len(texts), encode(texts)
        except NoWords as error:
            photo = part.images[captions.photo[start + error.index]]
            name = ".".join((captions.language, *captions.kinds[: len(captions.kinds) == 1]))
            raise PolyglanceError(
                f"{part.where(photo, error.text)}: captions.{name} holds {error.text!r}, "
                "which has no words; remove it"
            ) from None


def no_pictures(part: Dataset, split: str) -> PolyglanceError:
    """The error for a split without a readable picture."""
    return PolyglanceError(
        f"{part.label}: none of the pictures of split '{split}' can be read; "
        f"put them into {part.image_folder}"
    )


def _encode(
    model: Encoder,
    part: Dataset,
    captions: Captions,
    images: Codes,
    readable: np.ndarray,
    knows: bool,
    bar: Bar,
) -> Encoded:
    """Vectors of one language, without the photographs that could not be read."""
    source = readable_captions(captions, readable)
    if not source.texts:
        raise PolyglanceError(
            f"language '{captions.language}': none of its pictures can be read; "
            "leave it out with --languages"
        )
    language = captions.language if knows else None

    def encode(texts: list[str]) -> Codes:
        return as_codes(model.encode_text(texts, language, show_progress=False))

    parts = []
    for count, code in in_batches(source, part, encode):
        parts.append(code)
        bar.advance(count, note=captions.language)
    bar.advance(2 * (len(captions.texts) - len(source.texts)))
    vectors = concatenate(parts)
    _check(vectors, images, len(source.texts), captions.language)
    photo, caption_image = np.unique(source.photo, return_inverse=True)
    _, prepare, score = similarity_of(model)
    return Encoded(source, photo, prepare(images[photo]), prepare(vectors), caption_image, score)


def _check(vectors: Codes, images: Codes, count: int, language: str) -> None:
    if len(vectors) != count or width(vectors) != width(images):
        raise PolyglanceError(
            f"the model gave captions of shape {shape(vectors)} for images of shape "
            f"{shape(images)}; both need one dimension"
        )
    if not finite(vectors).all():
        raise PolyglanceError(
            f"language '{language}': the model gave a caption a vector that is not finite; "
            "has its training diverged?"
        )


def _result(encoded: Encoded, folds: int, known: bool, strict: bool, bar: Bar) -> LanguageResult:
    images, captions, owner = encoded.images, encoded.captions, encoded.caption_image
    ranks = rank_folds(images, captions, owner, folds, encoded.score, bar.advance)
    recalls = strict_folds(images, captions, owner, folds, encoded.score) if strict else None
    source, outcome = encoded.source, Outcome(ranks, owner, encoded.photo, folds)
    found = (source.language, source.kinds, outcome, known, source.copies, recalls)
    return LanguageResult(*found, perturbed=source.perturbed)


def _result_same_text(
    encoded: Encoded, folds: int, known: bool, strict: bool, bar: Bar
) -> LanguageResult:
    images, captions, owner = encoded.images, encoded.captions, encoded.caption_image
    merged = merge_texts(encoded.source.texts)
    ranks = rank_same_text(images, captions, owner, merged, encoded.score)
    bar.advance(len(captions))
    source, outcome = encoded.source, Outcome(ranks, owner[merged.row], encoded.photo)
    found = (source.language, source.kinds, outcome, known, source.copies)
    return LanguageResult(*found, perturbed=source.perturbed)


def similarity_of(model: Any) -> tuple[str, Callable[[Codes], Codes], Score]:
    """Name, preparation of the codes, and score of a model."""
    name = getattr(model, "similarity", None)
    own = getattr(model, "score", None)
    if callable(own) and name not in scores.list():
        return str(name or "own"), as_codes, own
    if name in (None, "cosine"):
        return "cosine", normalise, dot
    return str(name), as_codes, scores.get(str(name))
