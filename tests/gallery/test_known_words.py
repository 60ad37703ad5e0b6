"""Words that the included model hardly knows are named."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.gallery import Gallery, check_query, search
from polyglance.gallery.exact import find
from polyglance.gallery.results import HARDLY_KNOWN, nothing_found
from polyglance.gallery.suggestion import hardly_known_words
from polyglance.runtime import ExportedModel, load, shipped


@pytest.fixture(scope="module")
def base() -> ExportedModel:
    return load(shipped())


@pytest.mark.parametrize(
    ("text", "known", "named"),
    [
        ("flurbish", False, ("flurbish",)),
        ("a dog and a flurbish", True, ("flurbish",)),
        ("a dog in the snow", True, ()),
        ("der Hund", True, ()),
        ("the receipt", False, ("receipt",)),
        ("dog", True, ()),
        ("a dog -flurbish", True, ()),
        ("象", True, ()),
    ],
)
def test_words_are_tested_singly(
    base: ExportedModel, text: str, known: bool, named: tuple[str, ...]
) -> None:
    assert hardly_known_words(base, check_query(base, text), known) == named


def test_a_result_names_them(base: ExportedModel) -> None:
    vectors = np.asarray(base.encode_text(["a dog"] * 3, show_progress=False))
    gallery = Gallery([Path(str(n)) for n in range(3)], vectors, [], unit=True)
    texts = ["flurbish", "a dog and a flurbish", "a dog"]
    nothing, mixed, dog = find(
        base, gallery, [check_query(base, text) for text in texts], 2, everything=False
    )
    assert nothing.message == (
        "nothing here looks like that; the model hardly knows 'flurbish'; try other words, or "
        "another language"
    )
    assert nothing.unknown_note is None
    assert mixed.hits
    assert mixed.unknown_note == "the model hardly knows 'flurbish' in 'a dog and a flurbish'"
    assert mixed.as_dict()["hardly_known"] == ["flurbish"]
    assert dog.hardly_known == ()
    assert "hardly_known" not in dog.as_dict()
    assert dog.matches == 3
    assert (len(dog.hits), dog.as_dict()["matches"]) == (2, 3)


def test_the_advice_is_the_same_for_every_language() -> None:
    assert nothing_found(False) == f"nothing here looks like that; {HARDLY_KNOWN}"
    assert "English" not in HARDLY_KNOWN


def test_a_search_notes_them(base: ExportedModel) -> None:
    vectors = np.asarray(base.encode_text(["a dog"] * 3, show_progress=False))
    gallery = Gallery([Path(str(n)) for n in range(3)], vectors, [], unit=True)
    with pytest.warns(UserWarning, match="hardly knows 'flurbish' in"):
        found = search(base, gallery, "a dog and a flurbish")
    assert found.notes == ["the model hardly knows 'flurbish' in 'a dog and a flurbish'"]
