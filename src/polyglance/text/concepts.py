"""Concepts of a classifier: its classes and their WordNet hypernyms, with their names."""

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
"""Most classes of a hypernym: nobody searches for an "artifact"."""
NAMES = 3
"""Most names per language; lexicons list the usual ones first."""


@dataclass(frozen=True)
class Concept:
    """A synset, the classes that are it or a hyponym of it, and its names by language."""

    synset: str
    classes: list[int]
    names: dict[str, list[str]]


def read_hypernyms(path: Path) -> dict[str, list[str]]:
    """Synset → its direct hypernyms, from WordNet 3.0's `data.noun`.

    A line is `offset file n words (hexadecimal) word id … pointers symbol offset part …`; the
    symbols `@` and `@i` mean hypernyms, the latter those of instances.
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
    """Synset → its words in WordNet's `data.noun`."""
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
    """The named concepts of classes, by decreasing number of classes.

    Args:
        synsets: of the classes, in order.
        hypernyms: synset → its direct hypernyms.
        lexicon: source of the names.
        broadest: most classes of a concept.
        english: synset → English names, used if the lexicon has none, such as WordNet's own.
    """
    members: dict[str, list[int]] = {}
    for number, synset in enumerate(synsets):
        for above in _with_hypernyms(synset, hypernyms):
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
            f"{lexicon.path}: names none of the classes; it must use WordNet 3.0's synsets"
        )
    ordered = sorted(names, key=lambda synset: (-len(kept[synset]), synset))
    return [Concept(synset, kept[synset], names[synset]) for synset in ordered]


def write_concepts(path: Path, concepts: Sequence[Concept]) -> None:
    """Write gzipped JSON, one concept per line."""
    write_jsonl_gz(path, map(asdict, concepts))


def read_concepts(path: Path, classes: int) -> list[Concept]:
    """Read a file of concepts; class numbers must be below `classes`."""
    if not path.is_file():
        raise PolyglanceError(
            f"{path}: no such concept file; create it with 'polyglance data classes'"
        )
    found = [_concept(value, classes, f"{path}, line {line}") for line, value in read_jsonl(path)]
    if len(found) < 2:
        raise PolyglanceError(f"{path}: {len(found)} concepts; at least two are needed")
    return found


def _concept(value: Any, classes: int, where: str) -> Concept:
    try:
        concept = Concept(value["synset"], value["classes"], value["names"])
        texts = [name for names in concept.names.values() for name in names]
        valid = concept.classes and all(
            type(k) is int and 0 <= k < classes for k in concept.classes
        )
        valid = valid and all(concept.names.values()) and all(isinstance(t, str) for t in texts)
    except (TypeError, KeyError, AttributeError):
        valid = False
    if not valid or not texts:
        raise PolyglanceError(
            f"{where}: expected synset, classes (numbers below {classes}) and names by language; "
            "create the file with 'polyglance data classes'"
        )
    return concept


def _with_hypernyms(synset: str, hypernyms: Mapping[str, Sequence[str]]) -> list[str]:
    found, queue = {synset: None}, deque([synset])
    while queue:
        for above in hypernyms.get(queue.popleft(), ()):
            if above not in found:
                found[above] = None
                queue.append(above)
    return list(found)
