"""Tokenisers, vocabularies and batches of captions."""

from polyglance.text import papers, words
from polyglance.training.batches import bucketed_batches, pad
from polyglance.text.tokenizers.base import Tokenizer, get_tokenizer, tokenize_many, tokenizers
from polyglance.text.embedders.vocabulary import (
    END,
    PAD,
    SPECIALS,
    START,
    UNKNOWN,
    Ragged,
    Vocabulary,
    jaccard,
)

__all__ = [
    "END",
    "PAD",
    "SPECIALS",
    "START",
    "UNKNOWN",
    "Ragged",
    "Tokenizer",
    "Vocabulary",
    "bucketed_batches",
    "get_tokenizer",
    "jaccard",
    "pad",
    "papers",
    "tokenize_many",
    "tokenizers",
    "words",
]
