"""Languages that are ranked against images, and those that are not."""

from itertools import islice

import pytest

from polyglance.errors import PolyglanceError
from polyglance.training.samplers.grounded import check_grounded, grounded_rows
from tests.training.samplers.planted import data, sampler


def test_rows_of_the_named_languages_that_have_images() -> None:
    source = data(4, {"de": 1, "en": 2}, text_only=3)
    assert grounded_rows(None, source).tolist() == [True] * 12
    assert grounded_rows(["en"], source).tolist() == [False, True, True] * 4


@pytest.mark.parametrize("sampling", [["joint", "c2c_weight=0.5"], ["languages", "c2c=0.5"]])
def test_the_others_meet_images_only_through_grounded_ones(sampling: list[str]) -> None:
    source, (kind, c2c) = data(), sampling
    chosen = [f"sampling.kind={kind}", f"sampling.{c2c}", "sampling.grounded=[en]"]
    kinds = set()
    for terms in islice(sampler(source, *chosen).batches(0), 60):
        for term in terms:
            english = {source.languages[row] == "en" for row in term.captions}
            if term.others is None:
                assert english == {True}
            else:
                pairs = zip(term.captions, term.others, strict=True)
                assert all("en" in {source.languages[i] for i in pair} for pair in pairs)
            kinds.add(term.others is None)
    assert kinds == {True, False}


def test_invalid_input_is_refused() -> None:
    source = data(4, {"de": 1, "en": 1})
    check_grounded(["en"], 0.5, source)
    check_grounded(["en", "de"], 0.0, source)
    with pytest.raises(PolyglanceError, match="leaves out de, which would not be trained at all"):
        check_grounded(["en"], 0.0, source)
    with pytest.raises(PolyglanceError, match="'fr' is not a training language"):
        check_grounded(["fr"], 0.5, source)
