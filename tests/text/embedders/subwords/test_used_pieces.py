"""The cache of the pieces of many words."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from polyglance.text.embedders.subwords import used_pieces as module
from polyglance.text.embedders.subwords.pieces import Pieces
from polyglance.text.embedders.subwords.used_pieces import FOLDER, used_pieces
from tests.text.vocabulary_file import write_vocabulary

VOCABULARY = {"scores": np.array([1.0, 2.0], np.float32), "text": np.array([1], np.uint8)}
WORDS = ["a", "bab", "ba"]
IDS = {"a": (7,), "ba": (3, 5), "bab": (3, 900)}
FOUND = [3, 5, 7, 900]


class Split:
    """Splits words, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, word: str) -> Sequence[int]:
        self.count += 1
        return IDS[word]


@pytest.fixture(autouse=True)
def _cache_small_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_CACHED", len(WORDS))


def test_the_same_words_are_split_once(tmp_path: Path) -> None:
    split = Split()
    for _ in range(2):
        assert used_pieces(VOCABULARY, WORDS, split, tmp_path).tolist() == FOUND
    assert split.count == len(WORDS)


def test_other_words_or_another_vocabulary_are_split_again(tmp_path: Path) -> None:
    split = Split()
    used_pieces(VOCABULARY, WORDS, split, tmp_path)
    assert used_pieces(VOCABULARY, ["a", "ba", "b" + "a"], split, tmp_path).tolist() == [3, 5, 7]
    other = {**VOCABULARY, "scores": np.array([1.0, 2.5], np.float32)}
    used_pieces(other, WORDS, split, tmp_path)
    assert split.count == 3 * len(WORDS)


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY broken", b"not an array"])
def test_a_damaged_result_is_replaced(tmp_path: Path, content: bytes) -> None:
    used_pieces(VOCABULARY, WORDS, Split(), tmp_path)
    (path,) = (tmp_path / FOLDER).iterdir()
    path.write_bytes(content)
    assert used_pieces(VOCABULARY, WORDS, Split(), tmp_path).tolist() == FOUND
    assert np.load(path).tolist() == FOUND


def test_an_array_of_something_else_is_replaced(tmp_path: Path) -> None:
    used_pieces(VOCABULARY, WORDS, Split(), tmp_path)
    (path,) = (tmp_path / FOLDER).iterdir()
    np.save(path, np.array([9, 2]))
    assert used_pieces(VOCABULARY, WORDS, Split(), tmp_path).tolist() == FOUND


def test_few_words_leave_no_file(tmp_path: Path) -> None:
    assert used_pieces(VOCABULARY, WORDS[:2], Split(), tmp_path).tolist() == [3, 7, 900]
    assert not (tmp_path / FOLDER).exists()


def test_an_unwritable_folder_is_no_problem(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert used_pieces(VOCABULARY, WORDS, Split(), blocked).tolist() == FOUND


def test_a_vocabulary_is_reduced_with_the_cache_it_is_given(tmp_path: Path) -> None:
    pieces = Pieces.read(write_vocabulary({"▁": -3.0, "a": -2.0, "b": -2.5, "ba": -2.25}), "small")
    kept = pieces.pruned(0, WORDS, tmp_path / "mine")
    assert "ba" in kept.named()
    assert len(list((tmp_path / "mine" / FOLDER).iterdir())) == 1
