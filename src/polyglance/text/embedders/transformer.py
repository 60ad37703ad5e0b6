"""Subwords of a pretrained encoder's tokenizer."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged
from polyglance.recipes.schema import PiecesEmbedderRecipe, Recipe, TransformerEmbedderRecipe
from polyglance.storage.files import atomic
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
from polyglance.text.embedders.pretrained import (
    FOLDER,
    check_pretrained,
    encoder_folder,
    load_config,
    load_tokenizer,
    located,
)

if TYPE_CHECKING:
    from polyglance.text.embedders.transformer_layer import FrozenTransformer


@register
class PieceEmbedder(Embedder):
    """Texts as written → ids of a Hugging Face tokenizer, between [CLS] and [SEP] or similar.

    With `pieces`, the ids are for a transformer encoder, which has its own vectors; `transformer`
    passes the outputs of a frozen one to another encoder.

    Args:
        recipe: of the whole model.
        tokenizer: of Hugging Face.
        config: of the pretrained encoder.
        folder: with the tokenizer, and in training the encoder's weights.
    """

    variants = (PiecesEmbedderRecipe, TransformerEmbedderRecipe)

    def __init__(self, recipe: Recipe, tokenizer: Any, config: Any, folder: Path) -> None:
        super().__init__(recipe)
        self.tokenizer, self.config, self.folder = tokenizer, config, folder
        if len(tokenizer) > config.vocab_size:
            raise PolyglanceError(
                f"{folder}: the tokenizer has {len(tokenizer)} subwords, but the encoder only "
                f"{config.vocab_size}; they do not match"
            )
        if recipe.augment.word_drop and tokenizer.mask_token_id is None:
            raise PolyglanceError(
                f"{folder}: the tokenizer has no mask token; set augment.word_drop=0"
            )

    @classmethod
    def check(cls, recipe: Recipe) -> None:
        check_pretrained(recipe.text)

    @classmethod
    def build(cls, recipe: Recipe, texts: TrainingTexts) -> "PieceEmbedder":
        return cls.open(recipe, encoder_folder(recipe.text))

    @classmethod
    def load(cls, recipe: Recipe, folder: Path) -> "PieceEmbedder":
        return cls.open(recipe, encoder_folder(located(recipe, folder).text))

    @classmethod
    def open(cls, recipe: Recipe, folder: Path) -> "PieceEmbedder":
        """The embedder of an encoder's folder."""
        return cls(recipe, load_tokenizer(folder), load_config(folder), folder)

    def save(self, folder: Path) -> None:
        """Write the tokenizer and the configuration into the model's folder."""
        with tempfile.TemporaryDirectory() as made:
            self.tokenizer.save_pretrained(made)
            self.config.save_pretrained(made)
            for path in sorted(p for p in Path(made).rglob("*") if p.is_file()):
                with atomic(folder / FOLDER / path.relative_to(made)) as handle:
                    handle.write(path.read_bytes())

    @property
    def towers(self) -> list[str]:
        return [""]

    def layer(self, tower: str = "") -> "FrozenTransformer":
        from polyglance.text.embedders.transformer_layer import FrozenTransformer

        return FrozenTransformer(self.folder)

    def encode(self, texts: Texts, words: Words, languages: LanguageTags) -> EncodedTexts:
        """Ids of the texts, with `continues` if the tokenizer is WordPiece.

        Other tokenizers treat a sentence without spaces as one word.
        """
        found = self.tokenizer(
            list(texts), truncation=True, max_length=self._longest, padding=False
        ).encodings
        ids = Ragged.join([one.ids for one in found])
        continues = None
        if type(self.tokenizer.backend_tokenizer.model).__name__ == "WordPiece":
            numbers = (-1 if n is None else n for one in found for n in one.word_ids)
            word = np.fromiter(numbers, np.int64, len(ids.flat))
            continues = np.concatenate([[False], (word[1:] == word[:-1]) & (word[1:] >= 0)])
            continues[ids.offsets[:-1]] = False
        return EncodedTexts(ids, continues)

    def substitutes(self, language: str | None) -> Substitutes:
        """The tokenizer's mask, and any subword except special ones."""
        special = np.array(self.tokenizer.all_special_ids)
        words = np.setdiff1d(np.arange(len(self.tokenizer)), special)
        mask = self.tokenizer.mask_token_id
        return Substitutes(mask, words, np.setdiff1d(special, [mask, self._unknown]))

    def unknown(self, words: Sequence[str], language: str | None) -> ReadWords:
        """All words, and those without a known subword."""
        found = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        pairs = zip(words, found, strict=True)
        return tuple(words), tuple(word for word, ids in pairs if set(ids) <= {self._unknown})

    def add_words(self, language: str, words: Sequence[str], pivot: str) -> Embedder:
        raise PolyglanceError("a model with a transformer reads subwords; no language can be added")

    @property
    def _unknown(self) -> int:
        found = self.tokenizer.unk_token_id
        return -1 if found is None else found

    @property
    def _longest(self) -> int:
        # RoBERTa and similar models number positions from the padding id + 1.
        first = (self.tokenizer.pad_token_id or 0) + 1
        places = getattr(self.config, "max_position_embeddings", None) or -1
        limits = [places - first] if places > 0 else []
        return min(self.recipe.text.max_length, self.tokenizer.model_max_length, *limits)
