"""The registry of tokenizers. `words` is the default; the others are those of the papers."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import regex

from polyglance.core.progress import shows_bar, track
from polyglance.core.registry import Registry
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TextRecipe
from polyglance.text.tokenizers.romanise import romanise
from polyglance.text.tokenizers.token_cache import Text, TokenCache, cache_settings

Languages = Sequence[str] | str | None
"""One language for all texts, one per text, or None to go by script."""
SHOW_PROGRESS_FROM = 50_000
"""Number of captions from which `tokenize_many` may take over two seconds."""

_WORD_CHARACTER = regex.compile(r"[\p{L}\p{N}\p{Extended_Pictographic}]")


class Tokenizer(Protocol):
    """Splits a caption into tokens; `[]` if it has only punctuation."""

    def tokenize(self, text: str, language: str | None = None) -> list[str]:
        """Tokens of `text`; without a language, it goes by script."""
        ...


tokenizers: Registry[type[Tokenizer]] = Registry("tokenizer")
_instances: dict[str, Tokenizer] = {}


def get_tokenizer(name: str = "words") -> Tokenizer:
    """The tokenizer called `name`, a shared instance.

    >>> get_tokenizer("words").tokenize("A man's dog!")
    ['a', 'man', "'s", 'dog']
    """
    if name not in _instances:
        _instances[name] = tokenizers.get(name)()
    return _instances[name]


def has_word(text: str) -> bool:
    """Whether a text has a letter, digit or emoji.

    >>> has_word("dog,"), has_word("...")
    (True, False)
    """
    return _WORD_CHARACTER.search(text) is not None


def tokenize_many(
    texts: Sequence[str],
    languages: Languages = None,
    tokenizer: str = "words",
    show_progress: bool | None = None,
    token_cache: TokenCache | None = None,
) -> list[list[str]]:
    """Tokens of every text.

    Args:
        texts: to tokenize.
        languages: one code for all, one per text, or None.
        tokenizer: its name.
        show_progress: whether to show a progress bar; by default for many texts.
        token_cache: cache of tokens; None for no cache.
    """
    tool = get_tokenizer(tokenizer)

    def compute(pairs: Iterable[Text]) -> Iterator[Sequence[str]]:
        for text, code in _shown(pairs, "tokenizing", show_progress):
            yield _tokens(tokenizer, text, code)

    pairs = list(zip(texts, language_per_text(languages, len(texts)), strict=True))
    return _cached(token_cache, cache_settings(type(tool).__module__, tokenizer), pairs, compute)


def _cached(
    token_cache: TokenCache | None,
    settings: str | None,
    pairs: Sequence[Text],
    compute: Callable[[Iterable[Text]], Iterable[Sequence[str]]],
) -> list[list[str]]:
    if token_cache is None or settings is None:
        return [list(tokens) for tokens in compute(pairs)]
    return token_cache.get(settings, pairs, compute)


def _shown(pairs: Iterable[Text], doing: str, show: bool | None) -> Iterable[Text]:
    """Iterate over texts, with a progress bar if there are many."""
    texts = list(pairs)
    if not shows_bar(show, len(texts), SHOW_PROGRESS_FROM):
        return texts
    return track(texts, doing, len(texts), "captions")


@lru_cache(maxsize=200_000)
def _tokens(tokenizer: str, text: str, language: str | None) -> tuple[str, ...]:
    """Cached in memory, because a run reads the same captions repeatedly."""
    return tuple(sys.intern(token) for token in get_tokenizer(tokenizer).tokenize(text, language))


def language_per_text(languages: Languages, count: int) -> Sequence[str | None]:
    """The language of each of `count` texts."""
    if languages is None or isinstance(languages, str):
        return [languages] * count
    if len(languages) != count:
        raise PolyglanceError(f"got {count} texts but {len(languages)} languages")
    return languages


def read_words(
    recipe: TextRecipe,
    texts: Sequence[str],
    languages: Languages = None,
    show_progress: bool | None = None,
    token_cache: TokenCache | None = None,
) -> tuple[Sequence[str], list[list[str]]]:
    """The texts, romanised if the recipe says so, and the words of each.

    Args:
        recipe: has the tokenizer and whether to romanise.
        texts: as written.
        languages: one code for all, one per text, or None.
        show_progress: whether to show a progress bar; by default for many texts.
        token_cache: cache of words; None for no cache.
    """
    if recipe.romanise:
        texts = _romanised(texts, languages, show_progress, token_cache)
    return texts, tokenize_many(texts, languages, recipe.tokenizer, show_progress, token_cache)


def _romanised(
    texts: Sequence[str], languages: Languages, show: bool | None, token_cache: TokenCache | None
) -> list[str]:
    def compute(pairs: Iterable[Text]) -> Iterator[Sequence[str]]:
        for text, code in _shown(pairs, "romanising", show):
            yield [found] if (found := romanise(text, code)) else []

    pairs = list(zip(texts, language_per_text(languages, len(texts)), strict=True))
    found = _cached(token_cache, cache_settings(romanise.__module__, "romanised"), pairs, compute)
    return ["".join(text) for text in found]
