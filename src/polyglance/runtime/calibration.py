"""The background of an exported model from a dataset's captioned images."""

import warnings
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.runtime.background import Background, calibrate
from polyglance.runtime.chance_fit import Words
from polyglance.runtime.model import ExportedModel

CAPTIONS = 6000
"""Captions at most; more do not move the threshold."""


def background_of(
    model: ExportedModel,
    dataset: Dataset,
    cache: Path | None = None,
    show_progress: bool | None = None,
    seed: int = 0,
) -> Background:
    """Pictures and sentences of a dataset that a model was not trained on, and a threshold.

    Captions are read as people ask: without naming a language, if the model can do without.

    Args:
        model: encodes both.
        dataset: such as `load_dataset(DATA).split("val")`.
        cache: where features are kept; None is the XDG cache.
        show_progress: None shows progress on a terminal only.
        seed: of what is drawn.
    """
    languages = [code for code in dataset.languages if code in model.languages]
    if not languages:
        known = ", ".join(model.languages)
        raise PolyglanceError(f"{dataset.name}: has no captions in the model's languages ({known})")
    table = dataset.captions(languages)
    rows = np.random.default_rng(seed).permutation(len(table))[:CAPTIONS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)  # of words, and of unreadable pictures
        images = model.encode_dataset(dataset, cache, show_progress)
        texts = _encode(model, [table.texts[i] for i in rows], [table.languages[i] for i in rows])
        words = _words(model, table, len(dataset.images), seed)
    return calibrate(images, texts, table.image[rows], model.similarity_name, seed, words)


def _words(model: ExportedModel, table: CaptionTable, images: int, seed: int) -> Words | None:
    """Single words of the captions, and texts of words that no caption has, as embeddings.

    None where a model must be told the language: words that no caption has are of no known one.
    """
    if "" not in model.towers:
        return None
    vocabulary = list(model.embedder.common_words(model.languages))
    from polyglance.runtime.asked import asked  # its tokenizers take long to import

    found = asked(table, images, vocabulary, seed)
    vectors, unknown, strange = (
        model.encode_text(texts, show_progress=False)
        for texts in (found.words, _readable(model, found.unknown), _readable(model, found.strange))
    )
    return Words(vectors, found.has, found.shares, unknown, strange)


def _readable(model: ExportedModel, texts: list[str]) -> list[str]:
    """Texts with a word that the model knows: others are refused before they are compared."""
    read = model.embedder.read(texts, None)
    return [
        text
        for text, (words, unknown) in zip(texts, read, strict=True)
        if len(unknown) < len(words)
    ]


def _encode(model: ExportedModel, texts: list[str], languages: list[str]) -> np.ndarray:
    if "" in model.towers:
        return model.encode_text(texts, show_progress=False)
    found, codes = np.empty((len(texts), model.dim), np.float32), np.array(languages)
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        found[own] = model.encode_text([texts[i] for i in own], str(code), show_progress=False)
    return found
