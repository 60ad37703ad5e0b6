"""Alignment of two languages' word vectors, and the dictionaries it needs."""

from polyglance.alignment.alignment import Alignment, align, evaluate_alignment
from polyglance.alignment.captions import induced_pairs, parallel_captions
from polyglance.alignment.dictionaries import (
    best_rows,
    identical_pairs,
    paired_rows,
    split_rows,
)
from polyglance.alignment.learn import LearnedAlignment, learn_alignment
from polyglance.alignment.named import named_pairs
from polyglance.alignment.options import AlignmentOptions
from polyglance.alignment.procrustes import procrustes
from polyglance.alignment.rcsls import RcslsStep, rcsls, rcsls_objective
from polyglance.alignment.retrieval import Precision, precision, translation_ranks
from polyglance.alignment.sentences import sentence_translations
from polyglance.text.dictionaries import read_pairs

__all__ = [
    "Alignment",
    "AlignmentOptions",
    "LearnedAlignment",
    "Precision",
    "RcslsStep",
    "align",
    "best_rows",
    "evaluate_alignment",
    "identical_pairs",
    "induced_pairs",
    "learn_alignment",
    "named_pairs",
    "paired_rows",
    "parallel_captions",
    "precision",
    "procrustes",
    "rcsls",
    "rcsls_objective",
    "read_pairs",
    "sentence_translations",
    "split_rows",
    "translation_ranks",
]
