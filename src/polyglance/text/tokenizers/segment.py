"""Word segmentation of scripts without spaces: Chinese, Japanese, Thai and its neighbours."""

import logging
import warnings
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

import regex

from polyglance.core.languages import base_language
from polyglance.errors import PolyglanceError
from polyglance.storage.files import cache_dir

_CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]+")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_CLUSTERED = regex.compile(
    r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}][\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{M}]*"
)
# A base with its marks, stacked consonants (Khmer, Burmese), and the vowel letters that Thai and
# Lao write before or after it.
_CLUSTER = regex.compile(
    r"[\u0E40-\u0E44\u0EC0-\u0EC4]?\P{M}(?:\p{M}|(?<=[\u17D2\u1039])\p{L})*"
    r"[\u0E30\u0E32\u0E33\u0E45\u0EB0\u0EB2\u0EB3]?"
)
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_SUDACHI_LIMIT = 10_000
"""Characters per call; Sudachi's limit is 49,149 bytes."""
_SUDACHI_LOCK = Lock()
"""Sudachi's tokenizer is not thread-safe."""


def is_unspaced(word: str) -> bool:
    """Whether a word has characters of a script without spaces between words."""
    return _UNSPACED.search(word) is not None


def segment(text: str, language: str | None = None) -> str:
    """Insert spaces between the words of unspaced scripts; other text is unchanged.

    Han is taken as Japanese if the language is, or if it is not Chinese and the text has kana.
    """
    if text.isascii() or not is_unspaced(text):
        return text
    code = language and base_language(language)
    japanese = code == "ja" or (code != "zh" and _KANA.search(text) is not None)
    text = _CJK.sub(_spaced(_cut_japanese if japanese else _cut_chinese), text)
    return _CLUSTERED.sub(_spaced(_CLUSTER.findall), text)


def japanese_readings(text: str) -> list[tuple[str, str]]:
    """Words of a Japanese text with their readings in katakana."""
    tool = _sudachi()
    parts = [text[i : i + _SUDACHI_LIMIT] for i in range(0, len(text), _SUDACHI_LIMIT)]
    with _SUDACHI_LOCK:
        return [(w.surface(), w.reading_form()) for part in parts for w in tool.tokenize(part)]


def _spaced(cut: Callable[[str], list[str]]) -> Callable[[Any], str]:
    return lambda match: f" {' '.join(cut(match.group()))} "


def _cut_chinese(run: str) -> list[str]:
    return _jieba().lcut(run)


def _cut_japanese(run: str) -> list[str]:
    return [surface for surface, _ in japanese_readings(run)]


@cache
def _jieba() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import jieba
    except ImportError:
        raise PolyglanceError("Chinese text needs a segmenter: pip install jieba") from None
    jieba.setLogLevel(logging.CRITICAL)
    tool = jieba.Tokenizer()
    try:
        folder = cache_dir() / "jieba"
        folder.mkdir(parents=True, exist_ok=True)
        tool.tmp_dir = str(folder)
    except OSError:
        pass  # jieba falls back to the system's temporary folder
    tool.initialize()
    return tool


@cache
def _sudachi() -> Any:
    try:
        from sudachipy import Dictionary, SplitMode

        return Dictionary(dict="small").tokenizer(mode=SplitMode.A)
    except ImportError:
        remedy = "pip install sudachipy sudachidict_small"
        raise PolyglanceError(f"Japanese text needs a segmenter: {remedy}") from None
