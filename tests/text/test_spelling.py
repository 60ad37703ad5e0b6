"""Words that are a slip of the finger away."""

import math
from random import Random

import pytest

from polyglance.evaluation.perturb.typos import typo
from polyglance.text.embedders.subwords.pieces import Pieces
from polyglance.text.spelling import SHORTEST, Speller
from tests.text.vocabulary_file import write_vocabulary

KNOWN = {"elephant": -8.0, "element": -7.0, "hund": -5.0, "Hund": -4.0, "собака": -9.0, "there": -1}


def unread(word: str) -> float:
    return -math.inf


@pytest.fixture
def speller() -> Speller:
    return Speller(KNOWN, unread)


@pytest.mark.parametrize("slip", ["elephnat", "elehant", "ellephant", "elephont", "Elephnat"])
def test_one_slip_is_found(speller: Speller, slip: str) -> None:
    assert speller(slip) == ["elephant"]


@pytest.mark.parametrize("slip", ["elaphnt", "lephnat", "Elehpnat", "eelephonnt"[1:]])
def test_two_slips_are_found_in_long_words(slip: str) -> None:
    known = {**KNOWN, "clementine": -3.0}
    assert Speller(known, unread)(slip) == ["elephant"]


def test_in_short_words_only_the_order_is_corrected(speller: Speller) -> None:
    short = Speller({"dog": -5.0, "two": -5.0}, unread)
    assert short("dgo") == ["dog"]
    assert short("dug") == short("dg") == []
    assert speller("hunsd") == ["hund"]
    assert speller("huxyd") == []


def test_a_word_is_written_as_typed() -> None:
    words = {"Beach": -4.0, "beach": -5.0, "Hund": -4.0}
    assert Speller(words, unread)("baech") == ["beach"]
    assert Speller(words, unread)("Baech") == ["Beach"]
    assert Speller(words, unread)("hudn") == ["Hund"]


def test_the_more_probable_spelling_is_offered(speller: Speller) -> None:
    assert speller("Huund") == ["Hund"]
    assert speller("huund") == ["hund"]
    assert speller("собкаа") == ["собака"]


@pytest.mark.parametrize("word", ["elephant", "HUND", "xyzzy", "elfnat", "hud", "大象大象", "a1b2"])
def test_nothing_is_offered(speller: Speller, word: str) -> None:
    assert speller(word) == []


def test_an_ending_is_no_slip(speller: Speller) -> None:
    assert speller("elephants") == []
    assert speller("elephan") == []


def test_words_that_are_read_well_stay() -> None:
    """A word in parts gives way only to one that is much more probable."""
    assert Speller(KNOWN, lambda word: -8.1)("elephnat") == []
    assert Speller(KNOWN, lambda word: -14.1)("elephnat") == ["elephant"]
    # Another letter is less probable than letters in another order.
    assert Speller(KNOWN, lambda word: -14.1)("elephont") == []
    assert Speller(KNOWN, lambda word: -16.1)("elephont") == ["elephant"]


def test_every_slip_of_the_perturbations_is_undone() -> None:
    chance, words = Random(0), ["elephant", "skateboard", "mountain", "fahrrad", "собака"]
    speller = Speller(dict.fromkeys(words, -5.0), unread)
    for _ in range(200):
        word = chance.choice(words)
        slip = typo(word, chance)
        if slip is None or slip.startswith(word) or word.startswith(slip) or len(slip) < SHORTEST:
            continue
        assert speller(slip) == [word], slip


def test_pieces_know_words_and_what_others_cost() -> None:
    scores = {"▁": -3.0, "▁dog": -2.0, "dog": -4.0, "▁d1": -5.0, "s": -6.0}
    pieces = Pieces.read(write_vocabulary(scores), "a test")
    assert pieces.whole_words() == {"dog": -2.0}
    assert pieces.log_probability("dogs") == pytest.approx(-8.0)
    # An unknown character costs 10 more than the rarest piece.
    assert pieces.log_probability("dog☃") == pytest.approx(-2.0 - 16.0)
