"""Ids of characters, for any script. Build alphabets from training captions only."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from string import ascii_letters, digits
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.text.embedders.vocabulary import count, restore

PAD, UNKNOWN, START, END = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<start>", "<end>")
LAVSE = " " + ascii_letters + digits + ".,'-()\"?;!:&#$`%>/_=+[\\@]" + "äüßöÜÖÄ´é"
"""The symbols of the authors' char.json, 101 with the specials (Wehrmann et al. 2019's code)."""


class Alphabet:
    """Ids of characters: `<pad>` 0, `<unk>` 1, `<start>` 2, `<end>` 3, then the symbols in order.

    A symbol is a code point of NFC text: é is one symbol however it was typed, a Devanagari vowel
    sign is a separate one, and an emoji of several code points is several.

    >>> Alphabet("ab").ids(np.array([ord("b"), ord("ж")])).tolist()
    [5, 1]
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = tuple(symbols)
        for symbol in self.symbols:
            if len(symbol) != 1 or "\ud800" <= symbol <= "\udfff" or nfc(symbol) != symbol:
                raise PolyglanceError(
                    f"the alphabet's symbol {symbol!r} is not one character of NFC text"
                )
        if len(set(self.symbols)) != len(self.symbols):
            twice = next(symbol for symbol, n in Counter(self.symbols).items() if n > 1)
            raise PolyglanceError(f"the alphabet has the symbol {twice!r} twice")
        codes = np.array([ord(symbol) for symbol in self.symbols], np.uint32)
        order = np.argsort(codes)
        self._codes, self._ids = codes[order], (order + len(SPECIALS)).astype(np.int32)

    @classmethod
    def build(
        cls, tokens_by_language: Mapping[str, Iterable[Sequence[str]]], min_count: int = 4
    ) -> "Alphabet":
        """Characters seen at least `min_count` times over all languages, by decreasing count."""
        counts: Counter[str] = Counter()
        for tokens in tokens_by_language.values():
            for word, times in count(tokens).items():
                for symbol in nfc(word):
                    counts[symbol] += times
        kept = [c for c, n in counts.items() if n >= min_count and not "\ud800" <= c <= "\udfff"]
        if not kept:
            raise PolyglanceError(
                f"no character occurs {min_count} times in the training captions; "
                "lower it (--set text.embedder.min_count=1) or add captions"
            )
        return cls(sorted(kept, key=lambda symbol: (-counts[symbol], symbol)))

    @classmethod
    def lavse(cls) -> "Alphabet":
        """The authors' 101 symbols: English, German, romanised Japanese.

        Ids are in the order of `LAVSE`, not of first appearance as in the authors' files, which
        makes no difference to a model.
        """
        return cls(LAVSE)

    def __len__(self) -> int:
        return len(SPECIALS) + len(self.symbols)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alphabet) and self.symbols == other.symbols

    __hash__ = None  # type: ignore[assignment]

    def ids(self, codes: np.ndarray) -> np.ndarray:
        """Ids of code points [n] → [n] int32; `<unk>` if not in the alphabet."""
        if not len(self._codes):
            return np.full(len(codes), UNKNOWN, np.int32)
        place = np.searchsorted(self._codes, codes).clip(max=len(self._codes) - 1)
        return np.where(self._codes[place] == codes, self._ids[place], np.int32(UNKNOWN))

    def reads(self, word: str) -> bool:
        """Whether any character of the word is known."""
        return bool((self.ids(code_points(nfc(word))) != UNKNOWN).any())

    def to_json(self) -> dict[str, Any]:
        """A JSON value from which `from_json` restores the alphabet."""
        return {"specials": list(SPECIALS), "symbols": list(self.symbols)}

    @classmethod
    def from_json(cls, value: Any, where: str = "alphabet") -> "Alphabet":
        """The inverse of `to_json`; `where` is the file, for errors."""
        return restore(cls, value, ("symbols", "characters"), SPECIALS, where)


def nfc(text: str) -> str:
    """`text` in Unicode's composed form."""
    return unicodedata.normalize("NFC", text)


def code_points(text: str) -> np.ndarray:
    """Code points of `text` [n] uint32."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
