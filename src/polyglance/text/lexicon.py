"""Words of many languages by meaning: WordNet synsets (`lexicon.tsv.gz`), or dictionaries."""

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from polyglance.core.progress import Bar
from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import content_digest, file_digest
from polyglance.storage.files import read_lines, refuse_pipe
from polyglance.text.dictionaries import Pairs, dictionary_files, synset_lines
from polyglance.text.tokenizers.normalise import normalise

ENVIRONMENT = "POLYGLANCE_LEXICON"
KEPT = 2
"""Lexicons kept in memory."""
_BYTES_OF_A_LINE, _STRIDE = 12, 20_000

Synsets = Mapping[str, Collection[str]]
"""word → its synsets"""


class Lexicon:
    """The words of a file by language; a language is indexed on first use.

    Lines are `synset <tab> language <tab> lemma|lemma|…`. Instead, it can be a dictionary in MUSE's
    format whose name states its languages, such as `fr-de.0-5000.txt`, or a folder of them; each
    word pair is then a synset. A missing language has no words; `require` raises an error for it.

    Lexicons use standard spelling (German nouns are capitalised), while captions are lower-cased:
    to look up words of captions, use `normalised`.
    """

    def __init__(self, path: Path, lines: Mapping[str, str]) -> None:
        """Use `open`; `lines` maps languages to lines of `synset <tab> lemmas`."""
        self.path = path
        self.languages = sorted(lines)
        self._lines = lines
        self._synsets: dict[tuple[str, bool], dict[str, tuple[str, ...]]] = {}

    @classmethod
    def open(cls, path: Path) -> "Lexicon":
        """Read a file, or reuse it if it has been read before and has not changed."""
        path = path.resolve()
        states = [(file, file.stat()) for file in lexicon_files(path)]
        return _open(path, tuple((f, s.st_mtime_ns, s.st_size) for f, s in states))

    def require(self, language: str) -> None:
        """Raise an error unless the lexicon has the language."""
        if language not in self._lines:
            hint = nearest(language, self.languages)
            raise PolyglanceError(f"{self.path}: has no language '{language}'{hint}")

    def words(self, language: str) -> list[str]:
        """Single words in the lexicon's spelling, in file order."""
        return list(self.synsets(language))

    def synsets(self, language: str, normalised: bool = False) -> dict[str, tuple[str, ...]]:
        """Single word → its synsets; multi-word expressions are omitted.

        Args:
            language: of the words.
            normalised: whether to normalise words as tokenizers do.
        """
        key = language, normalised
        if key not in self._synsets:
            found: dict[str, dict[str, None]] = {}
            for synset, lemmas in self._entries(language):
                for word in single_words(lemmas):
                    form = normalise(word, language) if normalised else word
                    found.setdefault(form, {})[synset] = None
            self._synsets[key] = {word: tuple(synsets) for word, synsets in found.items()}
        return self._synsets[key]

    def lemmas(self, language: str) -> dict[str, list[str]]:
        """Synset → words and expressions of a language."""
        return {synset: lemma_words(lemmas) for synset, lemmas in self._entries(language)}

    def synonyms(self, language: str) -> list[list[str]]:
        """Groups of two or more words that share a synset, normalised."""
        groups = [single_words(lemmas) for _, lemmas in self._entries(language)]
        return [[normalise(word, language) for word in own] for own in groups if len(own) > 1]

    def pairs(self, source: str, target: str, normalised: bool = False) -> Pairs:
        """All pairs of words that share a synset, each word's most likely translation first.

        Args:
            source: language of the first words.
            target: language of the second words.
            normalised: whether to normalise words as tokenizers do.
        """
        if source == target:
            raise PolyglanceError(f"'{source}-{target}': a dictionary needs two languages")
        self.require(source)
        self.require(target)
        shared = SharedSynsets(self.synsets(source, normalised), self.synsets(target, normalised))
        return [(word, other) for word in shared.source for other in shared.ranked(word)]

    @cached_property
    def spread(self) -> Counter[str]:
        """Synset → number of languages with a word for it."""
        return Counter(
            synset
            for language in self.languages
            for synset in dict.fromkeys(synset for synset, _ in self._entries(language))
        )

    def _entries(self, language: str) -> list[tuple[str, str]]:
        """(synset, lemmas) of each line of a language."""
        found = []
        for line in self._lines[language].split("\n") if language in self._lines else ():
            synset, _, lemmas = line.partition("\t")
            found.append((synset, lemmas))
        return found


class SharedSynsets:
    """Similarity of words in meaning, by shared synsets (Jaccard index).

    >>> shared = SharedSynsets({"Hund": ["1"]}, {"dog": ["1", "2"], "hound": ["1"]})
    >>> shared.similarities("Hund"), shared.ranked("Hund")
    ({'dog': 0.5, 'hound': 1.0}, ['hound', 'dog'])
    """

    def __init__(self, source: Synsets, target: Synsets) -> None:
        self.source, self.target = source, target
        self._words: dict[str, list[str]] = {}
        for word, synsets in target.items():
            for synset in synsets:
                self._words.setdefault(synset, []).append(word)

    def similarities(self, word: str) -> dict[str, float]:
        """Target words that share a synset with a source word → Jaccard index."""
        own = self.source.get(word, ())
        shared = Counter(other for synset in own for other in self._words.get(synset, ()))
        return {
            other: count / (len(own) + len(self.target[other]) - count)
            for other, count in shared.items()
        }

    def ranked(self, word: str) -> list[str]:
        """The target words of `similarities`, the most similar first."""
        found = self.similarities(word)
        return sorted(found, key=lambda other: (-found[other], other))


def lexicon_path(explicit: str | Path | None, needed_by: str, option: str = "--lexicon") -> Path:
    """The path of the lexicon: `explicit`, or $POLYGLANCE_LEXICON.

    Args:
        explicit: from the user; empty is the same as None.
        needed_by: what needs the lexicon, for the error.
        option: the option or field that sets it, for the error.
    """
    named = str(explicit or os.environ.get(ENVIRONMENT) or "").strip()
    if not named:
        raise PolyglanceError(
            f"{needed_by} needs a lexicon: give lexicon.tsv.gz with {option}, or set ${ENVIRONMENT}"
        )
    path = Path(named).expanduser()
    if not path.exists():
        raise PolyglanceError(f"{path}: no such file; {needed_by} needs a lexicon")
    lexicon_files(path)
    return path


def lexicon_files(path: Path) -> list[Path]:
    """The files of a lexicon: itself, or the dictionaries of a folder, at least one."""
    refuse_pipe(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise PolyglanceError(f"{path}: no such file")
    found = dictionary_files(path)
    if not found:
        raise PolyglanceError(
            f"{path}: contains no dictionaries; name them by their languages, such as fr-de.txt"
        )
    return found


def lexicon_digest(path: Path) -> str:
    """Digest of a lexicon's content: its file, or the names and content of its dictionaries."""
    if path.is_file():
        return file_digest(path)
    return content_digest(f"{file.name} {file_digest(file)}\n" for file in lexicon_files(path))


def lemma_words(lemmas: str) -> list[str]:
    """Words and expressions of a line; a Chinese 的 or 地 after a plus is removed.

    >>> lemma_words("dog|hot_dog|快乐+的")
    ['dog', 'hot dog', '快乐']
    """
    words = (lemma.split("+")[0].replace("_", " ").strip() for lemma in lemmas.split("|"))
    return [word for word in words if word]


def single_words(lemmas: str) -> list[str]:
    """The words of a line, without multi-word expressions."""
    return [word for word in lemma_words(lemmas) if not any(map(str.isspace, word))]


@lru_cache(maxsize=KEPT)
def _open(path: Path, files: tuple[tuple[Path, int, int], ...]) -> Lexicon:
    # One string per language takes a third of the memory of a list of lines.
    found: dict[str, bytearray] = {}
    estimate = sum(size for _, _, size in files) // _BYTES_OF_A_LINE
    names = [file for file, _, _ in files]
    muse = dictionary_files(path)
    rows = synset_lines(names) if muse else _synset_rows(path)
    with Bar(f"reading {path.name}", estimate, "lines", estimate > _STRIDE) as bar:
        for number, (synset, language, lemmas) in enumerate(rows, 1):
            text = found.setdefault(language, bytearray())
            text += f"\n{synset}\t{lemmas}".encode()
            if number % _STRIDE == 0:
                bar.advance(_STRIDE)
    return Lexicon(path, {language: text[1:].decode() for language, text in found.items()})


def _synset_rows(path: Path) -> Iterator[tuple[str, str, str]]:
    for number, line in read_lines(path):
        parts = line.split("\t")
        if len(parts) != 3:
            raise PolyglanceError(
                f"{path}, line {number}: expected synset, language and lemmas separated by tabs; "
                "name a dictionary of word pairs by its languages, such as fr-de.txt"
            )
        yield parts[0], parts[1], parts[2]
