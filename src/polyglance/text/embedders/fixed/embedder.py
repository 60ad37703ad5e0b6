"""Fixed vectors of every language's words, and linear translators between languages."""

import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.core.trust import REMEDY, is_inside, trusted
from polyglance.errors import OutsideWarning, PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe, VectorsEmbedderRecipe
from polyglance.storage.files import atomic, read_json, refuse_pipe, write_json
from polyglance.text.embedders.base import (
    Embedder,
    LanguageTags,
    ReadWords,
    Substitutes,
    Texts,
    TrainingTexts,
    Words,
    by_language,
    register,
)
from polyglance.text.embedders.cache import LRU
from polyglance.text.embedders.encoded import FIRST_UNSEEN, EncodedTexts, Unseen
from polyglance.text.embedders.fixed.build import LanguageWords, VectorSource
from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.word_vectors import prepare_vectors

if TYPE_CHECKING:
    from polyglance.text.embedders.fixed.layer import TranslatedWords

FILE, VECTORS, SUBWORDS = "words.json", "words.safetensors", "subwords"
NOTHING = 0
"""The id of a text without known words; its vector is 0."""
CACHED_WORDS = 50_000
"""Unseen words whose vectors are cached."""


@register
class VectorsEmbedder(Embedder):
    """Words of all languages → ids; words without a vector are dropped.

    Known words are numbered from 1, language by language; words whose vector comes from n-grams are
    passed along with the call.
    """

    variants = (VectorsEmbedderRecipe,)
    empty = NOTHING

    def __init__(self, recipe: Recipe, languages: Mapping[str, LanguageWords]) -> None:
        super().__init__(recipe)
        assert isinstance(recipe.text.embedder, VectorsEmbedderRecipe)
        self.settings = recipe.text.embedder
        self.languages = dict(languages)
        self._numbers = {code: number for number, code in enumerate(self.languages)}
        self._ids: dict[str, dict[str, int]] = {}
        first = 1
        for code, part in self.languages.items():
            self._ids[code] = {word: first + i for i, word in enumerate(part.words)}
            first += len(part.words)
        self._composed: LRU[np.ndarray] = LRU(CACHED_WORDS)

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "VectorsEmbedder":
        captions = texts.by_language()
        languages = list(captions) or list(recipe.data.languages or ())
        if not languages:
            raise PolyglanceError("data.images=0 needs data.languages: set the languages to read")
        source = VectorSource.of(recipe.text, texts.dataset, texts.cache)
        return cls(
            recipe,
            {code: source.words(code, distinct(captions.get(code, ()))) for code in languages},
        )

    @classmethod
    def blank(cls, recipe: Recipe, words: int) -> "VectorsEmbedder":
        settings = recipe.text.embedder
        assert isinstance(settings, VectorsEmbedderRecipe)
        return cls(recipe, {"xx": LanguageWords([], np.zeros((0, settings.word_dim), np.float32))})

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "VectorsEmbedder":
        """Load from a model's folder; without a .bin file, a language has only known words."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        where = folder / FILE
        value: Any = read_json(where)
        refuse_pipe(folder / VECTORS)
        try:
            tensors = load_file(folder / VECTORS)
            languages = {}
            for code, one in value["languages"].items():
                matrix, words = tensors[f"{code}.matrix"], list(one["words"])
                if len(matrix) != len(words):
                    raise ValueError(f"{len(words)} words but {len(matrix)} vectors of '{code}'")
                mean, subwords = tensors.get(f"{code}.mean"), _subwords(one["file"], folder)
                file, translated = one["file"], bool(one["translated"])
                languages[code] = LanguageWords(words, matrix, mean, subwords, file, translated)
        except (SafetensorError, OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise PolyglanceError(
                f"{where}: does not fit {VECTORS} ({error}); copy the whole folder again"
            ) from None
        return cls(recipe, languages)

    def save(self, folder: Path) -> None:
        """Write words.json and words.safetensors and, with `copy_subwords`, the .bin files."""
        from safetensors.numpy import save

        tensors, described = {}, {}
        for code, part in self.languages.items():
            tensors[f"{code}.matrix"] = np.ascontiguousarray(part.matrix)
            if part.mean is not None:
                tensors[f"{code}.mean"] = part.mean
            file = _copied(part, code, folder) if self.settings.copy_subwords else part.file
            described[code] = {"words": part.words, "translated": part.translated, "file": file}
        with atomic(folder / VECTORS) as handle:
            handle.write(save(tensors))
        write_json(folder / FILE, {"languages": described})

    def portable(self) -> "VectorsEmbedder":
        """The words without their vectors."""
        languages = {
            code: replace(part, matrix=part.matrix[:, :0]) for code, part in self.languages.items()
        }
        return VectorsEmbedder(self.recipe, languages)

    @property
    def towers(self) -> list[str]:
        return [""]

    def layer(self, tower: str = "") -> "TranslatedWords":
        from polyglance.text.embedders.fixed.layer import TranslatedWords

        parts = list(self.languages.values())
        nothing = np.zeros((1, self.settings.word_dim), np.float32)
        matrix = np.concatenate([nothing, *(part.matrix for part in parts)])
        sizes = [1, *(len(part.words) for part in parts)]
        owners = np.repeat(np.arange(len(sizes)) - 1, sizes)
        translated = {code: part.translated for code, part in self.languages.items()}
        return TranslatedWords(matrix, owners, translated)

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        """Ids of the words with a vector, or `NOTHING` if there are none.

        A text of unknown language is read in the one that knows most of its words.
        """
        codes = [self._language(found, code) for found, code in zip(words, languages, strict=True)]
        unseen: dict[tuple[str, str], int] = {}
        parts = []
        for found, code in zip(words, codes, strict=True):
            known, composes = self._ids[code], self.languages[code].subwords is not None
            ids = []
            for word in found:
                if word in known:
                    ids.append(known[word])
                elif composes:
                    ids.append(FIRST_UNSEEN + unseen.setdefault((code, word), len(unseen)))
            parts.append(ids[: self.recipe.text.max_length] or [NOTHING])
        return EncodedTexts(Ragged.join(parts), unseen=self._unseen(list(unseen)))

    def _language(self, words: Sequence[str], code: str | None) -> str:
        if code is not None:
            by_language(self.languages, code)
            return code
        return max(self._ids, key=lambda one: sum(word in self._ids[one] for word in words))

    def _unseen(self, words: Sequence[tuple[str, str]]) -> Unseen | None:
        if not words:
            return None
        vectors = np.stack(self._composed.get(words, self._compose))
        owners = np.array([self._numbers[code] for code, _ in words], np.int64)
        return Unseen({"vectors": vectors, "owners": owners})

    def _compose(self, words: list[tuple[str, str]]) -> list[np.ndarray]:
        """Vectors from n-grams of (language, word) pairs."""
        found: dict[tuple[str, str], np.ndarray] = {}
        for code, part in self.languages.items():
            mine = [word for own, word in words if own == code]
            if mine and part.subwords is not None:
                rows = prepare_vectors(part.subwords.vectors(mine, False), part.mean)
                found |= {(code, word): row for word, row in zip(mine, rows, strict=True)}
        return [found[word] for word in words]

    def substitutes(self, language: str | None) -> Substitutes:
        """`NOTHING` as the mask, and any known word of the language."""
        known = by_language(self.languages, language).words
        first = self._ids[str(language)][known[0]]
        return Substitutes(NOTHING, np.arange(first, first + len(known)), np.empty(0, np.int64))

    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        """The words, and those without a vector."""
        code = self._language(words, language)
        if self.languages[code].subwords is not None:
            return tuple(words), ()
        return tuple(words), tuple(word for word in words if word not in self._ids[code])

    def known_words(self, language: str) -> Sequence[str]:
        return by_language(self.languages, language).words

    def pivot_languages(self, languages: Sequence[str]) -> list[str]:
        """The languages without a translator, on whose vectors the encoder was trained."""
        return [code for code, part in self.languages.items() if not part.translated]


def distinct(captions: Sequence[Sequence[str]]) -> list[str]:
    """The distinct words of captions, sorted."""
    return sorted({word for words in captions for word in words})


def _copied(part: LanguageWords, code: str, folder: Path) -> str | None:
    """Copy a language's .bin file into the model's folder."""
    if part.file is None or part.subwords is None:
        return part.file
    place, source = Path(SUBWORDS) / f"{code}.bin", Path(part.file).expanduser()
    if not (folder / place).is_file():
        with source.open("rb") as old, atomic(folder / place) as new:
            shutil.copyfileobj(old, new)
    return str(place)


def _subwords(file: str | None, folder: Path) -> SubwordVectors | None:
    if file is None:
        return None
    if not trusted() and not is_inside(Path(file).expanduser(), folder):
        warnings.warn(
            f"{folder / FILE}: words outside the vocabulary have no vectors, because '{file}' is "
            f"outside the model's folder and was not read; {REMEDY}",
            OutsideWarning,
            stacklevel=2,
        )
        return None
    path = folder / Path(file).expanduser()
    return SubwordVectors.open(path) if path.is_file() else None
