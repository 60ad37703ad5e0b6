"""Texts from outside, such as names of files, for people to read and for programs to use."""

import base64
import os
import unicodedata
from pathlib import Path

_ESCAPED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Control characters, direction marks, halves of surrogate pairs, separators of lines."""
_JOINERS = {"\u200c", "\u200d"}
"""Persian, Indian scripts and emoji need them."""


def printable(text: object) -> str:
    r"""A text in one line that does nothing but be read: what would command a terminal is escaped.

    >>> print(printable("a\x1b[2Jb\nc"))
    a\x1b[2Jb\nc
    """
    return "".join(map(_escape, str(text)))


def _escape(letter: str) -> str:
    if unicodedata.category(letter) not in _ESCAPED or letter in _JOINERS:
        return letter
    if 0xDC80 <= ord(letter) <= 0xDCFF:  # a byte of a file's name that is not UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode()


def path_bytes(path: Path) -> bytes:
    """A path as a line of a pipe has it: its exact bytes, unless they would break the line."""
    text = str(path)
    broken = any(unicodedata.category(letter) == "Cc" for letter in text)
    return printable(text).encode() if broken else os.fsencode(path)


def path_fields(path: Path, name: str = "path") -> dict[str, str]:
    """A path for JSON: as text, and as base64 of its bytes where no text can be exact.

    >>> path_fields(Path("a.jpg"))
    {'path': 'a.jpg'}
    """
    exact = os.fsencode(path)
    try:
        return {name: exact.decode("utf-8")}
    except UnicodeDecodeError:
        coded = base64.b64encode(exact).decode("ascii")
        return {name: exact.decode("utf-8", "replace"), f"{name}_base64": coded}
