"""Texts in output: untrusted ones, such as file names, escaped for people and exact for programs;
and numbers with their nouns."""

import base64
import os
import unicodedata
from pathlib import Path

_ESCAPED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Control characters, direction marks, lone surrogates, line separators."""
_JOINERS = {"\u200c", "\u200d"}
"""Needed by Persian, Indic scripts and emoji."""


def printable(text: object) -> str:
    r"""A text on one line, with terminal control characters escaped.

    >>> print(printable("a\x1b[2Jb\nc"))
    a\x1b[2Jb\nc
    """
    return "".join(map(_escape, str(text)))


def _escape(letter: str) -> str:
    if unicodedata.category(letter) not in _ESCAPED or letter in _JOINERS:
        return letter
    if 0xDC80 <= ord(letter) <= 0xDCFF:  # a byte of a file name that is not UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode()


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural if needed.

    >>> counted(1, "problem"), counted(1200, "problem")
    ('1 problem', '1,200 problems')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def path_bytes(path: Path) -> bytes:
    """A path as one line of output: its exact bytes, or escaped if it has control characters."""
    text = str(path)
    broken = any(unicodedata.category(letter) == "Cc" for letter in text)
    return printable(text).encode() if broken else os.fsencode(path)


def path_fields(path: Path, name: str = "path") -> dict[str, str]:
    """A path for JSON: as text, and also as base64 if it is not UTF-8.

    >>> path_fields(Path("a.jpg"))
    {'path': 'a.jpg'}
    """
    exact = os.fsencode(path)
    try:
        return {name: exact.decode("utf-8")}
    except UnicodeDecodeError:
        coded = base64.b64encode(exact).decode("ascii")
        return {name: exact.decode("utf-8", "replace"), f"{name}_base64": coded}
