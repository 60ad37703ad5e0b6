"""The closed vocabularies of a recipe: which words have vectors of their own, and what else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError
from polyglance.progress import track
from polyglance.recipes import Recipe
from polyglance.recipes.schema import DictionaryRare, LatentRare, UniversalEmbedderRecipe
from polyglance.text.closed import ClosedVocabularies, Layout, Start
from polyglance.text.vectors import WordVectors
from polyglance.text.vocabulary import SPECIALS, Vocabulary, count
from polyglance.training.assignment import Assignment, assign_tokens
from polyglance.training.language_vectors import (
    RARE_DICTIONARY,
    Corpus,
    language_vectors,
    lexicon_file,
    reduce_vectors,
)


@dataclass(frozen=True)
class Lexis:
    """The words of a language, most frequent first, with vectors; which keep theirs [n] bool."""

    vectors: WordVectors
    own: np.ndarray

    @property
    def words(self) -> list[str]:
        """All words."""
        return self.vectors.words


def build_universal(
    recipe: Recipe,
    embedder: UniversalEmbedderRecipe,
    dataset: Dataset,
    table: CaptionTable,
    tokens: Sequence[Sequence[str]],
    cache: Path | None,
    show_progress: bool | None,
) -> ClosedVocabularies:
    """The reader of a recipe from training captions.

    Args:
        recipe: the whole recipe, of which the tokens' assignment takes the batches.
        embedder: its embedder.
        dataset: where other texts to train vectors on come from.
        table: the training captions.
        tokens: their words.
        cache: where vectors and assignments are kept.
        show_progress: as everywhere.
    """
    if embedder.stored:
        raise PolyglanceError(
            "text.embedder.stored is for models that 'polyglance compact' wrote; train without it"
        )
    by_language: dict[str, list[Sequence[str]]] = {}
    for code, words in zip(table.languages, tokens, strict=True):
        by_language.setdefault(code, []).append(words)
    codes = track(sorted(by_language), "word vectors", len(by_language), "languages", show_progress)
    corpus = Corpus(recipe, embedder, dataset, sorted(by_language))
    lexes = {code: _lexis(corpus, code, by_language[code], cache) for code in codes}
    rare = embedder.rare
    if isinstance(rare, LatentRare) and not all(lexis.own.all() for lexis in lexes.values()):
        vectors = {code: lexis.vectors for code, lexis in lexes.items()}
        size = embedder.word_dim
        found = assign_tokens(recipe, rare, size, vectors, table, tokens, cache, show_progress)
        return _with_latent(embedder.own_dim, lexes, found)
    layout, start = _own(embedder.own_dim, lexes)
    tables = {code: _own_tokens(lexis, layout, code) for code, lexis in lexes.items()}
    if isinstance(rare, DictionaryRare):
        _translate(embedder, rare.pivot, lexes, tables)
    return ClosedVocabularies(tables, layout, start)


def _lexis(
    corpus: Corpus, code: str, sentences: Sequence[Sequence[str]], cache: Path | None
) -> Lexis:
    embedder = corpus.embedder
    words = Vocabulary.build({code: sentences}, embedder.min_count).words[len(SPECIALS) :]
    vectors = language_vectors(code, words, sentences, corpus, cache)
    if vectors.dim < embedder.own_dim:
        raise PolyglanceError(
            f"text.embedder.own_dim is {embedder.own_dim}, and the vectors of '{code}' have "
            f"dimension {vectors.dim}; lower it, or give larger vectors"
        )
    counts = count(sentences)
    own = np.array([counts[word] >= embedder.frequent_count for word in vectors.words], bool)
    if embedder.frequent is not None:
        own[embedder.frequent :] = False
    if isinstance(embedder.rare, DictionaryRare) and code == embedder.rare.pivot:
        own[:] = True
    return Lexis(vectors, own)


def _own(dim: int, lexes: Mapping[str, Lexis], latent: int = 0) -> tuple[Layout, Start]:
    """The numbering of own words behind `latent` tokens, and their vectors, reduced where asked."""
    layout = Layout(latent, {code: int(lexis.own.sum()) for code, lexis in lexes.items()})
    reduced = {code: reduce_vectors(lexis.vectors.matrix, dim) for code, lexis in lexes.items()}
    return layout, Start({code: reduced[code][lexis.own] for code, lexis in lexes.items()})


def _with_latent(dim: int, lexes: Mapping[str, Lexis], found: Assignment) -> ClosedVocabularies:
    """Rare words become their tokens; tokens without any word are deleted."""
    rare = {code: found.tokens[code][~lexis.own] for code, lexis in lexes.items()}
    used = np.unique(np.concatenate(list(rare.values())))
    layout, start = _own(dim, lexes, len(used))
    tables = {code: _own_tokens(lexis, layout, code) for code, lexis in lexes.items()}
    for code, lexis in lexes.items():
        words = [word for word, mine in zip(lexis.words, lexis.own, strict=True) if not mine]
        numbers = 1 + np.searchsorted(used, rare[code])
        tables[code] |= dict(zip(words, numbers.tolist(), strict=True))
    return ClosedVocabularies(tables, layout, Start(start.own, found.vectors[used]))


def _own_tokens(lexis: Lexis, layout: Layout, code: str) -> dict[str, int]:
    words = [word for word, mine in zip(lexis.words, lexis.own, strict=True) if mine]
    return dict(zip(words, range(*layout.own_ranges[code]), strict=True))


def _translate(
    embedder: UniversalEmbedderRecipe,
    pivot: str,
    lexes: Mapping[str, Lexis],
    tables: Mapping[str, dict[str, int]],
) -> None:
    """Rare words become the pivot's; those without a known translation are dropped (spec §5.3)."""
    from polyglance.transfer.lexicon import lexicon_pairs

    if pivot not in lexes:
        raise PolyglanceError(
            f"text.embedder.rare.pivot: '{pivot}' is not among the languages trained on, "
            f"{', '.join(lexes)}"
        )
    for code, lexis in lexes.items():
        if code == pivot or lexis.own.all():
            continue
        rare = {word for word, mine in zip(lexis.words, lexis.own, strict=True) if not mine}
        path = lexicon_file(embedder, RARE_DICTIONARY)
        for word, translation in lexicon_pairs(path, code, pivot):
            if word in rare and translation in tables[pivot]:
                tables[code].setdefault(word, tables[pivot][translation])
