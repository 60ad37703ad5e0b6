"""An export gives what its model gives, for every recipe that can be exported."""

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.trained import exported, image_difference, text_difference, trained

LARGEST = 1e-5
RECIPES = {
    "nce": (),
    "vsepp": (),
    "vsepp-improved": (),
    "vse0": (),
    "order": (),
    "kadar-monolingual": ("data.languages=[en]",),
    "kadar-bilingual": (),
    "kadar-multilingual-c2c": ("data.languages=[de,en]",),
    "gella-vse": (),
    "gella-parallel-sym": (),
    "gella-oe": (),
    "freq-threshold": (),
}
SETS = {
    "vse-infinity": (),
    "liwe": (),
    "liwe-chargru": (),
    "vsepp": ("image.pooling=kmax2", "text.pooling=gem"),
}


@pytest.mark.parametrize("name", RECIPES)
def test_of_global_features(name: str, tmp_path: Path) -> None:
    check(tmp_path, name, "global", *RECIPES[name])


@pytest.mark.parametrize("name", SETS)
def test_of_sets_of_features(name: str, tmp_path: Path) -> None:
    check(tmp_path, name, "set", *SETS[name])


def check(folder: Path, name: str, form: str, *settings: str) -> None:
    model, data = trained(folder, name, form, *settings)
    other = exported(folder, model)
    assert text_difference(model, other) <= LARGEST
    assert image_difference(model, other, data) <= LARGEST
    assert (other.dim, other.languages) == (model.dim, model.languages)
    a, b = np.random.default_rng(0).random((2, 3, model.dim))
    np.testing.assert_array_equal(other.similarity(a, b), model.similarity(a, b))
