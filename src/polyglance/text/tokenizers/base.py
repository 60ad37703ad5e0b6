"""Tokenizers by name. `words` is the default; the others serve fidelity to the papers."""

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import regex

from polyglance.errors import PolyglanceError
from polyglance.progress import shown, track
from polyglance.recipes.schema import TextRecipe
from polyglance.registry import Registry
from polyglance.text.tokenizers.romanise import romanise

Languages = Sequence[str] | str | None
"""One language for all texts, one for each, or None: the script decides."""
SHOW_PROGRESS_FROM = 50_000
"""Captions from which `tokenize_many` may take more than two seconds."""


_OF_WORDS = regex.compile(r"[\p{L}\p{N}\p{Extended_Pictographic}]")


class Tokenizer(Protocol):
    """Turns a caption into tokens; a caption of punctuation only gives `[]`."""

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`; without a language the script decides."""
        ...


tokenizers: Registry[type[Tokenizer]] = Registry("tokenizer")
_instances: dict[str, Tokenizer] = {}


def get_tokenizer(name: str = "words") -> Tokenizer:
    """The tokenizer called `name`, made once and shared.

    >>> get_tokenizer("words").tokenize("A man's dog!")
    ['a', 'man', "'s", 'dog']
    """
    if name not in _instances:
        _instances[name] = tokenizers.get(name)()
    return _instances[name]


def has_word(text: str) -> bool:
    """Whether a text has a letter, digit or emoji: more than punctuation.

    >>> has_word("dog,"), has_word("...")
    (True, False)
    """
    return _OF_WORDS.search(text) is not None


def tokenize_many(
    texts: Sequence[str],
    languages: Languages = None,
    tokenizer: str = "words",
    show_progress: bool | None = None,
) -> list[list[str]]:
    """Tokens of every text.

    Args:
        texts: what is cut up.
        languages: one code for all, one per text, or None.
        tokenizer: its name.
        show_progress: whether a progress bar is shown; by default for many texts.
    """
    get_tokenizer(tokenizer)
    pairs = _pairs(texts, languages, "tokenizing", show_progress)
    return [list(_tokens(tokenizer, text, code)) for text, code in pairs]


def _pairs(
    texts: Sequence[str], languages: Languages, doing: str, show: bool | None
) -> Iterable[tuple[str, str | None]]:
    """Texts with their languages, and a progress bar where there are many."""
    pairs = zip(texts, codes_of(languages, len(texts)), strict=True)
    if not shown(show, len(texts), SHOW_PROGRESS_FROM):
        return pairs
    return track(pairs, doing, len(texts), "captions")


@lru_cache(maxsize=200_000)
def _tokens(tokenizer: str, text: str, language: str | None) -> tuple[str, ...]:
    """Kept, because the runs of a study read the same captions again and again."""
    return tuple(sys.intern(token) for token in get_tokenizer(tokenizer).tokenize(text, language))


def codes_of(languages: Languages, count: int) -> Sequence[str | None]:
    """The language of each of `count` texts."""
    if languages is None or isinstance(languages, str):
        return [languages] * count
    if len(languages) != count:
        raise PolyglanceError(f"{count} texts were given with {len(languages)} languages")
    return languages


def read_words(
    recipe: TextRecipe,
    texts: Sequence[str],
    languages: Languages = None,
    show_progress: bool | None = None,
) -> tuple[Sequence[str], list[list[str]]]:
    """The texts, romanised where the recipe asks for it, and the words of each.

    Args:
        recipe: names the tokenizer and says whether to romanise.
        texts: as they are written.
        languages: one code for all, one per text, or None.
        show_progress: whether a progress bar is shown; by default for many texts.
    """
    if recipe.romanise:
        pairs = _pairs(texts, languages, "romanising", show_progress)
        texts = [romanise(text, code) for text, code in pairs]
    return texts, tokenize_many(texts, languages, recipe.tokenizer, show_progress)
