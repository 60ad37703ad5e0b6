"""Evaluates a model on a split: encode, rank and measure, per language."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.core.progress import Bar
from polyglance.data.dataset import Dataset
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.evaluation.captions import (
    EvaluatedCaptions,
    choose_captions,
    in_batches,
    no_images,
    readable_captions,
)
from polyglance.evaluation.encoder import (
    Encoder,
    as_embeddings,
    concatenate,
    dim_of,
    encode_quietly,
    finite,
    shape,
    similarity_of,
)
from polyglance.evaluation.options import EvaluateOptions
from polyglance.evaluation.ranking.metrics import Outcome, fold_slices, rank_folds
from polyglance.evaluation.ranking.on_device import score_on_device
from polyglance.evaluation.ranking.same_text import merge_texts, rank_same_text
from polyglance.evaluation.ranking.strict import strict_folds
from polyglance.evaluation.reports.report import LanguageResult, Report, summarise
from polyglance.numerics.sets import Embeddings
from polyglance.numerics.similarity import Score


@dataclass(frozen=True, slots=True)
class EncodedLanguage:
    """A language ready for ranking: embeddings prepared for `score`, and their images.

    `gallery` [N] is the index in the split of each of `images`, `caption_image` [M] the row in
    `images` of each caption's image. `known` is whether the model was trained on the language.
    """

    source: EvaluatedCaptions
    gallery: np.ndarray
    images: Embeddings
    captions: Embeddings
    caption_image: np.ndarray
    score: Score
    known: bool


def evaluate(
    model: Encoder,
    dataset: Dataset,
    split: str = "test",
    options: EvaluateOptions | None = None,
    *,
    name: str = "model",
    cache: Path | None = None,
    readable: np.ndarray | None = None,
    on_language: Callable[[EncodedLanguage], None] | None = None,
    show_progress: bool | None = None,
    **fields: Any,
) -> Report:
    """Evaluate a model on every language of a split, or on those named.

    A language's gallery is the set of readable images with captions in it.

    >>> from polyglance.data import CaptionedImage, Dataset
    >>> class Colours:
    ...     def encode_text(self, texts, language=None, **_):
    ...         return np.array([[text == "red", text == "blue"] for text in texts], float)
    ...     def encode_dataset(self, dataset, **_):
    ...         return np.eye(len(dataset))
    >>> images = [
    ...     CaptionedImage(f"{colour}.png", "test", {"en": {"independent": [colour]}})
    ...     for colour in ("red", "blue")
    ... ]
    >>> report = evaluate(Colours(), Dataset(images, Path("images"), "colours"), bootstrap=0)
    >>> report["en"].metrics.text_to_image.r1
    100.0

    Args:
        model: a `Model`, or any `Encoder`.
        dataset: images with captions.
        split: name of the split.
        options: options of the evaluation.
        name: name of the model in the report.
        cache: folder for features; the XDG cache by default.
        readable: [N] bool, the images of the split to evaluate on; the others are treated as
            unreadable, for a comparison with a model that cannot read them.
        on_language: called with the encodings of each language, for exports.
        show_progress: None shows progress on a terminal only.
        **fields: fields of `EvaluateOptions`, which override those of `options`:
            `evaluate(model, dataset, folds=5)`.
    """
    options = replace(options or EvaluateOptions(), **fields)
    part = dataset.split(split)
    chosen = _choose(dataset, part, options)
    encoder, notes = _translated(model, dataset, split, options, cache, show_progress)
    images = _encode_images(encoder, part, cache, show_progress)
    readable = finite(images) if readable is None else finite(images) & readable
    if not readable.any():
        raise no_images(part, split)
    results = []
    steps = 2 * sum(len(captions.texts) for captions in chosen)
    with Bar("evaluating", steps, "steps", show_progress) as bar:
        for captions in chosen:
            encoded = _encode(encoder, part, captions, images, readable, bar)
            results.append(_rank(encoded, options, bar))
            if on_language is not None:
                on_language(encoded)
    names = [entry.image for entry in part.images]
    return summarise(
        Report(
            model=name,
            dataset=dataset.name,
            split=split,
            similarity=similarity_of(encoder).name,
            images=names,
            unreadable=[image for image, ok in zip(names, readable, strict=True) if not ok],
            results=results,
            averages={},
            folds=options.folds,
            rounds=options.bootstrap,
            seed=options.seed,
            notes=notes,
        )
    )


def _choose(dataset: Dataset, part: Dataset, options: EvaluateOptions) -> list[EvaluatedCaptions]:
    chosen = choose_captions(part, options.languages, options.kinds, options.keep_duplicates)
    for captions in chosen:
        fold_slices(len(np.unique(captions.image)), options.folds)  # fails early if impossible
    change = options.perturber(dataset)
    return chosen if change is None else [captions.perturb(change) for captions in chosen]


def _translated(
    model: Encoder,
    dataset: Dataset,
    split: str,
    options: EvaluateOptions,
    cache: Path | None,
    show_progress: bool | None,
) -> tuple[Encoder, list[str]]:
    """The model, with translation of queries if the options say so, and notes for the user."""
    translation = options.translation and options.translation.resolve(model)
    if not translation:
        return model, []
    if options.perturb is not None:
        raise ArgumentError(
            "`perturb` cannot be combined with translated queries: remove `translation`"
        )
    used = options.languages, options.kinds
    return translation.apply(model, dataset, split, *used, cache, show_progress)


def _encode_images(
    model: Encoder, part: Dataset, cache: Path | None, show_progress: bool | None
) -> Embeddings:
    found = as_embeddings(model.encode_dataset(part, cache=cache, show_progress=show_progress))
    if getattr(found, "ndim", 2) != 2 or len(found) != len(part):
        raise PolyglanceError(
            f"the model returned embeddings of shape {shape(found)} for {len(part)} images"
        )
    return found


def _encode(
    model: Encoder,
    part: Dataset,
    captions: EvaluatedCaptions,
    images: Embeddings,
    readable: np.ndarray,
    bar: Bar,
) -> EncodedLanguage:
    """Embeddings of one language, without unreadable images."""
    source = readable_captions(captions, readable)
    if not source.texts:
        raise ArgumentError(
            f"language '{captions.language}': none of its images can be read; "
            "exclude it with `languages`"
        )
    languages = getattr(model, "languages", None)
    known = languages is None or captions.language in languages

    def encode(texts: list[str]) -> Embeddings:
        language = captions.language if known else None
        return as_embeddings(encode_quietly(model, texts, language))

    parts = []
    for count, found in in_batches(source, part, encode):
        parts.append(found)
        bar.advance(count, note=captions.language)
    bar.advance(2 * (len(captions.texts) - len(source.texts)))
    texts = concatenate(parts)
    _check(texts, images, len(source.texts), captions.language)
    gallery, owner = np.unique(source.image, return_inverse=True)
    _, prepare, score = similarity_of(model)
    embeddings = prepare(images[gallery]), prepare(texts)
    score = score_on_device(model, score)
    return EncodedLanguage(source, gallery, *embeddings, owner, score, known)


def _check(texts: Embeddings, images: Embeddings, count: int, language: str) -> None:
    if len(texts) != count or dim_of(texts) != dim_of(images):
        raise PolyglanceError(
            f"the model returned captions of shape {shape(texts)} and images of shape "
            f"{shape(images)}; their dimensions must be equal"
        )
    if not finite(texts).all():
        raise PolyglanceError(
            f"language '{language}': the model returned a vector that is not finite; "
            "has its training diverged?"
        )


def _rank(encoded: EncodedLanguage, options: EvaluateOptions, bar: Bar) -> LanguageResult:
    images, captions, owner = encoded.images, encoded.captions, encoded.caption_image
    score, folds, strict = encoded.score, options.folds, None
    if options.same_text:
        merged = merge_texts(encoded.source.texts)
        ranks = rank_same_text(images, captions, owner, merged, score)
        owner = owner[merged.row]
        bar.advance(len(captions))
    else:
        ranks = rank_folds(images, captions, owner, folds, score, bar.advance)
        strict = strict_folds(images, captions, owner, folds, score) if options.strict else None
    source = encoded.source
    return LanguageResult(
        source.language,
        source.kinds,
        Outcome(ranks, owner, encoded.gallery, folds),
        encoded.known,
        source.duplicates,
        strict,
        perturbed=source.perturbed,
    )
