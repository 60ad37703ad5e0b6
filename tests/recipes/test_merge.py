"""Laying changes over recipes: kinds, plain mappings, several changes in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.recipes import check_recipe, load_recipe, parse_overrides, recipe_names
from polyglance.recipes.merge import merge, nested

NAMES = recipe_names()


@given(st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_a_whole_recipe_over_any_other_is_itself(below: str, above: str) -> None:
    upper = load_recipe(above)
    laid = merge(load_recipe(below).model_dump(mode="json"), upper.model_dump(mode="json"))
    assert check_recipe(laid, above) == upper


def test_a_changed_kind_keeps_what_both_kinds_have() -> None:
    base = load_recipe("liwe", {"text.embedder": {"char_dim": 7, "layers": [5, 6]}})
    changed = load_recipe(
        "liwe",
        [{"text.embedder": {"char_dim": 7, "layers": [5, 6]}}, {"text.embedder.kind": "chargru"}],
    )
    assert base.text.embedder.layers == [5, 6]
    assert changed.text.embedder.kind == "chargru"
    assert changed.text.embedder.char_dim == 7
    assert "layers" not in changed.text.embedder.model_dump()


def test_later_changes_win_over_former_ones() -> None:
    changes = [{"training.lr": 0.5, "training.epochs": 3}, {"training": {"lr": 0.25}}]
    recipe = load_recipe("vsepp", changes)
    assert (recipe.training.lr, recipe.training.epochs) == (0.25, 3)


def test_shared_changes_are_left_out_where_another_kind_has_them() -> None:
    changes = {"text.embedder.char_dim": 7, "loss.temperature": 0.1, "sampling.c2c": 0.5}
    assert load_recipe("vsepp", changes, shared=True) == load_recipe("vsepp")
    with pytest.raises(PolyglanceError, match=r"text.embedder of kind table has no field"):
        load_recipe("vsepp", changes)
    with pytest.raises(PolyglanceError, match=r"unknown field 'loss.temprature' \(did you mean"):
        load_recipe("nce", {"loss.temprature": 0.1}, shared=True)


def test_a_mapping_that_is_a_value_is_replaced() -> None:
    recipe = load_recipe("vse-infinity-bert", {"training.multipliers": {"image": 0.5}})
    assert recipe.training.multipliers == {"image": 0.5}
    by_language = {"data": {"kinds": {"en": ["independent"], "de": ["translation"]}}}
    recipe = load_recipe("vsepp", [by_language, {"data.kinds": {"en": ["translation"]}}])
    assert recipe.data.kinds == {"en": ["translation"]}


def test_an_optional_section_can_be_put_in_and_taken_out() -> None:
    recipe = load_recipe("translator", {"transfer": {"source": "model", "keep": True}})
    assert recipe.transfer is not None
    assert recipe.transfer.source == "model"
    assert load_recipe("smalr-clc-a", {"translation": None}).translation is None
    with pytest.raises(PolyglanceError, match=r"field 'transfer.source' is missing"):
        load_recipe("translator", {"transfer.keep": True})


def test_dots_and_sections_meet() -> None:
    changes = {"text.embedder": {"kind": "universal", "rare.kind": "latent"}, "text": {"towers": 1}}
    changes["text.embedder.rare"] = {"tokens": 3}
    assert nested(changes) == {
        "text": {
            "embedder": {"kind": "universal", "rare": {"kind": "latent", "tokens": 3}},
            "towers": 1,
        }
    }
    texts = [
        "training.multipliers={text.encoder: 0.1}",
        "text.encoder.kind=gru",
        "loss.margin=1e-3",
    ]
    assert parse_overrides(texts) == {
        "training": {"multipliers": {"text.encoder": 0.1}},
        "text": {"encoder": {"kind": "gru"}},
        "loss": {"margin": 0.001},
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text.encoder.hidden": 8}, "text tower's dimension is 8 and joint.dim is 1024"),
        ({"text.embedder.kind": "pieces"}, "go together"),
        ({"text.towers": "per-language"}, "needs batches of one language"),
        ({"sampling.kind": "tuples"}, "needs loss.kind=triplets"),
        ({"compat.translator_bias": True}, "compat.translator_bias has no effect"),
        ({"data.images": 0}, "data.images=0 trains nothing"),
        ({"transfer.source": "model"}, "set transfer.keep=true"),
        (
            {"sampling": {"kind": "languages", "text_only": True}},
            "sampling.text_only needs sampling.c2c above 0",
        ),
        (
            {"sampling": {"kind": "joint", "text_only": True}},
            "sampling.text_only needs sampling.c2c_weight above 0",
        ),
        ({"joint.similarity.kind": "scan"}, "one vector per image"),
    ],
)
def test_conflicting_settings_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("vsepp", changes)
