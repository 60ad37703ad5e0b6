"""Tokenisers, vocabularies and batches of captions."""

from polyglance.ragged import Ragged, pad
from polyglance.text import papers, words
from polyglance.text.batching import bucketed_batches
from polyglance.text.tokenize import Tokenizer, get_tokenizer, tokenize_many, tokenizers
from polyglance.text.vocabulary import (
    END,
    PAD,
    SPECIALS,
    START,
    UNKNOWN,
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
