"""Creates a lexicon from the files of Open Multilingual Wordnet and Princeton WordNet."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

from polyglance.core.languages import base_language, is_tag
from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic, read_lines

Entry = tuple[str, str, str]
"""WordNet 3.0 synset, such as 02084071-n; language; lemma."""

WORDNET = ("data.noun", "data.verb", "data.adj", "data.adv")
"""Princeton WordNet's files, with the English words."""


def make_lexicon(out: Path, sources: Iterable[Path]) -> dict[str, int]:
    """Write `synset <tab> language <tab> lemma|lemma|…`, gzipped; return synsets per language.

    If a language has several files, their words are merged in file order.

    Args:
        out: the lexicon, such as lexicon.tsv.gz.
        sources: `.tab` files, WordNet's `data.*` files, or folders of these.
    """
    found: dict[tuple[str, str], dict[str, None]] = {}
    for path in _files(sources):
        for synset, language, lemma in read_wordnet(path):
            found.setdefault((synset, language), {})[lemma] = None
    if not found:
        raise PolyglanceError(
            "the files contain no lemmas; pass wn-data-*.tab or WordNet's data.noun"
        )
    counts: dict[str, int] = {}
    with atomic(out) as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        for synset, language in sorted(found):
            lemmas = "|".join(found[synset, language])
            packed.write(f"{synset}\t{language}\t{lemmas}\n".encode())
            counts[language] = counts.get(language, 0) + 1
    return counts


def read_wordnet(path: Path) -> Iterator[Entry]:
    """The lemmas of a file in either format."""
    return read_data(path) if path.name in WORDNET else _read_tab(path)


def _files(sources: Iterable[Path]) -> list[Path]:
    found = []
    for source in sources:
        if source.is_dir():
            below = sorted(source.rglob("wn-*.tab"))
            below += [source / name for name in WORDNET if (source / name).is_file()]
            if not below:
                raise PolyglanceError(f"{source}: contains neither wn-*.tab nor data.noun")
            found += below
        elif source.is_file():
            found.append(source)
        else:
            raise PolyglanceError(f"{source}: no such file or folder")
    return found


def _read_tab(path: Path) -> Iterator[Entry]:
    """Open Multilingual Wordnet: a header, then `synset <tab> language:lemma <tab> lemma`."""
    language = ""
    for number, line in read_lines(path):
        cells = [cell.strip() for cell in line.split("\t")]
        if line.startswith("#"):
            language = language or (cells[1] if len(cells) > 1 else "")
            continue
        if len(cells) < 3:
            continue
        code, _, kind = cells[1].rpartition(":")
        if kind != "lemma" or not cells[2]:
            continue
        code = code or language
        if code.startswith("*"):  # Wiktionary's own, non-standard codes
            continue
        if not is_tag(code):
            raise PolyglanceError(
                f"{path}, line {number}: '{code}' is not a language tag; state the language in the "
                "first line"
            )
        yield _synset(cells[0]), base_language(code), cells[2].replace("|", " ")


def read_data(path: Path) -> Iterator[Entry]:
    """Princeton WordNet: `offset file kind count word id word id …`, the count in hexadecimal."""
    for number, line in read_lines(path):
        if line.startswith("  "):  # the licence
            continue
        cells = line.split()
        try:
            words = cells[4 : 4 + 2 * int(cells[3], 16) : 2]
            synset = _synset(f"{cells[0]}-{cells[2]}")
        except (IndexError, ValueError):
            raise PolyglanceError(f"{path}, line {number}: not a line of WordNet") from None
        for word in words:
            # Adjectives may have a position marker: galore(ip).
            yield synset, "en", word.partition("(")[0].replace("_", " ")


def _synset(name: str) -> str:
    """Treat satellite adjectives (s) as adjectives (a)."""
    return f"{name[:-1]}a" if name.endswith("-s") else name
