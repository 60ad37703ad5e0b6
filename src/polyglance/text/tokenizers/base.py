"""Tokenizers by name. `words` is the default; the others serve fidelity to the papers."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import regex

from polyglance.core.progress import shown, track
from polyglance.core.registry import Registry
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TextRecipe
from polyglance.text.tokenizers.kept import KeptTokens, Text, settings_of
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
    kept: KeptTokens | None = None,
) -> list[list[str]]:
    """Tokens of every text.

    Args:
        texts: what is cut up.
        languages: one code for all, one per text, or None.
        tokenizer: its name.
        show_progress: whether a progress bar is shown; by default for many texts.
        kept: where tokens are looked up and kept; None does neither.
    """
    tool = get_tokenizer(tokenizer)

    def compute(pairs: Iterable[Text]) -> Iterator[Sequence[str]]:
        for text, code in _shown(pairs, "tokenizing", show_progress):
            yield _tokens(tokenizer, text, code)

    pairs = list(zip(texts, codes_of(languages, len(texts)), strict=True))
    return _looked_up(kept, settings_of(type(tool).__module__, tokenizer), pairs, compute)


def _looked_up(
    kept: KeptTokens | None,
    settings: str | None,
    pairs: Sequence[Text],
    compute: Callable[[Iterable[Text]], Iterable[Sequence[str]]],
) -> list[list[str]]:
    if kept is None or settings is None:
        return [list(tokens) for tokens in compute(pairs)]
    return kept.get(settings, pairs, compute)


def _shown(pairs: Iterable[Text], doing: str, show: bool | None) -> Iterable[Text]:
    """Texts with their languages, and a progress bar where there are many."""
    every = list(pairs)
    if not shown(show, len(every), SHOW_PROGRESS_FROM):
        return every
    return track(every, doing, len(every), "captions")


@lru_cache(maxsize=200_000)
def _tokens(tokenizer: str, text: str, language: str | None) -> tuple[str, ...]:
    """Kept in memory, because a run reads the same captions again and again."""
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
    kept: KeptTokens | None = None,
) -> tuple[Sequence[str], list[list[str]]]:
    """The texts, romanised where the recipe asks for it, and the words of each.

    Args:
        recipe: names the tokenizer and says whether to romanise.
        texts: as they are written.
        languages: one code for all, one per text, or None.
        show_progress: whether a progress bar is shown; by default for many texts.
        kept: where what was read before is looked up and kept; None does neither.
    """
    if recipe.romanise:
        texts = _romanised(texts, languages, show_progress, kept)
    return texts, tokenize_many(texts, languages, recipe.tokenizer, show_progress, kept)


def _romanised(
    texts: Sequence[str], languages: Languages, show: bool | None, kept: KeptTokens | None
) -> list[str]:
    def compute(pairs: Iterable[Text]) -> Iterator[Sequence[str]]:
        for text, code in _shown(pairs, "romanising", show):
            yield [found] if (found := romanise(text, code)) else []

    pairs = list(zip(texts, codes_of(languages, len(texts)), strict=True))
    found = _looked_up(kept, settings_of(romanise.__module__, "romanised"), pairs, compute)
    return ["".join(text) for text in found]
