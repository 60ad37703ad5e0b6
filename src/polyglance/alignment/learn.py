"""Learns a map between two files of word vectors from a named dictionary, and evaluates it."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from polyglance.alignment.alignment import Alignment, align, evaluate_alignment
from polyglance.alignment.dictionaries import best_rows, paired_rows, split_rows
from polyglance.alignment.named import language_pair, named_pairs
from polyglance.alignment.options import DEFAULTS, AlignmentOptions
from polyglance.alignment.rcsls import RcslsStep
from polyglance.alignment.retrieval import Precision
from polyglance.errors import ArgumentError
from polyglance.text.dictionaries import Pairs
from polyglance.text.vectors.word_vectors import WordVectors


@dataclass(frozen=True)
class LearnedAlignment:
    """A map, the steps of RCSLS, and the rows of the word pairs it was learned from and tested on.

    `precision` is that of each map (before, svd, rcsls) and way of search (nn, csls); empty without
    held-out pairs. The facts of the alignment say the same, to be saved with it.
    """

    alignment: Alignment
    steps: list[RcslsStep]
    train: np.ndarray
    test: np.ndarray
    precision: dict[str, dict[str, Precision]] = field(default_factory=dict)


def dictionary_pairs(
    name: str,
    source: WordVectors,
    target: WordVectors,
    languages: str | None = None,
    lexicon: Path | None = None,
) -> Pairs:
    """The word pairs of a named dictionary.

    Args:
        name: a file of pairs, lexicon:fr-de, identical, captions:DATA or text-only:DATA.
        source: vectors of the first language.
        target: vectors of the second language.
        languages: both, such as fr-de; needed for captions and text-only.
        lexicon: file for lexicon:fr-de.
    """
    pair = ["", ""]
    kind, _, rest = name.partition(":")
    if kind == "lexicon":
        pair = language_pair(rest, f"dictionary {name}")
    elif kind in ("captions", "text-only"):
        if languages is None:
            raise ArgumentError(
                f"dictionary {name}: specify the languages with `languages`, such as fr-de"
            )
        pair = language_pair(languages, f"languages {languages}")
    return named_pairs(name, pair[0], pair[1], lexicon, vectors=(source, target))


def learn_alignment(
    source: WordVectors,
    target: WordVectors,
    pairs: Pairs,
    options: AlignmentOptions = DEFAULTS,
    *,
    train_words: int = 5000,
    test_words: int | None = None,
    seed: int | None = None,
    translations: int | None = None,
) -> LearnedAlignment:
    """Fit a map with the pairs of a dictionary, and evaluate it on held-out pairs.

    Args:
        source: vectors to map, most frequent words first.
        target: vectors to map them onto.
        pairs: of the dictionary, a word of `source` first.
        options: how the map is fitted and evaluated.
        train_words: number of source words to learn from.
        test_words: number of further source words to evaluate on; None does not evaluate.
        seed: of a random choice of these words; None holds out the least frequent.
        translations: pairs per source word to learn from; None for all.
    """
    rows = paired_rows(pairs, source, target)
    train, test = split_rows(rows, train_words, test_words or 0, seed)
    if test_words is not None and not len(test):
        raise ArgumentError(
            f"the {len(rows)} pairs found in both files are too few to hold some out; use a larger "
            "dictionary, or raise `test_words`"
        )
    if translations is not None:
        train = best_rows(train, translations)
    found, steps = align(source, target, train, options)
    found.facts.update(
        method=options.method,
        pairs=len(train),
        centre=options.centre,
        neighbours=options.neighbours,
        k=options.k,
        spectral=options.spectral,
        objective=min((step.objective for step in steps if step.kept), default=None),
    )
    if not len(test):
        return LearnedAlignment(found, steps, train, test)
    maps = {"before": Alignment(np.eye(len(found.matrix), dtype=np.float32), *_means(found))}
    if options.method == "rcsls":  # starts from the rotation
        maps["svd"], _ = align(source, target, train, replace(options, method="svd"))
    maps[options.method] = found
    scores = {
        name: evaluate_alignment(one, source, target, test, options) for name, one in maps.items()
    }
    found.facts["precision"] = {
        name: {way: score.at for way, score in own.items()} for name, own in scores.items()
    }
    return LearnedAlignment(found, steps, train, test, scores)


def _means(alignment: Alignment) -> tuple[np.ndarray | None, np.ndarray | None]:
    return alignment.source_mean, alignment.target_mean
