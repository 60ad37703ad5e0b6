"""Adding a language to a trained model: its words as mixtures of words that the model knows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.recipes import Recipe
from polyglance.text.added_words import PLACES, AddedLanguage, AddedReader, AddedRows
from polyglance.text.closed import ClosedVocabularies
from polyglance.text.corpus import caption_sentences
from polyglance.text.reader import Reader
from polyglance.text.spellings import Spellings
from polyglance.text.tower import LanguageTowers, TextTower
from polyglance.text.vectors import WordVectors
from polyglance.text.vocabularies import Vocabularies
from polyglance.text.vocabulary import SPECIALS
from polyglance.training.source import copy_weights, pivot_of
from polyglance.training.vectors import language_words
from polyglance.transfer import (
    Mixtures,
    align,
    best_rows,
    dictionary_mixtures,
    named_pairs,
    neighbour_mixtures,
    paired_rows,
    sentence_mixtures,
    spelling_mixtures,
)
from polyglance.transfer.lexicon import Pairs
from polyglance.transfer.named import from_sentences, parallel

OFTEN = 2
"""Words of the new captions that no mixture explains are learned if they occur this often."""
CAPTIONS = "captions"


def add_language(
    recipe: Recipe,
    old: Model,
    code: str,
    dataset: Dataset | None = None,
    captions: Sequence[Sequence[str]] = (),
    cache: Path | None = None,
) -> Model:
    """`old` with language `code`, as `recipe.transfer` says; all that `old` has stays as it is.

    `captions` are words of captions that the new words will be trained on; `dataset` is where
    dictionaries and vectors may be made from, and how often words of the pivot occur.
    """
    reader = old.reader
    base = reader.base if isinstance(reader, AddedReader) else reader
    if not isinstance(base, Vocabularies | Spellings | ClosedVocabularies):
        raise PolyglanceError(
            f"a model with text.embedder={recipe.text.embedder} and "
            f"text.encoder={recipe.text.encoder} reads pieces of words; no language can be added"
        )
    pivot = pivot_of(recipe.transfer, old)
    mixtures = _mixtures(recipe, base, code, pivot, dataset, captions, cache)
    known = sorted({word for mixture in mixtures.values() for word in mixture})
    often = Counter(word for words in captions for word in words)
    learned = sorted(w for w, n in often.items() if n >= OFTEN and w not in mixtures)
    forms = PLACES if recipe.text.spells and recipe.text.ends else 1
    added = dict(reader.added) if isinstance(reader, AddedReader) else {}
    added[code] = AddedLanguage((*mixtures, *learned), pivot)
    model = Model(recipe, AddedReader(base, added, forms), old.feature_dim, [*old.languages, code])
    copy_weights(old, model)
    vectors = known_vectors(old, base, known, pivot, forms)
    rows = _mix(mixtures, dict(zip(known, vectors, strict=True)), len(learned))
    table = _rows_of(model, pivot).tables[f"language_{code}"]
    if recipe.transfer.translator == "random":
        rows = 0.1 * (2 * np.random.default_rng(recipe.training.seed).random(rows.shape) - 1)
    with torch.no_grad():
        table.copy_(torch.from_numpy(rows.astype(np.float32)))
    return model


def _mixtures(
    recipe: Recipe,
    base: Reader,
    code: str,
    pivot: str,
    dataset: Dataset | None,
    captions: Sequence[Sequence[str]],
    cache: Path | None,
) -> Mixtures:
    transfer = recipe.transfer
    both = _vectors(recipe, code, pivot, dataset, cache)
    lexicon = None if transfer.lexicon is None else Path(transfer.lexicon).expanduser()
    tokenizer = recipe.text.tokenizer
    mixtures: Mixtures = {}
    every: Pairs = []
    ranks: dict[str, int] = {}
    for name in transfer.dictionary.split("+"):
        pairs = named_pairs(name, code, pivot, lexicon, dataset, both)
        ranks |= known_ranks(base, pivot, [known for _, known in pairs], dataset, tokenizer)
        found = dictionary_mixtures(pairs, ranks)
        if from_sentences(name):
            found |= sentence_mixtures(*parallel(name, code, pivot, dataset), ranks, tokenizer)
        mixtures = found | mixtures
        every += pairs
    if not mixtures:
        raise PolyglanceError(
            f"dictionary {transfer.dictionary}: the model knows none of the words that its "
            f"{len(every)} pairs translate '{code}' to; is '{pivot}' the right --pivot?"
        )
    if both is not None:
        rows = paired_rows(every, *both)
        rows = rows if transfer.translations is None else best_rows(rows, transfer.translations)
        alignment, _ = align(*both, rows, transfer.method, iterations=transfer.iterations)
        target = both[1]
        inside = [i for i, word in enumerate(target.words) if word in ranks]
        target = WordVectors([target.words[i] for i in inside], target.matrix[inside])
        missing = [word for word in both[0].words if word not in mixtures]
        mixtures |= neighbour_mixtures(alignment, both[0], target, missing)
    words = sorted({word for one in captions for word in one})
    return mixtures | spelling_mixtures(mixtures, words)


def _vectors(
    recipe: Recipe, code: str, pivot: str, dataset: Dataset | None, cache: Path | None
) -> tuple[WordVectors, WordVectors] | None:
    """Vectors of the new language and of the pivot, if the recipe names any."""
    if recipe.transfer.vectors is None:
        return None
    folder = None if recipe.transfer.vectors == CAPTIONS else recipe.transfer.vectors
    text = recipe.text.model_copy(update={"vectors": folder, "words": 300})
    parts = [language_words(text, dataset, one, cache=cache) for one in (code, pivot)]
    first, second = (WordVectors(part.words, part.matrix) for part in parts)
    return first, second


def known_ranks(
    base: Reader, pivot: str, wanted: Sequence[str], dataset: Dataset | None, tokenizer: str
) -> dict[str, int]:
    """Words of the pivot that the model reads, 1 for the most frequent.

    A model of spelt words reads all that are `wanted`; how often they occur it does not know,
    but the dataset's captions do.
    """
    if isinstance(base, Vocabularies):
        words = base.of(pivot).words[len(SPECIALS) :]
    elif isinstance(base, ClosedVocabularies):
        words = tuple(base.of(pivot))
    else:
        return _spelt_ranks(pivot, wanted, dataset, tokenizer)
    return {word: rank for rank, word in enumerate(words, 1)}


def _spelt_ranks(
    pivot: str, wanted: Sequence[str], dataset: Dataset | None, tokenizer: str
) -> dict[str, int]:
    if dataset is None or pivot not in dataset.split("train").languages:
        return dict.fromkeys(wanted, 1)
    sentences = caption_sentences(dataset, [pivot], tokenizer=tokenizer)[pivot]
    counts = Counter(word for words in sentences for word in words)
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: rank for rank, word in enumerate(ordered, 1)}


def known_vectors(
    model: Model, base: Reader, words: Sequence[str], pivot: str, forms: int
) -> np.ndarray:
    """What the model's encoder sees of its own words, [n, forms, size]."""
    text = model.recipe.text
    places = [[(word,)] for word in words] if forms == 1 else [_places(word) for word in words]
    sentences = [list(sentence) for own in places for sentence in own]
    codes = [pivot] * len(sentences)
    found = base.encode(text, [""] * len(sentences), sentences, codes).ids
    ends = text.ends and not text.spells
    # Of [w w], [w w w] and so on, the one whose place is asked for.
    inside = [1 if ends else 0] if forms == 1 else [1, 0, 1, 0]
    place = np.tile(inside, len(words))
    chosen = torch.from_numpy(found.flat[found.offsets[:-1] + place].astype(np.int64))
    distinct, index, counts = torch.unique(chosen, return_inverse=True, return_counts=True)
    tower = model.network.text
    tower = tower.of(pivot) if isinstance(tower, LanguageTowers) else tower
    assert isinstance(tower, TextTower)
    was_training = tower.training
    tower.eval()
    with torch.inference_mode():
        vectors = tower.words(distinct, counts)[index].numpy().copy()
    tower.train(was_training)
    base.release()
    return vectors.reshape(len(words), forms, -1)


def _places(word: str) -> list[tuple[str, ...]]:
    """Sentences in which a word stands inside, first, last and alone."""
    return [(word, word, word), (word, word), (word, word), (word,)]


def _mix(mixtures: Mixtures, vectors: Mapping[str, np.ndarray], learned: int) -> np.ndarray:
    """Rows [words · forms, size]: mixtures, then the mean of all for words to be learned."""
    mixed = [
        np.sum([weight * vectors[word] for word, weight in mixture.items()], axis=0)
        for mixture in mixtures.values()
    ]
    mixed += [np.mean(list(vectors.values()), axis=0)] * learned
    return np.concatenate(mixed).astype(np.float32)


def _rows_of(model: Model, pivot: str) -> AddedRows:
    tower = model.network.text
    tower = tower.of(pivot) if isinstance(tower, LanguageTowers) else tower
    assert isinstance(tower, TextTower)
    assert tower.added is not None
    return tower.added
