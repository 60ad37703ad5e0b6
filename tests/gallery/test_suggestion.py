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


@pytest.fixture(scope="module")
def scorer(base: ExportedModel) -> Scorer:
    """Images that look exactly like texts: embeddings of sentences stand for them."""
    texts = ["an elephant in the grass", "a dog", "a red car", "mountains", "a bicycle", "a boat"]
    vectors = np.asarray(base.encode_text(texts, show_progress=False))
    return Scorer(base, Gallery([Path(text) for text in texts], vectors, [], unit=True))


@pytest.fixture(scope="module")
def suggester(base: ExportedModel) -> Suggester:
    return Suggester(base)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("an elephnat", "an elephant"),
        ("a bicicle -people", "a bicycle -people"),
        ("a bicicle -elephnat", "a bicycle -elephnat"),
        ('a bicicle -"grey elephnat"', 'a bicycle -"grey elephnat"'),
        ("an elephant", None),
        ("ein Strandkorb", None),
        ("象", None),
        ("", None),
    ],
)
def test_what_was_meant(suggester: Suggester, scorer: Scorer, slip: str, meant: str | None) -> None:
    assert suggester(scorer, slip) == meant


def test_a_word_stays_where_images_look_like_it(base: ExportedModel, suggester: Suggester) -> None:
    vectors = np.asarray(base.encode_text(["an elephnat"] * 6, show_progress=False))
    such = Scorer(base, Gallery([Path(str(n)) for n in range(6)], vectors, [], unit=True))
    assert suggester(such, "an elephnat") is None
