"""Computes the background of an exported model from a dataset's captioned images."""

import warnings
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.runtime.background import Background, calibrate
from polyglance.runtime.fit_probability import Words
from polyglance.runtime.model import ExportedModel
from polyglance.text.lexicon import Lexicon

CAPTIONS = 6000
"""Largest number of captions; more do not change the threshold."""
SEED = 0


def background_of(
    model: ExportedModel,
    dataset: Dataset,
    cache: Path | None = None,
    show_progress: bool | None = None,
    lexicon: Lexicon | None = None,
) -> Background:
    """Images and sentences of a dataset that a model was not trained on, and a threshold.

    Captions are encoded like queries: without a language, if the model does not need one.

    Args:
        model: encodes both.
        dataset: such as `load_dataset(DATA).split("val")`.
        cache: folder for features; None is the XDG cache.
        show_progress: None shows progress in a terminal only.
        lexicon: translates single words into languages without captions, so that the model is
            taken to know its words in these, too.
    """
    languages = [code for code in dataset.languages if code in model.languages]
    if not languages:
        known = ", ".join(model.languages)
        raise PolyglanceError(f"{dataset.name}: has no captions in the model's languages ({known})")
    table = dataset.captions(languages)
    rows = np.random.default_rng(SEED).permutation(len(table))[:CAPTIONS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)  # about words and unreadable images
        images = model.encode_dataset(dataset, cache, show_progress)
        texts = _encode(model, [table.texts[i] for i in rows], [table.languages[i] for i in rows])
        words = _words(model, table, len(dataset.images), lexicon)
    return calibrate(images, texts, table.image[rows], model.similarity_name, SEED, words)


def _words(
    model: ExportedModel, table: CaptionTable, images: int, lexicon: Lexicon | None
) -> Words | None:
    """Embeddings of single words of the captions, and of texts whose words are in no caption.

    None if the model needs to know the language: words outside all captions have none.
    """
    if "" not in model.towers:
        return None
    vocabulary = list(model.embedder.common_words(model.languages))
    from polyglance.runtime.calibration_words import calibration_words  # slow to import

    found = calibration_words(table, images, vocabulary, SEED, lexicon)
    vectors, unknown, nonsense, translated = (
        model.encode_text(texts, show_progress=False)
        for texts in (
            found.words,
            _readable(model, found.unknown),
            _readable(model, found.nonsense),
            _readable(model, found.translated),
        )
    )
    return Words(vectors, found.has, found.shares, unknown, nonsense, translated)


def _readable(model: ExportedModel, texts: list[str]) -> list[str]:
    """Texts with at least one known word: others are rejected before any comparison."""
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
