"""Tokenizers, which split texts into words."""

from polyglance.text.tokenizers import papers, words
from polyglance.text.tokenizers.base import (
    Tokenizer,
    get_tokenizer,
    read_words,
    tokenize_many,
    tokenizers,
)
from polyglance.text.tokenizers.token_cache import TokenCache

__all__ = [
    "TokenCache",
    "Tokenizer",
    "get_tokenizer",
    "papers",
    "read_words",
    "tokenize_many",
    "tokenizers",
    "words",
]
