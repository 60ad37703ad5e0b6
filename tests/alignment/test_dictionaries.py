"""Files of word pairs, and rows of vectors that they name."""

import numpy as np
import pytest

from polyglance.alignment import (
    best_rows,
    identical_pairs,
    paired_rows,
    read_pairs,
    split_rows,
)
from polyglance.errors import PolyglanceError
from polyglance.text.vectors.word_vectors import WordVectors


def vectors(*words):
    return WordVectors(list(words), np.eye(len(words), dtype=np.float32))


def test_file_of_pairs(tmp_path):
    path = tmp_path / "fr-de.txt"
    path.write_text("chien hund\nchien\thund\n\nchat  katze\nau revoir\ttschüss\n")
    assert read_pairs(path) == [("chien", "hund"), ("chat", "katze"), ("au revoir", "tschüss")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\na b c\n", r"d.txt, line 2: expected a source and a target word, found 3 parts"),
        ("a b\nab\n", "line 2: .* found 1 parts"),
        ("a\t\n", "line 1: expected"),
        ("\n", "empty"),
    ],
)
def test_damaged_file_of_pairs(tmp_path, text, message):
    (tmp_path / "d.txt").write_text(text)
    with pytest.raises(PolyglanceError, match=message):
        read_pairs(tmp_path / "d.txt")


def test_rows_of_pairs():
    source, target = vectors("le", "chien", "שלום"), vectors("Hund", "hund", "der", "hallo")
    pairs = [
        ("chien", "Hund"),
        ("Chien", "Hund"),
        ("chien", "HUND"),
        ("le", "das"),
        ("le", "der"),
        ("שָׁלוֹם", "hallo"),
    ]
    assert paired_rows(pairs, source, target).tolist() == [[0, 2], [1, 0], [1, 1], [2, 3]]
    assert paired_rows([("x", "y")], source, target).shape == (0, 2)
    assert paired_rows([], source, target).shape == (0, 2)


def test_identical_words():
    pairs = identical_pairs(vectors("a", "taxi", "chat", "radio"), vectors("radio", "a", "taxi"))
    assert pairs == [("taxi", "taxi"), ("radio", "radio")]


@pytest.mark.parametrize("seed", [None, 3])
def test_split_is_by_source_word(seed):
    rows = np.stack([np.repeat(np.arange(50), 2), np.arange(100)], axis=1)
    train, test = split_rows(rows, 30, 8, seed)
    words = [set(part[:, 0].tolist()) for part in (train, test)]
    assert [len(part) for part in words] == [30, 8]
    assert words[0].isdisjoint(words[1])
    assert len(train) == 60
    assert (words[0] == set(range(30))) == (seed is None)


def test_at_most_a_fifth_is_held_out():
    rows = np.stack([np.arange(20), np.arange(20)], axis=1)
    assert [len(part) for part in split_rows(rows)] == [16, 4]
    assert [len(part) for part in split_rows(rows, None, 2)] == [18, 2]
    assert [len(part) for part in split_rows(rows[:3])] == [3, 0]
    assert [len(part) for part in split_rows(rows, test=0)] == [20, 0]


def test_first_translations():
    rows = np.array([[0, 5], [0, 1], [0, 7], [3, 2]])
    assert best_rows(rows, 2).tolist() == [[0, 5], [0, 1], [3, 2]]
    assert best_rows(rows[:0], 2).shape == (0, 2)
