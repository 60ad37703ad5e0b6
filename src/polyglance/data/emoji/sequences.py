"""Emoji as sequences of code points: how files call them, and which show one concept."""

import re
from pathlib import Path

_PERSONS = frozenset({0x1F468, 0x1F469, 0x1F9D1})
_GENDERS = frozenset({0x2640, 0x2642})
_TONES = frozenset(range(0x1F3FB, 0x1F400))
_JOINER, _VARIATION = 0x200D, 0xFE0F
_NAMED = re.compile(r"(?:emoji_)?u?\+?([0-9a-f]{2,6}(?:[-_ ][0-9a-f]{2,6})*)", re.IGNORECASE)


def sequence_of_file(path: Path) -> str | None:
    """The emoji that a file is called by, in Noto's, Twemoji's and Fluent's ways; None of others.

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
    """A sequence without the selectors of its coloured form, which files and names may lack."""
    return sequence.replace(chr(_VARIATION), "")


def has_tone(sequence: str) -> bool:
    """Whether an emoji says a skin tone: it has no name of its own."""
    return any(ord(point) in _TONES for point in sequence)


def concept(sequence: str) -> str:
    """What emoji have in common that must not be in two splits, as hexadecimal code points.

    Skin tones, genders and the person beside a thing are left out: a woman and a man who fight
    fires, and the fire engine that their sequences hold, are one concept.

    >>> concept("👩‍🚒") == concept("👨‍🚒") == concept("🚒")
    True
    >>> concept("👩") == concept("👨")
    False
    """
    points = [ord(point) for point in sequence]
    kept = [p for p in points if p not in _TONES | _GENDERS | {_JOINER, _VARIATION}]
    things = [p for p in kept if p not in _PERSONS]
    return "-".join(f"{point:x}" for point in things or kept or points)
