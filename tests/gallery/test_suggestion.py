"""Did you mean …, with the model that the package carries and with one of a few words."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.gallery import Gallery
from polyglance.gallery.scoring import Scorer
from polyglance.gallery.suggestion import Suggester
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


def test_a_word_stays_where_images_look_like_it(base: ExportedModel, suggester: Suggester) -> None:
    assert suggester(images_like(base, "an elephnat"), "an elephnat") is None
