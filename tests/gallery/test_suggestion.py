"""Did you mean …, with the model that the package carries and with one of a few words."""

from collections.abc import Sequence
from copy import copy
from pathlib import Path

import numpy as np
import pytest

from polyglance.gallery import Gallery, QueryResult, check_query
from polyglance.gallery.scoring import Scorer
from polyglance.gallery.suggestion import Suggester, did_you_mean
from polyglance.runtime import ExportedModel, load, shipped


@pytest.fixture(scope="module")
def base() -> ExportedModel:
    return load(shipped())


def images_like(model: ExportedModel, text: str) -> Scorer:
    """Images that look exactly like a text: its embedding stands for them."""
    vectors = np.asarray(model.encode_text([text] * 6, show_progress=False))
    return Scorer(model, Gallery([Path(str(n)) for n in range(6)], vectors, [], unit=True))


@pytest.fixture(scope="module")
def scorer(base: ExportedModel) -> Scorer:
    return images_like(base, "an elephant")


@pytest.fixture(scope="module")
def suggester(base: ExportedModel) -> Suggester:
    return Suggester(base)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("an elephnat", "an elephant"),
        ("an elephnat -people", "an elephant -people"),
        ("an elephnat -elephnat", "an elephant -elephnat"),
        ('an elephnat -"grey elephnat"', 'an elephant -"grey elephnat"'),
        ("an elephant", None),
        ("ein Strandkorb", None),
        ("象", None),
        ("", None),
    ],
)
def test_what_was_meant(suggester: Suggester, scorer: Scorer, slip: str, meant: str | None) -> None:
    assert suggester(scorer, slip) == meant


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("receipt", "recept"),
        ("fridge", "bridge"),
        ("stove", "store"),
        ("Kapsel", "kapel"),
        ("panthéon", "pantalon"),
    ],
)
def test_a_real_word_is_no_typo(
    base: ExportedModel, suggester: Suggester, word: str, other: str
) -> None:
    """Not even where all images look like the other word."""
    assert suggester(images_like(base, other), word) is None


def test_the_vocabulary_is_read_once(
    base: ExportedModel, scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def common_words(languages: Sequence[str]) -> dict[str, float]:
        read.append(1)
        return {"elephant": -5.0}

    embedder = copy(base.embedder)
    monkeypatch.setattr(embedder, "common_words", common_words)
    monkeypatch.setattr(base, "embedder", embedder)
    result = QueryResult(check_query(base, "an elephnat"), [], hidden=6)
    for _ in range(3):
        assert did_you_mean(base, scorer, [result]) == ["did you mean 'an elephant'?"]
    assert read == [1]


def test_a_word_stays_where_images_look_like_it(base: ExportedModel, suggester: Suggester) -> None:
    assert suggester(images_like(base, "an elephnat"), "an elephnat") is None
