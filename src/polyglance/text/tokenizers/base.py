"""Tokenizers by name. `words` is the default; the others serve fidelity to the papers."""

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from polyglance.errors import PolyglanceError
from polyglance.progress import track
from polyglance.recipes.schema import TextRecipe
from polyglance.registry import Registry
from polyglance.text.tokenizers.romanise import romanise

Languages = Sequence[str] | str | None
"""One language for all texts, one for each, or None: the script decides."""
SHOW_PROGRESS_FROM = 50_000
"""Captions from which `tokenize_many` may take more than two seconds."""


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


def tokenize_many(
    texts: Sequence[str],
    languages: Sequence[str] | str | None = None,
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
    codes = _codes(languages, len(texts))
    show = len(texts) >= SHOW_PROGRESS_FROM if show_progress is None else show_progress
    pairs: Iterable[tuple[str, str | None]] = zip(texts, codes, strict=True)
    if show:
        pairs = track(pairs, "tokenizing", len(texts), "captions", show)
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
        texts = _romanised(texts, languages, show_progress)
    return texts, tokenize_many(texts, languages, recipe.tokenizer, show_progress)


def _romanised(
    texts: Sequence[str], languages: Languages, show_progress: bool | None
) -> Sequence[str]:
    codes = [languages] * len(texts) if isinstance(languages, str | None) else languages
    show = len(texts) >= SHOW_PROGRESS_FROM if show_progress is None else show_progress
    pairs = track(zip(texts, codes, strict=True), "romanising", len(texts), "captions", show)
    return [romanise(text, code) for text, code in pairs]
