"""Languages added to a trained model: words and vectors of their own, all else as it was."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.errors import PolyglanceError
from polyglance.files import has_file, read_json, write_json
from polyglance.recipes.schema import TextRecipe
from polyglance.text.beginnings import closest
from polyglance.text.normalise import normalise
from polyglance.text.reader import Encoded, Reader, Substitutes, Words
from polyglance.text.vocabulary import END, PAD, START, Ragged

FILE = "added.json"
FIRST_ID = 1 << 30
"""Where ids of added words begin; no vocabulary or lexicon grows this large."""
PLACES = 4
"""Inside a caption, first, last, and the only word: spelt words carry the ends (spec §4.1)."""
KEPT_WORDS = 50_000
"""Unknown words for which the most similar one is remembered."""


@dataclass(frozen=True)
class AddedLanguage:
    """Words of a language, and the language of the model whose words they are close to.

    >>> AddedLanguage(("hond", "huis"), "en").find("honden")
    0
    """

    words: tuple[str, ...]
    pivot: str

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.words)

    @cached_property
    def _found(self) -> dict[str, int | None]:
        """Words that were looked for by their beginning, which takes long."""
        return {}

    def find(self, word: str) -> int | None:
        """The word's number; that of the word most like it by its beginning; or None."""
        if word in self._index:
            return self._index[word]
        if word not in self._found:
            if len(self._found) >= KEPT_WORDS:
                self._found.clear()
            plain = normalise(word)
            close = plain if plain in self._index else closest(plain, self._sorted)
            self._found[word] = None if close is None else self._index[close]
        return self._found[word]


class AddedReader(Reader):
    """A model's reader, and the vocabularies of languages added later.

    A text in one of those, which must be named, has ids from `FIRST_ID` on; its unknown words
    are dropped. Any other text is read as before.
    """

    def __init__(self, base: Reader, added: Mapping[str, AddedLanguage], forms: int) -> None:
        self.base, self.added, self.forms = base, dict(added), forms
        self.first: dict[str, int] = {}
        total = FIRST_ID
        for code, language in self.added.items():
            self.first[code] = total
            total += self.forms * len(language.words)

    def sizes(self, mask: bool = False) -> dict[str, int]:
        """Those of the model's own reader."""
        return self.base.sizes(mask)

    def encode(
        self,
        recipe: TextRecipe,
        texts: Sequence[str],
        words: Sequence[Sequence[str]],
        languages: Sequence[str | None],
    ) -> Encoded:
        """Ids of texts, each by its language, laid end to end."""
        if not set(languages) & set(self.added):
            return self.base.encode(recipe, texts, words, languages)
        old = [row for row, code in enumerate(languages) if code not in self.added]
        own = [words[i] for i in old], [languages[i] for i in old]
        flat, offsets = self.base.encode(recipe, [texts[i] for i in old], *own).ids
        found = {row: flat[offsets[i] : offsets[i + 1]].tolist() for i, row in enumerate(old)}
        for row, code in enumerate(languages):
            if code in self.added:
                found[row] = self._ids(recipe, words[row], str(code))
        return Encoded(Ragged.join([found[row] for row in range(len(languages))]))

    def _ids(self, recipe: TextRecipe, words: Sequence[str], code: str) -> list[int]:
        find, first = self.added[code].find, self.first[code]
        known = [number for number in map(find, words) if number is not None]
        ends = recipe.ends and not recipe.spells
        known = known[: recipe.max_length - (2 if ends else 0)]
        last = len(known) - 1
        ids = [
            first + self.forms * number + ((place == 0) + 2 * (place == last)) % self.forms
            for place, number in enumerate(known)
        ]
        return [START, *ids, END] if ends else ids or [PAD]

    def keep(self) -> None:
        self.base.keep()

    def release(self) -> None:
        self.base.release()

    def substitutes(self, language: str | None) -> Substitutes:
        """As the model's own reader; of an added language, any of its words and no mask."""
        if language not in self.added:
            return self.base.substitutes(language)
        first = self.first[str(language)]
        count = self.forms * len(self.added[str(language)].words)
        return Substitutes(PAD, np.arange(first, first + count), np.array([START, END]))

    def recognise(
        self, recipe: TextRecipe, words: Sequence[str], language: str | None
    ) -> tuple[Words, Words]:
        """The words that are read, and those of them that mean nothing to the model."""
        if language not in self.added:
            return self.base.recognise(recipe, words, language)
        find = self.added[str(language)].find
        return tuple(words), tuple(word for word in words if find(word) is None)

    def save(self, folder: Path) -> None:
        """Write the files of the model's own reader, and added.json."""
        self.base.save(folder)
        described = {
            code: {"pivot": one.pivot, "words": list(one.words)} for code, one in self.added.items()
        }
        write_json(folder / FILE, {"forms": self.forms, "languages": described})


def load_added(base: Reader, folder: Path) -> Reader:
    """`base`, with the languages of the folder's added.json if there is one."""
    if not has_file(folder / FILE):
        return base
    value: Any = read_json(folder / FILE)
    try:
        added = {
            code: AddedLanguage(tuple(one["words"]), one["pivot"])
            for code, one in value["languages"].items()
        }
        return AddedReader(base, added, int(value["forms"]))
    except (KeyError, TypeError, AttributeError, ValueError):
        raise PolyglanceError(
            f"{folder / FILE}: needs 'forms' and 'languages' with words and pivot"
        ) from None


class AddedRows(nn.Module):
    """Vectors of added words beside a tower's own layer, a table for each language."""

    def __init__(self, reader: AddedReader, size: int, codes: Iterable[str]) -> None:
        super().__init__()
        self.ranges = {
            f"language_{code}": (reader.first[code], reader.forms * len(reader.added[code].words))
            for code in codes
        }
        self.tables = nn.ParameterDict(
            {name: torch.zeros(count, size) for name, (_, count) in self.ranges.items()}
        )

    def look_up(self, words: nn.Module, ids: Tensor, counts: Tensor) -> Tensor:
        """Distinct ids [U], of `words` or of these tables → [U, size].

        Where no added word is among them, `words` is asked as if there were none at all.
        """
        if not bool((ids >= FIRST_ID).any()):
            return words(ids, counts)
        table = next(iter(self.tables.values()))
        vectors = table.new_zeros(len(ids), table.shape[1])
        old = (ids < FIRST_ID) & (ids != PAD)
        if bool(old.any()):
            vectors = vectors.index_put((old,), words(ids[old], counts[old]))
        for name, (first, count) in self.ranges.items():
            mine = (ids >= first) & (ids < first + count)
            vectors = vectors.index_put((mine,), self.tables[name][ids[mine] - first])
        return vectors
