"""Fixed vectors of other languages in front of a trained encoder: T1, T2 (Liu et al. 2019, §3)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from polyglance.alignment import (
    Alignment,
    AlignmentOptions,
    align,
    best_rows,
    named_pairs,
    paired_rows,
)
from polyglance.data.dataset import Dataset
from polyglance.models import Model
from polyglance.recipes.schema import Recipe, TransferRecipe
from polyglance.text.dictionaries import Pairs
from polyglance.text.embedders import TrainingTexts, VectorsEmbedder
from polyglance.text.embedders.fixed.build import LanguageWords, VectorSource
from polyglance.text.embedders.fixed.embedder import distinct
from polyglance.text.embedders.fixed.layer import TranslatedWords
from polyglance.text.vectors.word_vectors import WordVectors
from polyglance.transfer.source import copy_weights, pivot_of

NEIGHBOURS = 50_000
"""Frequent words considered as neighbours by RCSLS."""


def translate_model(
    recipe: Recipe, source: Model, languages: Sequence[str], texts: TrainingTexts
) -> Model:
    """The source's encoder with the fixed vectors of new languages, translated.

    Args:
        recipe: with a transfer section and an embedder of fixed vectors.
        source: a model with fixed vectors.
        languages: the new languages.
        texts: captions in them, and the dataset for making vectors and dictionaries.
    """
    transfer, old = recipe.transfer, source.embedder
    assert transfer is not None
    assert isinstance(old, VectorsEmbedder)
    vectors = VectorSource.of(recipe.text, texts.dataset, texts.cache)
    captions = texts.by_language()
    translated = transfer.translator != "none"
    new = {
        code: vectors.words(code, distinct(captions.get(code, ())), translated)
        for code in languages
    }
    kept = old.languages if transfer.keep else {}
    embedder = VectorsEmbedder(recipe, {**kept, **new})
    model = Model(recipe, embedder, source.feature_dim, list(embedder.languages))
    copy_weights(source, model)
    if transfer.translator == "aligned":
        pivot = pivot_of(transfer, source)
        known = old.languages[pivot]
        for code, part in new.items():
            matrix = aligned_matrix(transfer, code, part, pivot, known, texts.dataset)
            layer = model.network.text.of(code).words
            assert isinstance(layer, TranslatedWords)
            layer.initialise(code, matrix, recipe.compat.translator_bias)
    return model


def aligned_matrix(
    transfer: TransferRecipe,
    language: str,
    new: LanguageWords,
    pivot: str,
    known: LanguageWords,
    dataset: Dataset | None,
) -> torch.Tensor:
    """The map [D, D] from a new language's vectors to the pivot's.

    Args:
        transfer: the dictionary and the kind of alignment.
        language: the new language.
        new: its words.
        pivot: the source's language.
        known: its words.
        dataset: for making a dictionary, if necessary.
    """
    both = WordVectors(new.words, new.matrix), WordVectors(known.words, known.matrix)
    lexicon = None if transfer.lexicon is None else Path(transfer.lexicon).expanduser()
    pairs = named_pairs(transfer.dictionary, language, pivot, lexicon, dataset, both)
    found = align_pairs(transfer, pairs, both, NEIGHBOURS)
    return torch.from_numpy(found.matrix.astype(np.float32))


def align_pairs(
    transfer: TransferRecipe,
    pairs: Pairs,
    both: tuple[WordVectors, WordVectors],
    neighbours: int | None = None,
) -> Alignment:
    """The alignment that a recipe specifies.

    Args:
        transfer: the kind of alignment, and the number of translations per word.
        pairs: of the dictionary, the new language's word first.
        both: vectors of the new language and the pivot.
        neighbours: frequent words considered as neighbours by RCSLS; None is all.
    """
    rows = paired_rows(pairs, *both)
    if transfer.translations is not None:
        rows = best_rows(rows, transfer.translations)
    options = AlignmentOptions(
        method=transfer.method, neighbours=neighbours, iterations=transfer.iterations
    )
    return align(*both, rows, options)[0]
