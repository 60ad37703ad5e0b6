"""Ids of words. Build vocabularies from training captions only, to avoid leakage."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, TypeVar

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.numerics.ragged import Ragged

T = TypeVar("T")
PAD, START, END, UNKNOWN = 0, 1, 2, 3
SPECIALS = ("<pad>", "<start>", "<end>", "<unk>")
Scope = Literal["pooled", "per-language"]


class Vocabulary:
    """Ids of words: `<pad>` 0, `<start>` 1, `<end>` 2, `<unk>` 3, then the words in order.

    >>> v = Vocabulary.build({"en": [["a", "dog"], ["a", "cat"]]}, min_count=2)
    >>> v.encode(["a", "dog"])
    [1, 4, 3, 2]
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words: tuple[str, ...] = (*SPECIALS, *words)
        # A literal "<pad>" in a caption is a word, not padding.
        self._ids = {w: i for i, w in enumerate(self.words) if i > UNKNOWN}
        if len(set(self.words)) != len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise PolyglanceError(f"the vocabulary has the word '{twice}' twice")

    @classmethod
    def build(
        cls,
        tokens_by_language: Mapping[str, Iterable[Sequence[str]]],
        min_count: int = 4,
        scope: Scope = "pooled",
    ) -> "Vocabulary":
        """The frequent words, by decreasing count, then alphabetically.

        Args:
            tokens_by_language: the tokens of every text of each language.
            min_count: minimum count of a word.
            scope: `pooled` counts words over all languages (mulisera's training code);
                `per-language` keeps words that reach it in at least one (as in the paper).
        """
        counts = {code: count(tokens) for code, tokens in tokens_by_language.items()}
        pooled: Counter[str] = Counter()
        for one in counts.values():
            pooled.update(one)
        parts = [pooled] if scope == "pooled" else list(counts.values())
        kept = {word for part in parts for word, n in part.items() if n >= min_count}
        if not kept:
            raise PolyglanceError(
                f"no word occurs {min_count} times in the training captions; "
                "lower it (--set text.embedder.min_count=1) or add captions"
            )
        return cls(_ordered(pooled, kept))

    @classmethod
    def build_tables(
        cls, tokens_by_language: Mapping[str, Iterable[Sequence[str]]], min_count: int = 4
    ) -> dict[str, "Vocabulary"]:
        """One vocabulary per language, each with its own ids from 0 (MULE, SMALR)."""
        items = tokens_by_language.items()
        return {code: cls.build({code: tokens}, min_count) for code, tokens in items}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    __hash__ = None  # type: ignore[assignment]

    def id(self, word: str) -> int:
        """The word's id, or that of `<unk>`."""
        return self._ids.get(word, UNKNOWN)

    def encode(
        self, tokens: Sequence[str], max_length: int | None = None, ends: bool = True
    ) -> list[int]:
        """Ids of the tokens of a text.

        Args:
            tokens: of the text.
            max_length: maximum length of the result; the last tokens are cut, the ends are kept.
            ends: whether to add `<start>` and `<end>`.
        """
        room = _room(max_length, ends)
        ids = [self._ids.get(token, UNKNOWN) for token in tokens[:room]]
        return [START, *ids, END] if ends else ids

    def encode_many(
        self, tokens: Sequence[Sequence[str]], max_length: int | None = None, ends: bool = True
    ) -> Ragged:
        """`encode` many texts.

        Args:
            tokens: of every text.
            max_length: of each, as in `encode`.
            ends: as in `encode`.
        """
        room, extra = _room(max_length, ends), 2 if ends else 0
        get = self._ids.get
        cut = tokens if room is None else [one[:room] for one in tokens]
        lengths = np.fromiter(map(len, cut), np.int64, len(cut))
        offsets = np.concatenate([[0], np.cumsum(lengths + extra)]).astype(np.int64)
        ids = (get(token, UNKNOWN) for token in chain.from_iterable(cut))
        flat = np.empty(offsets[-1], np.int32)
        inner = np.ones(len(flat), bool)
        if ends:
            inner[offsets[:-1]] = inner[offsets[1:] - 1] = False
            flat[offsets[:-1]], flat[offsets[1:] - 1] = START, END
        flat[inner] = np.fromiter(ids, np.int32, int(lengths.sum()))
        return Ragged(flat, offsets)

    def decode(self, ids: Iterable[int], specials: bool = False) -> list[str]:
        """The words of ids; includes `<pad>`, `<start>` and `<end>` only with `specials`."""
        return [self.words[i] for i in map(int, ids) if specials or i >= UNKNOWN]

    def to_json(self) -> dict[str, Any]:
        """A JSON value from which `from_json` restores the vocabulary."""
        return {"specials": list(SPECIALS), "words": list(self.words[len(SPECIALS) :])}

    @classmethod
    def from_json(cls, value: Any, where: str = "vocabulary") -> "Vocabulary":
        """The inverse of `to_json`; `where` is the file, for errors."""
        return restore(cls, value, ("words", "words"), SPECIALS, where)


def restore(
    make: Callable[[list[str]], T],
    value: Any,
    field: tuple[str, str],
    specials: Sequence[str],
    where: str,
) -> T:
    """Restore a vocabulary or alphabet from its JSON value.

    Args:
        make: texts → the object; `where` is added to its errors.
        value: a mapping with a list of texts and, optionally, the specials.
        field: name of the list, and a noun for its items, for errors.
        specials: the expected specials.
        where: the file, for errors.
    """
    name, noun = field
    texts = value.get(name) if isinstance(value, dict) else None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise PolyglanceError(f"{where}: field '{name}' must be a list of {noun}")
    if value.get("specials", list(specials)) != list(specials):
        raise PolyglanceError(f"{where}: field 'specials' must be {list(specials)}")
    try:
        return make(texts)
    except PolyglanceError as error:
        raise PolyglanceError(f"{where}: {error}") from None


def count(tokens: Iterable[Sequence[str]]) -> Counter[str]:
    """Counts of the words."""
    return Counter(chain.from_iterable(tokens))


def _ordered(counts: Counter[str], kept: set[str]) -> list[str]:
    return sorted(kept - set(SPECIALS), key=lambda word: (-counts[word], word))


def _room(max_length: int | None, ends: bool) -> int | None:
    if max_length is None:
        return None
    if max_length < (3 if ends else 1):
        raise PolyglanceError(f"max_length {max_length} leaves no room for a word")
    return max_length - 2 if ends else max_length
