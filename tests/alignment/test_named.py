"""Dictionaries by name."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from polyglance.alignment import named_pairs
from polyglance.alignment.named import from_sentences, parallel
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.text.vectors.word_vectors import WordVectors


@pytest.fixture
def lexicon(tmp_path: Path) -> Path:
    path = tmp_path / "lexicon.tsv.gz"
    rows = "1-n\ten\tdog\n1-n\tde\thund\n2-n\ten\ttree\n2-n\tde\tbaum\n"
    path.write_bytes(gzip.compress(rows.encode()))
    return path


def test_later_names_fill_in_words_that_the_former_lack(tmp_path: Path, lexicon: Path) -> None:
    (tmp_path / "pairs.txt").write_text("hund hound\nhund dog\n")
    file = str(tmp_path / "pairs.txt")
    first = [("hund", "hound"), ("hund", "dog")]
    assert named_pairs(file, "de", "en") == first
    assert sorted(named_pairs("lexicon", "de", "en", lexicon)) == [
        ("baum", "tree"),
        ("hund", "dog"),
    ]
    assert named_pairs(f"{file}+lexicon", "de", "en", lexicon) == [*first, ("baum", "tree")]
    assert ("hund", "hound") not in named_pairs(f"lexicon+{file}", "de", "en", lexicon)


def test_captions_of_a_dataset_given_or_named(toy: Path) -> None:
    dataset = load_dataset(toy)
    given = named_pairs("captions", "de", "en", dataset=dataset)
    assert ("hund", "dog") in given
    assert named_pairs(f"captions:{toy}", "de", "en") == given
    german, english = parallel("captions", "de", "en", dataset)
    assert (set(german.languages), set(english.languages)) == ({"de"}, {"en"})


def test_identical_words_of_both_vectors() -> None:
    both = [WordVectors(own, np.eye(2)) for own in (["taxi", "hund"], ["dog", "taxi"])]
    assert named_pairs("identical", "de", "en", vectors=(both[0], both[1])) == [("taxi", "taxi")]


@pytest.mark.parametrize(
    ("name", "sentences"),
    [("captions", True), ("text-only:x", True), ("lexicon", False), ("pairs.txt", False)],
)
def test_which_come_from_sentences(name: str, sentences: bool) -> None:
    assert from_sentences(name) == sentences


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lexicon", "needs a lexicon"),
        ("lexicon:fr-en", "the languages are de and en; write lexicon:de-en"),
        ("identical", "needs vectors of both languages"),
        ("nowhere.txt", "nowhere.txt: no such file"),
        ("captions", "dataset"),
    ],
)
def test_invalid_input_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    with pytest.raises(PolyglanceError, match=message):
        named_pairs(name, "de", "en")
