"""Normalises the different ways of typing a word: Unicode, case, optional marks."""

import re
import unicodedata
from functools import cache

import regex

from polyglance.core.languages import base_language

_APOSTROPHES = "’‘ʼ′´`‛׳״"
_TURKIC = {"tr", "az"}
_TURKIC_LETTERS = frozenset("ıİğĞ")

# NFKC would turn a spacing accent into a space and a mark, and ™ and № into letters.
_BEFORE = {
    **dict.fromkeys(map(ord, _APOSTROPHES), "'"),
    **dict.fromkeys(map(ord, "\u200b\u2060\u00a0№"), " "),
    ord("ŉ"): "'n",
    **dict.fromkeys(map(ord, "™©®"), None),
}
# Format characters (bidi, joiners, soft hyphen), emoji modifiers and selectors, tatweel, the
# optional vowel signs of Arabic and Hebrew, and stress marks on Cyrillic letters.
_DROP = regex.compile(
    r"[\p{Cf}\p{Variation_Selector}\p{Emoji_Modifier}\u0640\u0610-\u061A\u064B-\u065F\u0670"
    r"\u06D6-\u06ED\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u20E3]"
    r"|(?<=\p{Cyrillic})[\u0300\u0301]"
)
_LETTERS = {
    **dict.fromkeys(map(ord, "أإآٱ"), "ا"),
    **dict.fromkeys(map(ord, "ىی"), "ي"),
    ord("ک"): "ك",
    ord("ё"): "е",
}


def normalise(text: str, language: str | None = None) -> str:
    """Lower-case and normalise `text`; docs/languages.md lists what is merged.

    >>> normalise("Ｃａｆé “Größe” ٣")
    'café “größe” 3'
    """
    if text.isascii():
        return lower(text.replace("`", "'"), language)
    text = _DROP.sub("", text.translate(_BEFORE))
    text = lower(unicodedata.normalize("NFKC", text), language)
    text = _DROP.sub("", text).translate(_folding())
    # NFKC decomposes the Thai and Lao vowel AM.
    return unicodedata.normalize("NFC", text).replace("ํา", "ำ").replace("ໍາ", "ຳ")


def is_plain(text: str) -> bool:
    """Whether `text` only needs lower-casing, as most Latin or Cyrillic captions do."""
    return _plain().fullmatch(text) is not None


def lower(text: str, language: str | None) -> str:
    """Lower-case without case folding (`ß` stays); Turkish has a dotted and a dotless i."""
    turkic = (
        base_language(language) in _TURKIC if language else not _TURKIC_LETTERS.isdisjoint(text)
    )
    if turkic:
        text = text.replace("İ", "i").replace("I", "ı")
    return text.lower().replace("i̇", "i")


_LAST_DIGIT = 0x20000
"""Unicode has no decimal digits beyond the supplementary multilingual plane."""


@cache
def _folding() -> dict[int, str]:
    """Maps letters with several forms to one, and all decimal digits to 0–9."""
    characters = map(chr, range(128, _LAST_DIGIT))
    digits = {ord(c): str(unicodedata.decimal(c)) for c in characters if c.isdecimal()}
    return {**digits, **_LETTERS}


@cache
def _plain() -> re.Pattern[str]:
    """Matches characters that `normalise` only lower-cases, excluding apostrophes and marks."""
    candidates = [chr(c) for c in (*range(0x500), *range(0x2010, 0x2027)) if chr(c) not in "'`·"]
    letters = [c for c in candidates if not unicodedata.category(c).startswith("M")]
    kept = [c for c in letters if normalise(c) == c.lower()]
    return re.compile(f"[{re.escape(''.join(kept))}]*")
