"""Concepts of a classifier: its classes and what WordNet puts above them, with their names."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_jsonl, read_lines, write_jsonl_gz
from polyglance.text.lexicon import Lexicon
from polyglance.text.wordnets import read_data

BROADEST = 150
"""Classes that a hypernym may have: an "artifact" is no thing that one looks for."""
NAMES = 3
"""Names of a language: a lexicon has the usual ones first."""


@dataclass(frozen=True)
class Concept:
    """A synset, the numbers of the classes that it or a hyponym of it is, and its names."""

    synset: str
    classes: list[int]
    names: dict[str, list[str]]


def read_hypernyms(path: Path) -> dict[str, list[str]]:
    """Synset → the synsets right above it, of WordNet 3.0's `data.noun`.

    A line is `offset file n words (hexadecimal) word id … pointers symbol offset part …`; the
    symbols `@` and `@i` mean hypernyms, the latter of individuals.
    """
    found: dict[str, list[str]] = {}
    for number, line in read_lines(path):
        if line.startswith("  "):  # the licence
            continue
        cells = line.partition(" | ")[0].split()
        try:
            first = 4 + 2 * int(cells[3], 16)
            pointers = cells[first + 1 : first + 1 + 4 * int(cells[first])]
        except (IndexError, ValueError):
            raise PolyglanceError(f"{path}, line {number}: not a line of WordNet") from None
        found[f"{cells[0]}-n"] = [
            f"{pointers[at + 1]}-n"
            for at in range(0, len(pointers), 4)
            if pointers[at] in ("@", "@i")
        ]
    return found


def read_english(path: Path) -> dict[str, list[str]]:
    """Synset → the words that WordNet's `data.noun` has for it."""
    found: dict[str, list[str]] = {}
    for synset, _, lemma in read_data(path):
        found.setdefault(synset, []).append(lemma)
    return found


def class_concepts(
    synsets: Sequence[str],
    hypernyms: Mapping[str, Sequence[str]],
    lexicon: Lexicon,
    broadest: int = BROADEST,
    english: Mapping[str, Sequence[str]] | None = None,
) -> list[Concept]:
    """The concepts of classes that have a name, from the most to the fewest classes.

    Args:
        synsets: of the classes, in their order.
        hypernyms: synset → those above it.
        lexicon: has the names.
        broadest: the most classes that a concept may have.
        english: synset → English names where the lexicon has none, such as WordNet's own.
    """
    members: dict[str, list[int]] = {}
    for number, synset in enumerate(synsets):
        for above in _with_all_above(synset, hypernyms):
            members.setdefault(above, []).append(number)
    kept = {synset: own for synset, own in members.items() if len(own) <= broadest}
    names: dict[str, dict[str, list[str]]] = {}
    for language in lexicon.languages:
        for synset, lemmas in lexicon.lemmas(language).items():
            spelt = [name for name in lemmas if any(map(str.isalpha, name))][:NAMES]
            if synset in kept and spelt:
                names.setdefault(synset, {})[language] = spelt
    for synset, words in (english or {}).items():
        if synset in kept:
            names.setdefault(synset, {}).setdefault("en", list(words)[:NAMES])
    if not names:
        raise PolyglanceError(
            f"{lexicon.path}: names none of the classes; it must be on WordNet 3.0's synsets"
        )
    ordered = sorted(names, key=lambda synset: (-len(kept[synset]), synset))
    return [Concept(synset, kept[synset], names[synset]) for synset in ordered]


def write_concepts(path: Path, concepts: Sequence[Concept]) -> None:
    """Write a concept a line, gzipped JSON."""
    write_jsonl_gz(path, map(asdict, concepts))


def read_concepts(path: Path, classes: int) -> list[Concept]:
    """The concepts of a file, whose classes have numbers below `classes`."""
    if not path.is_file():
        raise PolyglanceError(
            f"{path}: no such file of concepts; make it with 'polyglance data classes'"
        )
    found = [_concept(value, classes, f"{path}, line {line}") for line, value in read_jsonl(path)]
    if len(found) < 2:
        raise PolyglanceError(f"{path}: {len(found)} concepts; there must be two at least")
    return found


def _concept(value: Any, classes: int, where: str) -> Concept:
    try:
        concept = Concept(value["synset"], value["classes"], value["names"])
        texts = [name for names in concept.names.values() for name in names]
        fine = concept.classes and all(type(k) is int and 0 <= k < classes for k in concept.classes)
        fine = fine and all(concept.names.values()) and all(isinstance(t, str) for t in texts)
    except (TypeError, KeyError, AttributeError):
        fine = False
    if not fine or not texts:
        raise PolyglanceError(
            f"{where}: expected synset, classes (numbers below {classes}) and names by language; "
            "make the file with 'polyglance data classes'"
        )
    return concept


def _with_all_above(synset: str, hypernyms: Mapping[str, Sequence[str]]) -> list[str]:
    found, waiting = {synset: None}, deque([synset])
    while waiting:
        for above in hypernyms.get(waiting.popleft(), ()):
            if above not in found:
                found[above] = None
                waiting.append(above)
    return list(found)
