"""Subwords of any language: a sentence encoder's pieces, and hashed words and n-grams."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import Recipe, SubwordsEmbedderRecipe
from polyglance.storage.files import has_file
from polyglance.text.embedders.base import (
    Embedder,
    LanguageTags,
    ReadWords,
    Substitutes,
    Texts,
    TrainingTexts,
    Words,
    register,
)
from polyglance.text.embedders.encoded import EncodedTexts
from polyglance.text.embedders.subwords.capitals import lower_capitals
from polyglance.text.embedders.subwords.hashing import hash_words
from polyglance.text.embedders.subwords.package import PACKAGE, ROWS, read_vocabulary
from polyglance.text.embedders.subwords.pieces import Pieces
from polyglance.text.tokenizers.base import Languages, has_word

if TYPE_CHECKING:
    from polyglance.text.embedders.subwords.layer import HashedTable

FILE, OLD_FILE = "pieces.safetensors", "pieces.model"


@register
class SubwordEmbedder(Embedder):
    """Texts as written → ids of pieces (below `first`) and of hashed subwords (from `first`).

    `text.max_length` limits both the pieces and the words whose subwords are read.

    Args:
        recipe: of the whole model.
        pieces: the vocabulary of pieces; None with hashed subwords only.
        fresh: whether the model starts from the sentence encoder's pretrained weights.
    """

    variants = (SubwordsEmbedderRecipe,)
    reads_all = True

    def __init__(self, recipe: Recipe, pieces: Pieces | None, fresh: bool = False) -> None:
        super().__init__(recipe)
        assert isinstance(recipe.text.embedder, SubwordsEmbedderRecipe)
        self.settings = recipe.text.embedder
        self.pieces, self.fresh = pieces, fresh
        self.first = ROWS if self.settings.pieces else 0

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        settings = recipe.text.embedder
        if recipe.transfer is not None:
            return  # the source model has its pieces
        if isinstance(settings, SubwordsEmbedderRecipe) and settings.pieces:
            from polyglance.text.embedders.subwords.texts import piece_texts

            read_vocabulary()
            for name in settings.piece_texts:
                next(piece_texts(Path(name).expanduser(), recipe.data.train_split), "")

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "SubwordEmbedder":
        settings = recipe.text.embedder
        assert isinstance(settings, SubwordsEmbedderRecipe)
        if not settings.pieces:
            return cls(recipe, None)
        pieces = Pieces.read(read_vocabulary(), PACKAGE)
        if settings.kept_pieces is not None:
            from polyglance.text.embedders.subwords.texts import training_texts

            kept = training_texts(recipe, texts)
            pieces = pieces.pruned(settings.kept_pieces, kept, texts.cache)
        return cls(recipe, pieces, fresh=True)

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "SubwordEmbedder":
        if not getattr(recipe.text.embedder, "pieces", False):
            return cls(recipe, None)
        path, old = folder / FILE, folder / OLD_FILE
        if has_file(old) and not has_file(path):
            pieces = Pieces.read(old.read_bytes(), str(old))
        else:
            pieces = Pieces.open(path)
        if int(pieces.ids[-1]) >= ROWS:
            number = int(pieces.ids[-1])
            raise PolyglanceError(f"{path}: has piece {number}, but the encoder has only {ROWS}")
        return cls(recipe, pieces)

    @classmethod
    def blank(cls, recipe: Recipe, words: int) -> "SubwordEmbedder":
        return cls(recipe, None)

    def save(self, folder: Path) -> None:
        """Write the vocabulary of pieces, if any; the rest is in the recipe."""
        if self.pieces is not None:
            self.pieces.save(folder / FILE)

    def prune_pieces(
        self, most: int, texts: Iterable[str], cache: Path | None = None
    ) -> "SubwordEmbedder":
        """An embedder with the vocabulary reduced by `Pieces.pruned`; an error without pieces.

        Args:
            most: number of most probable pieces to keep.
            texts: keep their pieces as well.
            cache: folder for the pieces of many texts; the XDG cache by default.
        """
        if self.pieces is None:
            raise PolyglanceError("this model has no pieces to remove")
        return SubwordEmbedder(self.recipe, self.pieces.pruned(most, texts, cache))

    @property
    def towers(self) -> list[str]:
        return [""]

    def layer(self, tower: str = "") -> "HashedTable":
        from polyglance.text.embedders.subwords.layer import HashedTable

        mask = self.recipe.augment.word_drop > 0
        return HashedTable(self.settings.buckets + mask, self.settings.word_dim)

    def split(self, texts: Texts, languages: Languages) -> tuple[Texts, Words]:
        """Split at spaces; no segmenter is needed, as words themselves are not read."""
        if self.recipe.text.romanise:
            return super().split(texts, languages)
        return texts, [text.split() if has_word(text) else [] for text in texts]

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        """Ids of the texts, with `continues` if there are no pieces."""
        longest = self.recipe.text.max_length
        hashed = [self._hashed(text) for text in texts]
        if self.pieces is None:
            marks = [bool(place) for one in hashed for word in one for place in range(len(word))]
            ids = Ragged.join([list(chain.from_iterable(one)) for one in hashed])
            return EncodedTexts(ids, np.array(marks, bool))
        both = [
            [
                *self.pieces.encode(lower_capitals(text), longest),
                *(self.first + n for n in chain(*one)),
            ]
            for text, one in zip(texts, hashed, strict=True)
        ]
        return EncodedTexts(Ragged.join(both))

    def _hashed(self, text: str) -> list[tuple[int, ...]]:
        """Buckets of each word of a text."""
        settings = self.settings
        if not settings.buckets:
            return []
        return hash_words(text, settings.buckets, settings.ngram, self.recipe.text.max_length)

    def substitutes(self, language: str | None) -> Substitutes:
        """The row after the buckets, and any bucket."""
        buckets = self.first + np.arange(self.settings.buckets)
        return Substitutes(self.first + self.settings.buckets, buckets, np.empty(0, np.int64))

    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        """All words, and, without hashing, those without a known piece."""
        read = tuple(words)
        if self.settings.buckets or self.pieces is None:
            return read, ()
        return read, tuple(word for word in read if not self.pieces.knows(word))

    def common_words(self, languages: Sequence[str]) -> dict[str, float]:
        """Pieces that are whole words, of all languages."""
        return {} if self.pieces is None else self.pieces.whole_words()

    def log_probability(self, word: str) -> float:
        """Log-probability of a word from its pieces; minus infinity without pieces."""
        return -math.inf if self.pieces is None else self.pieces.log_probability(word)

    def add_words(self, language: str, words: Sequence[str], pivot: str) -> Embedder:
        raise PolyglanceError(
            "a model with subwords reads every language, so it has no words to add; teach it a "
            "language with a lexicon: polyglance add-language MODEL --lexicon FILE"
        )
