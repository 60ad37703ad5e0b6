"""What a hostile case is, and what may become of it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyglance.core.terminal import printable
from polyglance.errors import PolyglanceError

LONGEST = 2_000
"""Characters of a refusal at most; nobody reads more."""


@dataclass(frozen=True)
class Case:
    """A hostile input.

    Args:
        name: what is wrong with it.
        write: writes it into an empty folder; the path to read.
        refused: whether reading must fail; None is for random damage, which may be harmless.
    """

    name: str
    write: Callable[[Path], Path]
    refused: bool | None = True


def outcome(case: Case, read: Callable[[Path], object], folder: Path) -> str:
    """The refusal of a case, "" where it was read; whatever else is raised is a fault of ours."""
    folder.mkdir(parents=True)
    path = case.write(folder)
    try:
        read(path)
        said = ""
    except PolyglanceError as error:
        said = str(error)
        assert said.strip(), case.name
        assert len(said) <= LONGEST, (case.name, len(said))
        assert printable(said).isprintable() or "\u200c" in said or "\u200d" in said, case.name
    if case.refused is not None:
        assert bool(said) is case.refused, (case.name, said)
    return said


def damaged(data: bytes, generator: np.random.Generator) -> bytes:
    """Bytes cut, overwritten, repeated or filled, as a disk or an attacker would."""
    size = len(data)
    start, stop = sorted(int(place) for place in generator.integers(0, size + 1, 2))
    way = int(generator.integers(4))
    if way == 0:
        return data[:start]
    if way == 1:
        changed = bytearray(data)
        for place in generator.integers(0, size, int(generator.integers(1, 9))):
            changed[place] = int(generator.integers(256))
        return bytes(changed)
    if way == 2:
        return data[:stop] + data[start:]
    return data[:start] + bytes(generator.integers(0, 256, stop - start, np.uint8)) + data[stop:]


def more(default: int) -> int:
    """How many random cases: `default`, or as many times that as POLYGLANCE_HOSTILE says."""
    return default * int(os.environ.get("POLYGLANCE_HOSTILE", "1"))


def seeds(count: int) -> Iterator[np.random.Generator]:
    """A generator for each of `count` random cases, the same every time."""
    return (np.random.default_rng(seed) for seed in range(count))
