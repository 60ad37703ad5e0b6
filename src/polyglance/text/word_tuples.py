"""Words of a lexicon as text-only tuples: the names of a thing, an action or a quality."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_lines, write_jsonl_gz
from polyglance.text.lexicon import Lexicon

VISIBLE = {"04", "05", "06", "08", "11", "13", "15", "17", "18", "19", "20", "25", "27"}
"""WordNet's lexicographer files of what images show: acts, animals, artifacts, body parts, events,
food, locations, objects, people, phenomena, plants, shapes and substances."""
NAMES = 2
"""Most words per language and tuple; lexicons list the usual ones first."""
SPREAD = 18
"""Fewest languages of a synset: what many languages have a word for is common."""


def visible_nouns(path: Path) -> set[str]:
    """Synsets of WordNet 3.0's `data.noun` that an image can show."""
    found = set()
    for number, line in read_lines(path):
        if line.startswith("  "):  # the licence
            continue
        cells = line.split(" ", 2)
        if len(cells) < 3 or not (cells[0] + cells[1]).isdecimal():
            raise PolyglanceError(f"{path}, line {number}: not a line of WordNet")
        if cells[1] in VISIBLE:
            found.add(f"{cells[0]}-n")
    return found


def word_tuples(
    lexicon: Lexicon,
    nouns: Collection[str],
    spread: int = SPREAD,
    without: Collection[str] = (),
) -> dict[str, dict[str, list[str]]]:
    """Synset → language → words, for synsets with an English word and one in another language.

    Args:
        lexicon: source of the words.
        nouns: synsets of nouns to include; verbs and adjectives always are, adverbs never.
        spread: fewest languages with a word, whether they are included or not.
        without: languages to leave out.
    """
    common = {synset for synset, count in lexicon.spread.items() if count >= spread}
    chosen = {s for s in common if s in nouns or s.endswith(("-v", "-a"))}
    found: dict[str, dict[str, list[str]]] = {synset: {} for synset in sorted(chosen)}
    for language in lexicon.languages:
        if language in without:
            continue
        for synset, lemmas in lexicon.lemmas(language).items():
            words = [lemma for lemma in lemmas if any(map(str.isalpha, lemma))][:NAMES]
            if synset in found and words:
                found[synset][language] = words
    return {synset: own for synset, own in found.items() if "en" in own and len(own) > 1}


def write_word_tuples(path: Path, found: dict[str, dict[str, list[str]]]) -> None:
    """Write tuples in the form of text-only.jsonl.gz, with words as captions of kind `name`."""

    def rows() -> Iterator[dict[str, Any]]:
        for synset, words in found.items():
            captions = {language: {"name": own} for language, own in words.items()}
            yield {"id": f"wordnet/{synset}", "captions": captions}

    write_jsonl_gz(path, rows())
