"""Emoji as sequences of code points: their file names and concepts."""

import re
from pathlib import Path

_PERSONS = frozenset({0x1F468, 0x1F469, 0x1F9D1})
_GENDERS = frozenset({0x2640, 0x2642})
_TONES = frozenset(range(0x1F3FB, 0x1F400))
_JOINER, _VARIATION = 0x200D, 0xFE0F
_NAMED = re.compile(r"(?:emoji_)?u?\+?([0-9a-f]{2,6}(?:[-_ ][0-9a-f]{2,6})*)", re.IGNORECASE)


def sequence_of_file(path: Path) -> str | None:
    """The emoji of a file name in the style of Noto, Twemoji or Fluent; None for other files.

    >>> sequence_of_file(Path("1f34e.png")), sequence_of_file(Path("emoji_u1f34e.png"))
    ('🍎', '🍎')
    >>> sequence_of_file(Path("sheet.png"))
    """
    match = _NAMED.fullmatch(path.stem)
    if match is None:
        return None
    points = [int(part, 16) for part in re.split("[-_ ]", match[1])]
    return plain("".join(map(chr, points))) if max(points) < 0x110000 else None


def plain(sequence: str) -> str:
    """Remove variation selectors, which files and names may lack."""
    return sequence.replace(chr(_VARIATION), "")


def has_tone(sequence: str) -> bool:
    """Whether an emoji has a skin tone, and so no name of its own."""
    return any(ord(point) in _TONES for point in sequence)


def concept(sequence: str) -> str:
    """The concept of an emoji, which must not be in two splits, as hexadecimal code points.

    Skin tones, genders and the person beside a thing are ignored: female and male firefighters, and
    the fire engine in their sequences, are one concept.

    >>> concept("👩‍🚒") == concept("👨‍🚒") == concept("🚒")
    True
    >>> concept("👩") == concept("👨")
    False
    """
    points = [ord(point) for point in sequence]
    kept = [p for p in points if p not in _TONES | _GENDERS | {_JOINER, _VARIATION}]
    things = [p for p in kept if p not in _PERSONS]
    return "-".join(f"{point:x}" for point in things or kept or points)
