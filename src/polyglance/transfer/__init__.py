"""Bringing a model to a new language: aligned word vectors and bilingual dictionaries."""

from polyglance.transfer.alignment import Alignment, align, judge
from polyglance.transfer.captions import induced_pairs, parallel_captions
from polyglance.transfer.combine import (
    Mixtures,
    dictionary_mixtures,
    neighbour_mixtures,
    spelling_mixtures,
)
from polyglance.transfer.dictionaries import (
    best_rows,
    identical_pairs,
    paired_rows,
    read_pairs,
    split_rows,
)
from polyglance.transfer.lexicon import lexicon_pairs
from polyglance.transfer.named import named_pairs
from polyglance.transfer.procrustes import procrustes
from polyglance.transfer.rcsls import Step, rcsls, rcsls_objective
from polyglance.transfer.retrieval import Precision, precision, translation_ranks
from polyglance.transfer.sentences import sentence_mixtures

__all__ = [
    "Alignment",
    "Mixtures",
    "Precision",
    "Step",
    "align",
    "best_rows",
    "dictionary_mixtures",
    "identical_pairs",
    "induced_pairs",
    "judge",
    "lexicon_pairs",
    "named_pairs",
    "neighbour_mixtures",
    "paired_rows",
    "parallel_captions",
    "precision",
    "procrustes",
    "rcsls",
    "rcsls_objective",
    "read_pairs",
    "sentence_mixtures",
    "spelling_mixtures",
    "split_rows",
    "translation_ranks",
]
