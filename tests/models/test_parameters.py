"""How large recipes are."""

import pytest

from polyglance.models.parameters import count_parameters
from polyglance.recipes import load_recipe, recipe_names
from polyglance.recipes import parameters as arithmetic


def test_the_numbers_of_vsepp_by_hand() -> None:
    gru = 3 * 1024 * (300 + 1024 + 2)
    assert count_parameters(load_recipe("vsepp"), 50, 7) == 7 * 1024 + 1024 + 50 * 300 + gru


def test_of_towers_for_each_language_one_is_counted() -> None:
    towers = load_recipe("gella-vse")
    shared = load_recipe("gella-vse", {"text.towers": "shared", "sampling.kind": "union"})
    assert count_parameters(towers) == count_parameters(shared)


@pytest.mark.parametrize("name", recipe_names())
def test_arithmetic_gives_the_numbers_of_the_network(name: str) -> None:
    recipe = load_recipe(name)
    assert count_parameters(recipe) == arithmetic.count_parameters(recipe)
