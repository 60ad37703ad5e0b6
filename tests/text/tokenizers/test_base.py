"""Tokenizers by name, and many texts at a time."""

import pytest

from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers import get_tokenizer, tokenize_many, tokenizers


def test_many_takes_one_language_or_one_each():
    texts = ["IZGARA", "IN"]
    assert tokenize_many(texts, ["tr", "en"]) == [["ızgara"], ["in"]]
    assert tokenize_many(texts, "tr") == [["ızgara"], ["ın"]]
    assert tokenize_many(texts) == [["izgara"], ["in"]]
    with pytest.raises(PolyglanceError, match="got 2 texts but 1 languages"):
        tokenize_many(texts, ["tr"])


def test_unknown_name_hints():
    with pytest.raises(PolyglanceError, match=r"unknown tokenizer 'word' .*'words'"):
        get_tokenizer("word")
    assert tokenizers.list("moses*") == ["moses", "moses+treebank"]


def test_a_tokenizer_is_made_once_and_tokens_can_be_changed():
    assert get_tokenizer("words") is get_tokenizer("words")
    first = tokenize_many(["a dog"])
    first[0].append("changed")
    assert tokenize_many(["a dog"]) == [["a", "dog"]]
