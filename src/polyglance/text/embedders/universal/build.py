"""Builds the tokens of a recipe: which words have their own vectors, and what the others share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyglance.core.progress import track
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import DictionaryRare, LatentRare, Recipe, UniversalEmbedderRecipe
from polyglance.text.embedders.base import TokenAssignment, TrainingTexts
from polyglance.text.embedders.universal.layout import InitialVectors, Layout
from polyglance.text.embedders.vocabulary import SPECIALS, Vocabulary, count
from polyglance.text.lexicon import Lexicon
from polyglance.text.vectors.trained import (
    Corpus,
    language_vectors,
    reduce_vectors,
    universal_lexicon,
)
from polyglance.text.vectors.word_vectors import WordVectors

Tables = dict[str, dict[str, int]]


@dataclass(frozen=True)
class UniversalLanguage:
    """A language's words, most frequent first, with vectors, and which of them keep these [n]."""

    vectors: WordVectors
    own: np.ndarray

    def words(self, own: bool) -> list[str]:
        """The words with their own vector, or the others."""
        pairs = zip(self.vectors.words, self.own, strict=True)
        return [word for word, mine in pairs if mine == own]


def build_tokens(recipe: Recipe, texts: TrainingTexts) -> tuple[Tables, Layout, InitialVectors]:
    """word → token by language, the tokens' layout, and their initial vectors."""
    settings = recipe.text.embedder
    assert isinstance(settings, UniversalEmbedderRecipe)
    if settings.stored:  # valid in recipes of models that are loaded or extended
        raise PolyglanceError(
            "text.embedder.stored is for models written by 'polyglance compact'; train without it"
        )
    captions = texts.by_language()
    codes = track(sorted(captions), "word vectors", len(captions), "languages", texts.show_progress)
    assert texts.dataset is not None
    corpus = Corpus(recipe, texts.dataset, sorted(captions))
    words = {code: _words(corpus, code, captions[code], texts) for code in codes}
    if isinstance(settings.rare, LatentRare) and not all(own.own.all() for own in words.values()):
        if texts.assign_tokens is None:
            raise ValueError("latent tokens are learned: pass assign_tokens")
        vectors = {code: own.vectors for code, own in words.items()}
        return _with_latent(recipe, words, texts.assign_tokens(recipe, vectors, texts))
    layout, first = _own(settings, words)
    tables = {code: _own_tokens(own, layout, code) for code, own in words.items()}
    if isinstance(settings.rare, DictionaryRare):
        _translate(settings, settings.rare.pivot, words, tables)
    return tables, layout, first


def _words(
    corpus: Corpus, code: str, captions: Sequence[Sequence[str]], texts: TrainingTexts
) -> UniversalLanguage:
    settings = corpus.settings
    known = Vocabulary.build({code: captions}, settings.min_count).words[len(SPECIALS) :]
    vectors = language_vectors(code, known, captions, corpus, texts.cache)
    if vectors.dim < settings.own_dim:
        raise PolyglanceError(
            f"text.embedder.own_dim is {settings.own_dim}, but the vectors of '{code}' have "
            f"dimension {vectors.dim}; lower it, or use larger vectors"
        )
    counts = count(captions)
    own = np.array([counts[word] >= settings.frequent_count for word in vectors.words], bool)
    if settings.frequent is not None:
        own[settings.frequent :] = False
    if isinstance(settings.rare, DictionaryRare) and code == settings.rare.pivot:
        own[:] = True
    return UniversalLanguage(vectors, own)


def _own(
    settings: UniversalEmbedderRecipe, words: Mapping[str, UniversalLanguage], latent: int = 0
) -> tuple[Layout, InitialVectors]:
    """The layout of own words after `latent` tokens, and their vectors, reduced if necessary."""
    layout = Layout(latent, {code: int(own.own.sum()) for code, own in words.items()})
    dim = settings.own_dim
    reduced = {code: reduce_vectors(own.vectors.matrix, dim) for code, own in words.items()}
    return layout, InitialVectors({code: reduced[code][own.own] for code, own in words.items()})


def _with_latent(
    recipe: Recipe, words: Mapping[str, UniversalLanguage], found: TokenAssignment
) -> tuple[Tables, Layout, InitialVectors]:
    """Map rare words to their tokens; unused tokens are removed."""
    settings = recipe.text.embedder
    assert isinstance(settings, UniversalEmbedderRecipe)
    rare = {code: found.tokens[code][~own.own] for code, own in words.items()}
    used = np.unique(np.concatenate(list(rare.values())))
    layout, first = _own(settings, words, len(used))
    tables = {code: _own_tokens(own, layout, code) for code, own in words.items()}
    for code, own in words.items():
        tokens = 1 + np.searchsorted(used, rare[code])
        tables[code] |= dict(zip(own.words(own=False), tokens.tolist(), strict=True))
    return tables, layout, InitialVectors(first.own, found.vectors[used])


def _own_tokens(words: UniversalLanguage, layout: Layout, code: str) -> dict[str, int]:
    return dict(zip(words.words(own=True), range(*layout.own_ranges[code]), strict=True))


def _translate(
    settings: UniversalEmbedderRecipe,
    pivot: str,
    words: Mapping[str, UniversalLanguage],
    tables: Tables,
) -> None:
    """Map rare words to words of the pivot; those without a known translation are dropped."""
    if pivot not in words:
        raise PolyglanceError(
            f"text.embedder.rare.pivot: '{pivot}' is not among the training languages, "
            f"{', '.join(words)}"
        )
    for code, own in words.items():
        if code == pivot or own.own.all():
            continue
        rare = set(own.words(own=False))
        path = universal_lexicon(settings, "text.embedder.rare.kind=dictionary")
        for word, translation in Lexicon.open(path).pairs(code, pivot, normalised=True):
            if word in rare and translation in tables[pivot]:
                tables[code].setdefault(word, tables[pivot][translation])
