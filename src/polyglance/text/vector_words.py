"""Fixed vectors of every language's words, and linear translators between languages."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.files import atomic, has_file, read_json, refuse_pipe, write_json
from polyglance.recipes.schema import TextRecipe
from polyglance.text.reader import Encoded, Reader, Substitutes, Words, by_language
from polyglance.text.subwords import SubwordVectors
from polyglance.text.vectors import normalise_rows
from polyglance.text.vocabulary import Ragged

FILE, VECTORS, SUBWORDS = "words.json", "words.safetensors", "subwords"
NOTHING = 0
"""The id of a text without any known word; its vector is 0."""
KEPT_WORDS = 50_000
"""Unseen words whose vectors are kept between texts."""


@dataclass(frozen=True)
class LanguageWords:
    """The words of a language that a model knows, with vectors [n, d] of length 1.

    With `subwords`, fastText's .bin in `file`, any other word has a vector, too. `mean` [d] is
    what vectors were centred by. `translated` says whether the language has a translator.
    """

    words: list[str]
    matrix: np.ndarray
    mean: np.ndarray | None = None
    subwords: SubwordVectors | None = None
    file: str | None = None
    translated: bool = False

    def prepare(self, vectors: np.ndarray) -> np.ndarray:
        """Raw vectors [m, d] scaled, and centred where these are."""
        rows = normalise_rows(vectors)
        return rows if self.mean is None else normalise_rows(rows - self.mean)


class VectorReader(Reader):
    """Words of each language → ids of one numbering; words without a vector are dropped.

    Ids are those of the known words, language after language from 1 on, then those of words
    that got their vector from n-grams since. With `copy`, a saved model has the .bin files in
    its own folder.
    """

    def __init__(self, languages: Mapping[str, LanguageWords], copy: bool = False) -> None:
        self.languages, self.copy = dict(languages), copy
        parts = list(self.languages.values())
        nothing = np.zeros((1, self.dim), np.float32)
        self.matrix = np.concatenate([nothing, *(part.matrix for part in parts)])
        sizes = [1, *(len(part.words) for part in parts)]
        self._owner = np.repeat(np.arange(len(sizes)) - 1, sizes)
        self._ids: dict[str, dict[str, int]] = {}
        first = 1
        for code, part in self.languages.items():
            self._ids[code] = {word: first + i for i, word in enumerate(part.words)}
            first += len(part.words)
        self._new: list[tuple[str, str]] = []
        self._vectors = np.empty((0, self.dim), np.float32)
        self._kept = 0

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return next(iter(self.languages.values())).matrix.shape[1]

    def of(self, language: str | None) -> LanguageWords:
        """The words of a language."""
        return by_language(self.languages, language)

    def owners(self, ids: np.ndarray) -> np.ndarray:
        """Which language, by position, each of the ids [n] belongs to; -1 for none."""
        known = self._owner[np.minimum(ids, len(self._owner) - 1)]
        if not self._new:
            return known
        codes = list(self.languages)
        new = np.array([codes.index(code) for code, _ in self._new])
        return np.where(ids < len(self._owner), known, new[np.maximum(ids - len(self._owner), 0)])

    def unseen(self, ids: np.ndarray) -> np.ndarray:
        """Vectors [n, d] of ids that the model did not know."""
        return self._vectors[ids - len(self._owner)]

    def sizes(self, mask: bool = False) -> dict[str, int]:
        """Known words of all languages together."""
        return {"": len(self._owner)}

    def encode(
        self,
        recipe: TextRecipe,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> Encoded:
        """Ids of the words that have a vector; of a text without any, `NOTHING`.

        A text without a language is read in the one that knows most of its words.
        """
        codes = [self._language(found, code) for found, code in zip(words, languages, strict=True)]
        self._learn(words, codes)
        parts = []
        for found, code in zip(words, codes, strict=True):
            ids = self._ids[code]
            known = [ids[word] for word in found if word in ids]
            parts.append(known[: recipe.max_length] or [NOTHING])
        return Encoded(Ragged.join(parts))

    def _language(self, words: Sequence[str], code: str | None) -> str:
        if code is not None:
            self.of(code)
            return code
        return max(self._ids, key=lambda one: sum(word in self._ids[one] for word in words))

    def _learn(self, words: Sequence[Sequence[str]], codes: Sequence[str]) -> None:
        """Give ids to unseen words of languages that have n-grams."""
        missing: dict[str, dict[str, None]] = {}
        for found, code in zip(words, codes, strict=True):
            if self.languages[code].subwords is not None:
                ids = self._ids[code]
                missing.setdefault(code, {}).update((w, None) for w in found if w not in ids)
        for code, new in missing.items():
            subwords = self.languages[code].subwords
            if not new or subwords is None:
                continue
            vectors = self.languages[code].prepare(subwords.vectors(list(new), False))
            for word in new:
                self._ids[code][word] = len(self._owner) + len(self._new)
                self._new.append((code, word))
            self._vectors = np.concatenate([self._vectors, vectors])

    def keep(self) -> None:
        self._kept = len(self._new)

    def release(self) -> None:
        if len(self._new) <= max(KEPT_WORDS, self._kept):
            return
        for code, word in self._new[self._kept :]:
            del self._ids[code][word]
        del self._new[self._kept :]
        self._vectors = self._vectors[: self._kept].copy()

    def substitutes(self, language: str | None) -> Substitutes:
        """Nothing in the place of a masked word, and any known word of the language."""
        known = self.of(language).words
        first = self._ids[str(language)][known[0]]
        return Substitutes(NOTHING, np.arange(first, first + len(known)), np.empty(0, np.int64))

    def recognise(
        self, recipe: TextRecipe, words: Sequence[str], language: str | None
    ) -> tuple[Words, Words]:
        """The words, and those of them that have no vector."""
        code = self._language(words, language)
        if self.languages[code].subwords is not None:
            return tuple(words), ()
        return tuple(words), tuple(word for word in words if word not in self._ids[code])

    def save(self, folder: Path) -> None:
        """Write words.json and words.safetensors; with `copy` also the .bin files."""
        from safetensors.numpy import save

        tensors, described = {}, {}
        for code, part in self.languages.items():
            tensors[f"{code}.matrix"] = np.ascontiguousarray(part.matrix)
            if part.mean is not None:
                tensors[f"{code}.mean"] = part.mean
            file = _copied(part, code, folder) if self.copy else part.file
            described[code] = {"words": part.words, "translated": part.translated, "file": file}
        with atomic(folder / VECTORS) as handle:
            handle.write(save(tensors))
        write_json(folder / FILE, {"languages": described})

    @classmethod
    def load(cls, folder: Path) -> "VectorReader":
        """Read what `save` wrote; without its .bin a language has the known words alone."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        where = folder / FILE
        value: Any = read_json(where)
        try:
            refuse_pipe(folder / VECTORS)
            tensors = load_file(folder / VECTORS)
            languages = {}
            for code, one in value["languages"].items():
                matrix, words = tensors[f"{code}.matrix"], list(one["words"])
                if len(matrix) != len(words):
                    raise ValueError(f"{len(words)} words and {len(matrix)} vectors of '{code}'")
                mean, subwords = tensors.get(f"{code}.mean"), _subwords(one["file"], folder)
                file, translated = one["file"], bool(one["translated"])
                languages[code] = LanguageWords(words, matrix, mean, subwords, file, translated)
        except (SafetensorError, OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise PolyglanceError(
                f"{where}: does not fit {VECTORS} ({error}); copy the whole folder again"
            ) from None
        return cls(languages)


def _copied(part: LanguageWords, code: str, folder: Path) -> str | None:
    """A language's .bin in the model's folder."""
    if part.file is None:
        return None
    place, source = Path(SUBWORDS) / f"{code}.bin", Path(part.file).expanduser()
    if not (folder / place).is_file():
        refuse_pipe(source)
        with source.open("rb") as old, atomic(folder / place) as new:
            shutil.copyfileobj(old, new)
    return str(place)


def _subwords(file: str | None, folder: Path) -> SubwordVectors | None:
    if file is None:
        return None
    path = folder / Path(file).expanduser()
    return SubwordVectors.open(path) if has_file(path) else None
