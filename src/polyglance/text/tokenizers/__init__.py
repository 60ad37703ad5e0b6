"""How texts are cut into words."""

from polyglance.text.tokenizers import papers, words
from polyglance.text.tokenizers.base import (
    Tokenizer,
    get_tokenizer,
    read_words,
    tokenize_many,
    tokenizers,
)
from polyglance.text.tokenizers.kept import KeptTokens

__all__ = [
    "KeptTokens",
    "Tokenizer",
    "get_tokenizer",
    "papers",
    "read_words",
    "tokenize_many",
    "tokenizers",
    "words",
]
