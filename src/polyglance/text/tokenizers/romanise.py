"""Romanisation of Chinese and Japanese, as in LIWE's experiments.

Not needed for training, since LIWE reads the characters themselves; for comparison with the paper.
"""

import re

import regex

from polyglance.core.languages import base_language
from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers.segment import japanese_readings, segment

_HAN = regex.compile(r"\p{Han}+")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_JAPANESE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_SYLLABLE = re.compile("(ッ*)([ァ-ヺ])([ァィゥェォャュョヮ]?)(ー*)")
_TO_KATAKANA = {code: code + 0x60 for code in range(0x3041, 0x3097)}
_ROWS = dict(zip(["", *"kgsztdnhbpmr"], range(0, 65, 5), strict=True))
_FIVES = (
    "アイウエオカキクケコガギグゲゴサシスセソザジズゼゾタチツテトダヂヅデド"
    "ナニヌネノハヒフヘホバビブベボパピプペポマミムメモラリルレロ"
)
_SOUNDS = {
    **{_FIVES[at + i]: row + vowel for row, at in _ROWS.items() for i, vowel in enumerate("aiueo")},
    **{"シ": "shi", "ジ": "ji", "チ": "chi", "ヂ": "ji", "ツ": "tsu", "ヅ": "zu", "フ": "fu"},
    **{"ヤ": "ya", "ユ": "yu", "ヨ": "yo", "ワ": "wa", "ヰ": "i", "ヱ": "e", "ヲ": "wo", "ン": "n"},
    **{"ァ": "a", "ィ": "i", "ゥ": "u", "ェ": "e", "ォ": "o", "ャ": "ya", "ュ": "yu", "ョ": "yo"},
    **{"ヮ": "wa", "ヵ": "ka", "ヶ": "ke", "ヴ": "vu", "ッ": ""},
}


def romanise(text: str, language: str | None) -> str:
    """Chinese as pinyin without tones, Japanese as Hepburn, with spaces between words.

    Other languages, and characters without a reading, are unchanged. Without a language, text with
    kana is taken as Japanese, other text with Han as Chinese.

    >>> romanise("犬が走っている", "ja")
    'inu ga hashitte iru'
    """
    code = base_language(language) if language else _by_script(text)
    if code == "ja":
        return _japanese(text)
    return _chinese(text) if code == "zh" else text


def _by_script(text: str) -> str | None:
    if _KANA.search(text):
        return "ja"
    return "zh" if _HAN.search(text) else None


def hepburn(kana: str) -> str:
    """Katakana or hiragana in Latin letters; long vowels are doubled, other characters unchanged.

    >>> hepburn("シャッター"), hepburn("ファン"), hepburn("てぃっしゅ")
    ('shattaa', 'fan', 'tisshu')
    """
    return _SYLLABLE.sub(_syllable, kana.translate(_TO_KATAKANA))


def _syllable(match: re.Match[str]) -> str:
    doubled, base, small, long = map(str, match.groups())
    sound: str = _SOUNDS.get(base, base)
    if small:
        sound = _contracted(sound, _SOUNDS[small])
    if doubled and sound[:1] not in ("", *"aiueon"):
        sound = ("t" if sound.startswith("ch") else sound[0]) + sound
    return sound + sound[-1:] * len(long)


def _contracted(sound: str, small: str) -> str:
    """キ + ャ is kya, シ + ャ sha, フ + ァ fa, ウ + ィ wi."""
    if not sound.endswith(tuple("aiueo")):
        return sound + small
    stem = "w" if sound == "u" and len(small) == 1 else sound[:-1]
    soft = stem.endswith(("sh", "ch", "j")) and small.startswith("y")
    return stem + (small[1:] if soft else small)


def _japanese(text: str) -> str:
    words: list[str] = []
    for surface, reading in japanese_readings(text):
        # Sudachi also has readings for Latin letters and symbols: "T" is a ton.
        spoken = reading if _JAPANESE.search(surface) else surface
        if words and words[-1].endswith(("ッ", "っ")):
            words[-1] += spoken
        elif spoken.strip():
            words.append(spoken)
    return " ".join(hepburn(word) for word in words)


def _chinese(text: str) -> str:
    try:
        from pypinyin import lazy_pinyin
    except ImportError:
        raise PolyglanceError("pinyin needs a dictionary: pip install pypinyin") from None
    spaced = _HAN.sub(lambda run: "".join(lazy_pinyin(run.group())), segment(text, "zh"))
    return " ".join(spaced.split())
