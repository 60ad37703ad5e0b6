"""Adding a language to a trained model: its words as mixtures of words that the model knows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from polyglance.alignment import named_pairs, sentence_translations
from polyglance.alignment.named import from_sentences, parallel
from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes.schema import Recipe, TransferRecipe, VectorsEmbedderRecipe
from polyglance.text.dictionaries import Pairs
from polyglance.text.embedders import TrainingTexts
from polyglance.text.embedders.fixed.build import VectorSource
from polyglance.text.embedders.layer import module_name
from polyglance.text.vectors.corpus import caption_sentences
from polyglance.text.vectors.word_vectors import WordVectors
from polyglance.transfer.mixtures import (
    Mixtures,
    dictionary_mixtures,
    inflection_mixtures,
    neighbour_mixtures,
)
from polyglance.transfer.source import copy_weights, pivot_of
from polyglance.transfer.translator import align_pairs

OFTEN = 2
"""How often a word of the new captions must occur to be trained if no mixture explains it."""
CAPTIONS = "captions"
VECTOR_DIM = 300
"""Dimension of the word vectors that translate words missing from the dictionary."""


def add_languages(
    recipe: Recipe, source: Model, languages: Sequence[str], texts: TrainingTexts
) -> Model:
    """`source` with more languages; everything else stays the same.

    Args:
        recipe: with a transfer section.
        source: a model that reads words.
        languages: the new languages.
        texts: captions to train the new words on, and the dataset for making dictionaries and
            vectors.
    """
    captions = texts.by_language()
    for language in languages:
        source = _add_one(recipe, source, language, texts, captions.get(language, ()))
    return source


def _add_one(
    recipe: Recipe,
    source: Model,
    language: str,
    texts: TrainingTexts,
    captions: Sequence[Sequence[str]] = (),
) -> Model:
    """`source` with one more language, according to `recipe.transfer`.

    Args:
        recipe: with a transfer section.
        source: a model that reads words.
        language: the new language.
        texts: with the dataset for making dictionaries and vectors.
        captions: tokenized captions in the language, to train its words on.
    """
    transfer = recipe.transfer
    assert transfer is not None
    pivot = pivot_of(transfer, source)
    source.embedder.add_words(language, (), pivot)  # fail early if no language can be added
    mixtures = _MixtureBuilder(recipe, transfer, source, language, pivot, texts).mixtures(captions)
    known = sorted({word for mixture in mixtures.values() for word in mixture})
    often = Counter(word for words in captions for word in words)
    learned = sorted(w for w, n in often.items() if n >= OFTEN and w not in mixtures)
    embedder = source.embedder.add_words(language, [*mixtures, *learned], pivot)
    model = Model(recipe, embedder, source.feature_dim, [*source.languages, language])
    copy_weights(source, model)
    vectors = word_vectors(source, known, pivot)
    rows = _mix(mixtures, dict(zip(known, vectors, strict=True)), len(learned))
    if transfer.translator == "random":
        rows = 0.1 * (2 * np.random.default_rng(recipe.training.seed).random(rows.shape) - 1)
    added = model.network.text.of(language).added
    assert added is not None
    with torch.no_grad():
        added.tables[module_name(language)].copy_(torch.from_numpy(rows.astype(np.float32)))
    return model


class _MixtureBuilder:
    """Expresses the words of a new language as mixtures of known words."""

    def __init__(
        self,
        recipe: Recipe,
        transfer: TransferRecipe,
        source: Model,
        language: str,
        pivot: str,
        texts: TrainingTexts,
    ) -> None:
        self.transfer, self.tokenizer = transfer, recipe.text.tokenizer
        self.source, self.language, self.pivot = source, language, pivot
        self.dataset, self.cache = texts.dataset, texts.cache

    def mixtures(self, captions: Sequence[Sequence[str]]) -> Mixtures:
        """Mixtures from the dictionary, aligned vectors and, for `captions`, inflection."""
        transfer, both = self.transfer, self._vectors()
        mixtures, every, ranks = self._by_dictionary(both)
        if not mixtures:
            raise PolyglanceError(
                f"dictionary {transfer.dictionary}: the model knows none of the words that its "
                f"{len(every)} pairs translate '{self.language}' to; is '{self.pivot}' the right "
                "--pivot?"
            )
        if both is not None:
            alignment = align_pairs(transfer, every, both)
            new, target = both
            inside = [i for i, word in enumerate(target.words) if word in ranks]
            target = WordVectors([target.words[i] for i in inside], target.matrix[inside])
            missing = [word for word in new.words if word not in mixtures]
            mixtures |= neighbour_mixtures(alignment, new, target, missing)
        words = sorted({word for one in captions for word in one})
        return mixtures | inflection_mixtures(mixtures, words)

    def _by_dictionary(
        self, both: tuple[WordVectors, WordVectors] | None
    ) -> tuple[Mixtures, Pairs, dict[str, int]]:
        """Mixtures, all pairs of the dictionaries, and ranks of the known words."""
        named = self.transfer.lexicon
        lexicon = None if named is None else Path(named).expanduser()
        languages = self.language, self.pivot
        mixtures: Mixtures = {}
        every: Pairs = []
        ranks: dict[str, int] = {}
        for name in self.transfer.dictionary.split("+"):
            pairs = named_pairs(name, *languages, lexicon, self.dataset, both)
            ranks |= self._ranks([known for _, known in pairs])
            found = dictionary_mixtures(pairs, ranks, *languages)
            if from_sentences(name):
                sentences = parallel(name, *languages, self.dataset)
                found |= sentence_translations(*sentences, ranks, self.tokenizer)
            mixtures = found | mixtures
            every += pairs
        return mixtures, every, ranks

    def _vectors(self) -> tuple[WordVectors, WordVectors] | None:
        """Vectors of the new language and the pivot, if the recipe names any."""
        named = self.transfer.vectors
        if named is None:
            return None
        folder = None if named == CAPTIONS else named
        settings = VectorsEmbedderRecipe(vectors=folder, word_dim=VECTOR_DIM)
        source = VectorSource(settings, self.tokenizer, self.dataset, self.cache)
        first, second = (source.words(code) for code in (self.language, self.pivot))
        return WordVectors(first.words, first.matrix), WordVectors(second.words, second.matrix)

    def _ranks(self, wanted: Sequence[str]) -> dict[str, int]:
        """Ranks of the pivot's words that the model reads, 1 for the most frequent.

        A character model reads all `wanted` words but does not know their frequencies; these come
        from the dataset's captions.
        """
        words = self.source.embedder.known_words(self.pivot)
        if words is None:
            if self.dataset is None or self.pivot not in self.dataset.split("train").languages:
                return dict.fromkeys(wanted, 1)
            words = _by_frequency(self.dataset, self.pivot, self.tokenizer)
        return {word: rank for rank, word in enumerate(words, 1)}


def _by_frequency(dataset: Dataset, language: str, tokenizer: str) -> list[str]:
    sentences = caption_sentences(dataset, [language], tokenizer=tokenizer)[language]
    counts = Counter(word for words in sentences for word in words)
    return sorted(counts, key=lambda word: (-counts[word], word))


def word_vectors(model: Model, words: Sequence[str], language: str) -> np.ndarray:
    """The embedder's output for words of the model, [n, positions, D].

    Args:
        model: whose words.
        words: the n words.
        language: of the words.
    """
    embedder = model.embedder
    if not words:
        return np.empty((0, embedder.positions, 0), np.float32)
    placed = [place for word in words for place in embedder.in_positions(word)]
    sentences = [sentence for sentence, _ in placed]
    encoded = embedder.encode([""] * len(placed), sentences, [language] * len(placed))
    chosen = encoded.ids.offsets[:-1] + np.array([place for _, place in placed])
    ids = torch.from_numpy(encoded.ids.flat[chosen].astype(np.int64))
    distinct, index, counts = torch.unique(ids, return_inverse=True, return_counts=True)
    layer = model.network.text.of(language).words
    with torch.inference_mode():
        vectors = layer(distinct, counts, encoded.unseen)[index].numpy().copy()
    return vectors.reshape(len(words), embedder.positions, -1)


def _mix(mixtures: Mixtures, vectors: Mapping[str, np.ndarray], learned: int) -> np.ndarray:
    """Rows [words · positions, D]: the mixtures, then their mean for each word to be learned."""
    mixed = [
        np.sum([weight * vectors[word] for word, weight in mixture.items()], axis=0)
        for mixture in mixtures.values()
    ]
    mixed += [np.mean(list(vectors.values()), axis=0)] * learned
    return np.concatenate(mixed).astype(np.float32)
