"""Wraps a text to a width in pixels."""

import re
from collections.abc import Callable, Iterator

# Chinese and Japanese break between any two characters, other scripts at spaces.
_PIECES = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff][\u3001\u3002\uff01\uff0c\uff1a\uff1f]*"
    "|[^\\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|\\s+"
)


def wrap(text: str, width: float, measure: Callable[[str], float], most: int) -> list[str]:
    """Wrap a text into lines.

    >>> wrap("a dog on a sofa", 6, len, 5)
    ['a dog', 'on a', 'sofa']

    Args:
        text: of any length.
        width: that no line exceeds, if words allow.
        measure: returns the width of a piece of text.
        most: largest number of lines; the last one ends in "…" if there are more.
    """
    lines = [""]
    text = " ".join(text.split())
    for piece in _split(text, width, measure):
        if len(lines) > most + 1:
            break  # the rest is not shown
        if lines[-1] and measure((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece if lines[-1] or not piece.isspace() else ""
    lines = [line.strip() for line in lines if line.strip()]
    if len(lines) > most:
        lines = [*lines[: most - 1], _cut(lines[most - 1], width, measure)]
    return lines


def _split(text: str, width: float, measure: Callable[[str], float]) -> Iterator[str]:
    """Pieces between which a line may break; words wider than a line are split."""
    for match in _PIECES.finditer(text):
        piece = match[0]
        while (fits := _fitting(piece, width, measure)) < len(piece):
            yield piece[:fits]
            piece = piece[fits:]
        yield piece


def _fitting(piece: str, width: float, measure: Callable[[str], float]) -> int:
    """How many of a piece's first letters fit, at least 1, by bisection."""
    fits, beyond = 1, 2
    while beyond < len(piece) and measure(piece[:beyond]) <= width:
        fits, beyond = beyond, 2 * beyond
    beyond = min(beyond, len(piece)) + 1
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        fits, beyond = (middle, beyond) if measure(piece[:middle]) <= width else (fits, middle)
    return fits


def _cut(line: str, width: float, measure: Callable[[str], float]) -> str:
    while line and measure(line + "…") > width:
        line = line[:-1]
    return line.rstrip() + "…"
