"""Perturbations as they are written."""

import pytest

from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb.spec import Perturbation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("typo:0.2", "unknown perturbation 'typo' .did you mean 'typos'"),
        ("typos", "share of words"),
        ("typos:2", "above 0 and at most 1"),
        ("typos:nan", "share of words"),
        ("typos:0.2:de", "only code-switch takes languages"),
        ("code-switch:0.2:", "separate languages with"),
    ],
)
def test_invalid_input_is_refused(text: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        Perturbation.parse(text)
