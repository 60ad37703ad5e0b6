"""Tokenisers by name. `words` is the default; the others serve fidelity to the papers."""

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from polyglance.errors import PolyglanceError
from polyglance.progress import track
from polyglance.registry import Registry

SHOW_PROGRESS_FROM = 50_000
"""Captions from which `tokenize_many` may take more than two seconds."""


class Tokenizer(Protocol):
    """Turns a caption into tokens; a caption of punctuation only gives `[]`."""

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`; without a language the script decides."""
        ...


tokenizers: Registry[type[Tokenizer]] = Registry("tokeniser")
_instances: dict[str, Tokenizer] = {}


def get_tokenizer(name: str = "words") -> Tokenizer:
    """The tokeniser called `name`, made once and shared.

    >>> get_tokenizer("words").tokenize("A man's dog!")
    ['a', 'man', "'s", 'dog']
    """
    if name not in _instances:
        _instances[name] = tokenizers.get(name)()
    return _instances[name]


def tokenize_many(
    texts: Sequence[str],
    languages: Sequence[str] | str | None = None,
    tokenizer: str = "words",
    show_progress: bool | None = None,
) -> list[list[str]]:
    """Tokens of every text; `languages` is one code for all, one per text, or None."""
    get_tokenizer(tokenizer)
    codes = _codes(languages, len(texts))
    show = len(texts) >= SHOW_PROGRESS_FROM if show_progress is None else show_progress
    pairs = track(zip(texts, codes, strict=True), "tokenising", len(texts), "captions", show)
    return [list(_tokens(tokenizer, text, code)) for text, code in pairs]


@lru_cache(maxsize=200_000)
def _tokens(tokenizer: str, text: str, language: str | None) -> tuple[str, ...]:
    """Kept, because the runs of a study read the same captions again and again."""
    return tuple(sys.intern(token) for token in get_tokenizer(tokenizer).tokenize(text, language))


def _codes(languages: Sequence[str] | str | None, count: int) -> Sequence[str | None]:
    if languages is None or isinstance(languages, str):
        return [languages] * count
    if len(languages) != count:
        raise PolyglanceError(f"{count} texts were given with {len(languages)} languages")
    return languages
