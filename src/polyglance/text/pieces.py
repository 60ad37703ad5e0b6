"""Reading with the tokeniser of a pretrained encoder, in pieces of words."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.files import atomic
from polyglance.recipes.schema import TextRecipe
from polyglance.text.embedders.base import Encoded, Reader, Substitutes, Words
from polyglance.text.embedders.pretrained import FOLDER, load_config, load_tokenizer
from polyglance.text.embedders.vocabulary import Ragged


class Pieces(Reader):
    """Texts as written → ids of a Hugging Face tokeniser, [CLS] and [SEP] or their like around."""

    def __init__(self, tokenizer: Any, config: Any, folder: Path) -> None:
        self.tokenizer, self.config, self.folder = tokenizer, config, folder
        if len(tokenizer) > config.vocab_size:
            raise PolyglanceError(
                f"{folder}: the tokeniser has {len(tokenizer)} pieces and the encoder only "
                f"{config.vocab_size}; they do not belong together"
            )

    @classmethod
    def open(cls, folder: Path) -> "Pieces":
        """The reader of an encoder's folder."""
        return cls(load_tokenizer(folder), load_config(folder), folder)

    def sizes(self, mask: bool = False) -> dict[str, int]:
        """Pieces of the encoder; the mask is one of them."""
        if mask and self.tokenizer.mask_token_id is None:
            raise PolyglanceError(
                f"{self.folder}: the tokeniser has no mask token; set augment.word_drop=0"
            )
        return {"": self.config.vocab_size}

    def encode(
        self,
        recipe: TextRecipe,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> Encoded:
        """Ids of the texts; which go on with a word is told where pieces are WordPiece's.

        Other tokenisers take a whole sentence without spaces for one word.
        """
        found = self.tokenizer(
            list(texts), truncation=True, max_length=self._longest(recipe), padding=False
        ).encodings
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in found])]).astype(np.int64)
        flat = np.fromiter((i for one in found for i in one.ids), np.int32, int(offsets[-1]))
        joined = None
        if type(self.tokenizer.backend_tokenizer.model).__name__ == "WordPiece":
            numbers = (-1 if n is None else n for one in found for n in one.word_ids)
            word = np.fromiter(numbers, np.int64, len(flat))
            joined = np.concatenate([[False], (word[1:] == word[:-1]) & (word[1:] >= 0)])
            joined[offsets[:-1]] = False
        return Encoded(Ragged(flat, offsets), joined)

    def substitutes(self, language: str | None) -> Substitutes:
        """The tokeniser's mask, and any piece but its special ones."""
        special = np.array(self.tokenizer.all_special_ids)
        words = np.setdiff1d(np.arange(len(self.tokenizer)), special)
        mask = self.tokenizer.mask_token_id
        return Substitutes(mask, words, np.setdiff1d(special, [mask, self._unknown]))

    def recognise(
        self, recipe: TextRecipe, words: Sequence[str], language: str | None
    ) -> tuple[Words, Words]:
        """All words, and those that have no known piece."""
        found = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        pairs = zip(words, found, strict=True)
        return tuple(words), tuple(word for word, ids in pairs if set(ids) <= {self._unknown})

    def save(self, folder: Path) -> None:
        """Write the tokeniser and the configuration into the model's folder."""
        with tempfile.TemporaryDirectory() as made:
            self.tokenizer.save_pretrained(made)
            self.config.save_pretrained(made)
            for path in sorted(p for p in Path(made).rglob("*") if p.is_file()):
                with atomic(folder / FOLDER / path.relative_to(made)) as handle:
                    handle.write(path.read_bytes())

    @property
    def _unknown(self) -> int:
        found = self.tokenizer.unk_token_id
        return -1 if found is None else found

    def _longest(self, recipe: TextRecipe) -> int:
        # RoBERTa and its kin count positions from behind the padding's id.
        first = (self.tokenizer.pad_token_id or 0) + 1
        places = getattr(self.config, "max_position_embeddings", None) or -1
        limits = [places - first] if places > 0 else []
        return min(recipe.max_length, self.tokenizer.model_max_length, *limits)
