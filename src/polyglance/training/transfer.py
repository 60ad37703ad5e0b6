"""Models that start from a trained one: the Translator's T1 and T2 (spec §6.2), and languages
added to a model of any kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import Recipe
from polyglance.recipes.schema import TransferRecipe, VectorsEmbedderRecipe
from polyglance.text.translated_words import TranslatedWords
from polyglance.text.vector_words import LanguageWords, VectorReader
from polyglance.text.vectors import WordVectors
from polyglance.training.adding import add_language
from polyglance.training.source import check_alike, copy_weights, pivot_of
from polyglance.training.vectors import language_words
from polyglance.transfer import align, best_rows, named_pairs, paired_rows

NEIGHBOURS = 50_000

Captions = Mapping[str, Sequence[Sequence[str]]]
"""Words of the training captions by language."""


def begin_model(
    recipe: Recipe,
    dataset: Dataset | None,
    captions: Captions,
    feature_dim: int,
    source: Path | None,
    cache: Path | None = None,
) -> Model:
    """A model with fixed vectors, or one that starts from the model in `source`."""
    embedder, transfer, codes = recipe.text.embedder, recipe.transfer, _languages(recipe, captions)
    if source is None or transfer is None:
        assert isinstance(embedder, VectorsEmbedderRecipe)
        tokenizer = recipe.text.tokenizer
        parts = {
            code: language_words(
                embedder, tokenizer, dataset, code, _words(captions, code), cache=cache
            )
            for code in codes
        }
        reader = VectorReader(parts, embedder.copy_subwords)
        return Model(recipe, reader, feature_dim, list(parts))
    old = Model.load(source)
    check_alike(recipe, old, feature_dim, source)
    if transfer.keep:
        for code in codes:
            if code in old.languages:
                raise PolyglanceError(f"{source}: the model knows '{code}' already")
    if isinstance(embedder, VectorsEmbedderRecipe):
        return _translated(recipe, embedder, transfer, dataset, captions, old, codes, cache)
    for code in codes:
        old = add_language(recipe, transfer, old, code, dataset, captions.get(code, ()), cache)
    return old


def _languages(recipe: Recipe, captions: Captions) -> list[str]:
    codes = list(captions) or list(recipe.data.languages or ())
    if not codes:
        raise PolyglanceError("data.images=0 needs data.languages: which are to be read")
    return codes


def _words(captions: Captions, code: str) -> list[str]:
    return sorted({word for words in captions.get(code, ()) for word in words})


def _translated(
    recipe: Recipe,
    embedder: VectorsEmbedderRecipe,
    transfer: TransferRecipe,
    dataset: Dataset | None,
    captions: Captions,
    old: Model,
    codes: Sequence[str],
    cache: Path | None,
) -> Model:
    """The source's encoder behind other vectors, those of the new languages translated."""
    assert isinstance(old.reader, VectorReader)
    tokenizer, translated = recipe.text.tokenizer, transfer.translator != "none"
    new = {
        code: language_words(
            embedder, tokenizer, dataset, code, _words(captions, code), translated, cache
        )
        for code in codes
    }
    kept = old.reader.languages if transfer.keep else {}
    reader = VectorReader({**kept, **new}, embedder.copy_subwords)
    model = Model(recipe, reader, old.feature_dim, list(reader.languages))
    copy_weights(old, model)
    if transfer.translator == "aligned":
        pivot = pivot_of(transfer, old)
        for code, part in new.items():
            matrix = aligned_matrix(transfer, code, part, pivot, old.reader.of(pivot), dataset)
            layer = model.network.text.words
            assert isinstance(layer, TranslatedWords)
            layer.begin(code, matrix, recipe.compat.translator_bias)
    return model


def aligned_matrix(
    transfer: TransferRecipe,
    code: str,
    new: LanguageWords,
    pivot: str,
    known: LanguageWords,
    dataset: Dataset | None,
) -> torch.Tensor:
    """The map [d, d] from a new language's vectors to the pivot's."""
    both = WordVectors(new.words, new.matrix), WordVectors(known.words, known.matrix)
    lexicon = None if transfer.lexicon is None else Path(transfer.lexicon).expanduser()
    pairs = named_pairs(transfer.dictionary, code, pivot, lexicon, dataset, both)
    rows = paired_rows(pairs, *both)
    if transfer.translations is not None:
        rows = best_rows(rows, transfer.translations)
    found, _ = align(
        *both, rows, transfer.method, neighbours=NEIGHBOURS, iterations=transfer.iterations
    )
    return torch.from_numpy(found.matrix.astype(np.float32))
