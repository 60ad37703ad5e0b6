"""No paper sorts captions by length: vsepp, vse_infty, lavse and mulisera shuffle all of them."""

import pytest

from polyglance.recipes import check_recipe, load_recipe, recipe_names

OURS = {"nce", "nce-e2e", "sentence-nce", "polyglance-base"}
SORTED = {"nce", "nce-e2e"}
OLD = "name: mine\npaper: none\nsummary: none\ntext: {hidden: 1024}\n"


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_of_papers_shuffle_all_captions(name: str) -> None:
    recipe = load_recipe(name)
    assert (recipe.training.buckets > 1) == (name in SORTED)
    assert recipe.paper.startswith("ours") == (name in OURS)


def test_a_recipe_file_of_version_0_1_0_is_sorted_as_it_was(tmp_path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(OLD)
    assert load_recipe(old).training.buckets == 50
    old.write_text(OLD + "training: {buckets: 7}\n")
    assert load_recipe(old).training.buckets == 7
    assert check_recipe({"name": "mine", "paper": "", "summary": ""}, "new").training.buckets == 1
    old.write_text("base: kadar-bilingual-c2c\nname: mine\ntext: {hidden: 8}\njoint: {dim: 8}\n")
    assert load_recipe(old).training.buckets == 50
    new = tmp_path / "new.yaml"
    new.write_text(
        "base: kadar-bilingual-c2c\nname: mine\ntext: {encoder: {hidden: 8}}\njoint: {dim: 8}\n"
    )
    assert load_recipe(new).training.buckets == 1


def test_a_recipe_file_of_version_0_1_0_stops_on_the_best_captions(tmp_path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(
        "base: kadar-monolingual\nname: mine\ntext: {hidden: 8}\njoint: {dim: 8}\n"
        "data: {kinds: [translation]}\n"
    )
    assert load_recipe(old).data.validation_kinds == "best"
    assert load_recipe("kadar-monolingual").data.validation_kinds is None
