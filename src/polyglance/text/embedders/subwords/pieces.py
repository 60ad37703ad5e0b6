"""Tokenization with a SentencePiece unigram vocabulary, memory-mapped, so it loads instantly."""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Self
from zlib import crc32

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.storage.tensors import Tensors, map_tensors, write_tensors
from polyglance.text.embedders.subwords.charmap import CharacterMap
from polyglance.text.embedders.subwords.sentencepiece import read_model
from polyglance.text.embedders.subwords.used_pieces import used_pieces

UNKNOWN, START, END = 0, 1, 2
SPACE = "▁"
UNKNOWN_PENALTY = 10.0
"""Penalty of an unknown character below the rarest piece, as in SentencePiece."""
FIELDS = {
    "text": "u1",
    "ends": "<u4",
    "ids": "<u4",
    "scores": "<f4",
    "slots": "<u4",
    "unknown": "<f4",
    "map": "<u4",
    "replacements": "u1",
}


class Pieces:
    """Texts → ids of pieces, between `START` and `END`.

    A text is normalised with the vocabulary's character map, and each word split into the pieces
    with the highest sum of log-probabilities. Pieces do not cross word boundaries, so words are
    split separately, and cached. A reduced vocabulary keeps the ids of its pieces.

    Pieces are looked up in `slots`, an open-addressing hash table by CRC-32, so that the
    memory-mapped file is read only where needed.

    Args:
        fields: by the names of `FIELDS`: piece i is `text[ends[i]:ends[i + 1]]`, with id `ids[i]`
            (ascending) and log-probability `scores[i]`; control symbols are empty.
        where: the file, for errors.
    """

    def __init__(self, fields: Tensors, where: str) -> None:
        self.fields, self.where = fields, where
        if not _is_valid(fields):
            raise PolyglanceError(f"{where}: not a vocabulary of pieces, or damaged")
        self.ids = fields["ids"]
        self._text = fields["text"].tobytes()
        self._ends, self._slots, self._numbers, self._scores = (
            fields[name].data for name in ("ends", "slots", "ids", "scores")
        )
        self._mask = len(self._slots) - 1
        self._longest = int(np.diff(fields["ends"].astype(np.int64)).max())
        self._unknown = float(fields["unknown"][0])
        self._map = CharacterMap(fields["map"], fields["replacements"].tobytes())
        self._cut_word = lru_cache(maxsize=200_000)(self._best_cut)
        self._clean = lru_cache(maxsize=200_000)(self._normalise)

    @classmethod
    def read(cls, data: bytes, where: str) -> Self:
        """From the bytes of a SentencePiece file; `where` is the file, for errors."""
        model = read_model(data, where)
        every = np.arange(len(model.pieces))
        unknown = min(np.array(model.scores, np.float32)) - np.float32(UNKNOWN_PENALTY)
        fields = {
            **_pack(model.pieces, every, np.array(model.scores, np.float32)),
            "unknown": np.array([unknown], np.float32),
            "map": np.frombuffer(model.units, "<u4"),
            "replacements": np.frombuffer(model.replacements, "u1"),
        }
        return cls(fields, where)

    @classmethod
    def open(cls, path: Path) -> Self:
        """From a file written by `save`."""
        return cls(map_tensors(path), str(path))

    def save(self, path: Path) -> None:
        """Write the file that `open` reads."""
        write_tensors(path, self.fields)

    def __len__(self) -> int:
        return len(self.ids)

    def encode(self, text: str, longest: int) -> list[int]:
        """Ids of a text, at most `longest`, including `START` and `END`."""
        return [START, *(self.words(text) or [UNKNOWN])[: longest - 2], END]

    def words(self, text: str) -> list[int]:
        """Ids of a text, without `START` and `END`."""
        return [number for word in self._words(text) for number in self._cut_word(word)]

    def _words(self, text: str) -> Iterator[str]:
        chunks = (self._clean(chunk) for chunk in text.split(" "))
        return (SPACE + word for chunk in chunks for word in chunk.split(" ") if word)

    def knows(self, word: str) -> bool:
        """Whether any piece of a word is known."""
        return any(number not in (UNKNOWN, self._id(SPACE.encode())) for number in self.words(word))

    def named(self) -> dict[str, int]:
        """Every piece and its id, without control symbols."""
        texts = self._texts()
        return {text.decode(): int(n) for text, n in zip(texts, self.ids, strict=True) if text}

    def whole_words(self) -> dict[str, float]:
        """Word-initial pieces of letters only → their log-probabilities."""
        pairs = zip(self._texts(), self._scores, strict=True)
        named = ((text.decode(), score) for text, score in pairs)
        return {
            text[1:]: score for text, score in named if text[:1] == SPACE and text[1:].isalpha()
        }

    def log_probability(self, word: str) -> float:
        """Log-probability of a word: the sum over its pieces."""
        places = np.searchsorted(self.ids, self.words(word))
        return sum(
            self._unknown if self._numbers[place] == UNKNOWN else self._scores[place]
            for place in places
        )

    def pruned(self, most: int, texts: Iterable[str] = (), cache: Path | None = None) -> "Pieces":
        """A reduced vocabulary: control symbols, characters, probable pieces, and those of texts.

        Args:
            most: number of most probable pieces to keep.
            texts: keep their pieces, as tokenized with the full vocabulary, as well.
            cache: folder for the pieces of many texts; the XDG cache by default.
        """
        pieces, scores = self._texts(), self.fields["scores"]
        short = [len(text.decode().lstrip(SPACE)) <= 1 for text in pieces]
        named = np.flatnonzero([bool(text) for text in pieces])
        probable = named[np.argsort(-scores[named], kind="stable")[:most]]
        kept = np.array(short)
        kept[probable] = True
        words = sorted({word for text in texts for word in self._words(text)})
        used = used_pieces(self.fields, words, self._best_cut, cache)
        kept[np.searchsorted(self.ids, used)] = True
        return self._only(np.flatnonzero(kept), pieces)

    def _only(self, places: np.ndarray, pieces: list[bytes]) -> "Pieces":
        own = _pack([pieces[i] for i in places], self.ids[places], self.fields["scores"][places])
        return Pieces({**self.fields, **own}, self.where)

    def _texts(self) -> list[bytes]:
        ends = self.fields["ends"].tolist()
        return [self._text[a:b] for a, b in pairwise(ends)]

    def _id(self, piece: bytes) -> int | None:
        place = self._find(piece, crc32(piece))
        return None if place is None else self._numbers[place]

    def _find(self, piece: bytes, code: int) -> int | None:
        """The index of a piece with CRC-32 `code`, or None."""
        slot, ends = code & self._mask, self._ends
        while above := self._slots[slot]:
            if self._text[ends[above - 1] : ends[above]] == piece:
                return above - 1
            slot = (slot + 1) & self._mask
        return None

    def _best_cut(self, word: str) -> tuple[int, ...]:
        """Viterbi: the best segmentation up to every position, from those of earlier positions."""
        letters = [letter.encode("utf-8", "replace") for letter in word]
        starts, data = [0, *accumulate(map(len, letters))], b"".join(letters)
        best = [0.0] + [float("-inf")] * len(letters)
        before, piece = [0] * len(best), [UNKNOWN] * len(best)
        for start in range(len(letters)):
            first, here, code = starts[start], best[start], 0
            for end in range(start + 1, len(best)):
                last = starts[end]
                if last - first > self._longest and end > start + 1:
                    break
                code = crc32(letters[end - 1], code)
                place = self._find(data[first:last], code)
                if place is None and end > start + 1:
                    continue
                score = here + (self._unknown if place is None else self._scores[place])
                if score > best[end]:
                    best[end], before[end] = score, start
                    piece[end] = UNKNOWN if place is None else self._numbers[place]
        found, place = [], len(letters)
        while place:
            found.append(piece[place])
            place = before[place]
        return tuple(reversed(found))

    def _normalise(self, text: str) -> str:
        try:
            return self._map(text)
        except (IndexError, ValueError):
            raise PolyglanceError(f"{self.where}: its character map is damaged") from None


def _pack(pieces: Collection[bytes], ids: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """The fields of pieces with these ids and scores."""
    size = 2 << max(4, len(pieces).bit_length())
    slots = np.zeros(size, np.uint32)
    for place, piece in enumerate(pieces):
        slot = crc32(piece) & (size - 1)
        while piece and slots[slot]:
            slot = (slot + 1) & (size - 1)
        if piece:
            slots[slot] = place + 1
    return {
        "text": np.frombuffer(b"".join(pieces), np.uint8),
        "ends": np.array([0, *accumulate(map(len, pieces))], np.uint32),
        "ids": np.asarray(ids, np.uint32),
        "scores": np.asarray(scores, np.float32),
        "slots": slots,
    }


def _is_valid(fields: Tensors) -> bool:
    """Whether the fields have valid types and sizes, and all slots refer to pieces."""
    if any(name not in fields or fields[name].dtype != kind for name, kind in FIELDS.items()):
        return False
    if any(fields[name].ndim != 1 for name in FIELDS):
        return False
    ends, ids, slots = fields["ends"].astype(np.int64), fields["ids"], fields["slots"]
    count = len(ids)
    return (
        count > 0
        and len(ends) == count + 1
        and len(fields["scores"]) == count
        and len(fields["unknown"]) == 1
        and bool((np.diff(ends) >= 0).all())
        and int(ends[-1]) == len(fields["text"])
        and bool((np.diff(ids.astype(np.int64)) > 0).all())
        and len(slots).bit_count() == 1
        and not slots.all()
        and int(slots.max()) <= count
    )
