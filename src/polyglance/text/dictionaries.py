"""Bilingual dictionaries in MUSE's format: one source and target word per line."""

import re
from collections.abc import Iterator
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_lines, refuse_pipe

Pairs = list[tuple[str, str]]
"""(source word, target word)"""

_NAME = re.compile(r"(?P<source>[a-z]{2,3})-(?P<target>[a-z]{2,3})(\.[\w-]+)*\.txt(\.gz)?")


def read_pairs(path: Path) -> Pairs:
    """Read a dictionary in MUSE's format."""
    pairs: dict[tuple[str, str], None] = {}
    for number, line in read_lines(path):
        parts = line.split("\t") if "\t" in line else line.split()
        parts = [part.strip() for part in parts]
        if parts in ([], [""]):
            continue
        if len(parts) != 2 or not all(parts):
            raise PolyglanceError(
                f"{path}, line {number}: expected a source and a target word, found {len(parts)} "
                "parts; correct or remove the line"
            )
        pairs[parts[0], parts[1]] = None
    if not pairs:
        raise PolyglanceError(f"{path}: the dictionary is empty")
    return list(pairs)


def dictionary_languages(path: Path) -> tuple[str, str] | None:
    """The languages in a dictionary's file name; None for other files.

    >>> dictionary_languages(Path("fr-de.0-5000.txt")), dictionary_languages(Path("notes.txt"))
    (('fr', 'de'), None)
    """
    found = _NAME.fullmatch(path.name)
    return None if found is None else (found["source"], found["target"])


def dictionary_files(path: Path) -> list[Path]:
    """The dictionaries at a path: itself, or those in a folder, sorted; others are ignored."""
    refuse_pipe(path)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [file for file in files if dictionary_languages(file) and file.is_file()]


def synset_lines(files: list[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield (synset, language, word); every word pair is a synset."""
    numbers: dict[frozenset[tuple[str, str]], int] = {}
    for file in files:
        languages = dictionary_languages(file)
        assert languages is not None
        for pair in read_pairs(file):
            sides = tuple(zip(languages, pair, strict=True))
            if (key := frozenset(sides)) in numbers:
                continue  # also in the file of the other direction
            numbers[key] = len(numbers)
            for language, word in sides:
                yield f"{numbers[key]}-pair", language, word
