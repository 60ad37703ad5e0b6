"""Finds and replaces words in a text, leaving everything else unchanged."""

from collections.abc import Callable, Sequence
from random import Random

import regex

from polyglance.text.tokenizers.normalise import normalise
from polyglance.text.tokenizers.segment import segment

Span = tuple[int, int]
Change = Callable[[str, Random], str | None]
"""(word, random generator) → another word, or None if it cannot be changed."""

_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"
_UNSPACED = regex.compile(_CJK)
_WORD = regex.compile(rf"{_CJK}+|(?!{_CJK})\p{{L}}(?:(?!{_CJK})[\p{{L}}\p{{M}}])*")


def unspaced(word: str) -> bool:
    """Whether a word is written in Han or kana."""
    return _UNSPACED.match(word) is not None


def spans(text: str, language: str | None = None) -> list[Span]:
    """(start, end) of every word; Chinese and Japanese are segmented.

    >>> spans("Der Hund, 2 Mal!", "de")
    [(0, 3), (4, 8), (12, 15)]
    """
    found: list[Span] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        if not unspaced(match.group()):
            found.append((start, end))
            continue
        for word in segment(match.group(), language).split():
            found.append((start, start + len(word)))
            start += len(word)
    return found


def words_of(text: str, language: str | None = None) -> list[str]:
    """The words of a text, normalised as by tokenizers."""
    text = normalise(text, language)
    return [text[start:end] for start, end in spans(text, language)]


def change_words(
    text: str, places: Sequence[Span], rate: float, change: Change, key: str
) -> tuple[str, int]:
    """Change some words of a text; returns the text and the number of changes.

    A change at one rate is the same at any higher rate.

    Args:
        text: a sentence.
        places: (start, end) of each of its words.
        rate: probability that a word is changed.
        change: returns another word, or None.
        key: seeds all random choices.
    """
    rng, parts, done, changed = Random(key), [], 0, 0
    for number, (start, end) in enumerate(places):
        if rng.random() >= rate:
            continue
        new = change(text[start:end], Random(f"{key}\0{number}"))
        if new is not None and new != text[start:end]:
            parts += [text[done:start], new]
            done, changed = end, changed + 1
    return "".join([*parts, text[done:]]), changed
