"""How texts are cut into words."""

from polyglance.text.tokenizers import papers, words
from polyglance.text.tokenizers.base import Tokenizer, get_tokenizer, tokenize_many, tokenizers
from polyglance.text.tokenizers.read import read_words

__all__ = [
    "Tokenizer",
    "get_tokenizer",
    "papers",
    "read_words",
    "tokenize_many",
    "tokenizers",
    "words",
]
