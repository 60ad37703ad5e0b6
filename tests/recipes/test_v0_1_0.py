"""Recipes as version 0.1.0 wrote them mean the same today."""

import json
from pathlib import Path
from typing import Any

import pytest

from polyglance.core.documents import parse_yaml
from polyglance.errors import PolyglanceError
from polyglance.recipes import check_recipe, load_recipe, parse_overrides, recipe_names
from polyglance.recipes.merge import merge
from polyglance.recipes.schema import Recipe
from polyglance.recipes.since_0_1_0 import BEFORE
from polyglance.recipes.v0_1_0 import MOVES, is_old, upgrade
from polyglance.studies.keys.v0_1_0 import _defaults

HERE = Path(__file__).parents[1] / "v0_1_0"
MODELS = sorted(path.parent.name for path in HERE.glob("models/*/model.json"))
FILES = sorted(path.stem for path in HERE.glob("recipes/*.yaml"))
PACKAGE = sorted(path.stem for path in HERE.glob("package/*.yaml"))
EMBEDDERS = ("table", "liwe", "chargru", "transformer", "universal", "vectors")
HEADS = ("linear", "mlp", "residual-mlp", "bn-mlp")
LOSSES = ("max-hinge", "sum-hinge", "mixed-hinge", "infonce", "triplets")
SCHEDULES, MATCHINGS = ("constant", "step", "cosine"), ("scan", "imram")


def flat(name: str) -> dict[str, Any]:
    """A recipe that version 0.1.0 came with, laid over its base as that version did."""
    value = parse_yaml((HERE / "package" / f"{name}.yaml").read_text())
    base = value.pop("base", None)
    return laid(flat(base), value) if base else value


def laid(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = dict(below)
    for key, value in above.items():
        old = below.get(key)
        both[key] = laid(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both


def meaning(recipe: Recipe) -> Recipe:
    """Without the summary, whose words may change."""
    return recipe.model_copy(update={"summary": ""})


def changed(name: str) -> list[dict[str, Any]]:
    """What the recipe and those it is based on said in version 0.1.0 and do not say today."""
    base = parse_yaml((HERE / "package" / f"{name}.yaml").read_text()).get("base")
    return [*(changed(base) if base else []), BEFORE.get(name, {})]


def test_all_recipes_of_version_0_1_0_are_in_the_package() -> None:
    assert set(PACKAGE) <= set(recipe_names())


def test_what_changed_is_of_recipes_that_were_there() -> None:
    assert BEFORE.keys() <= set(PACKAGE)
    for name, fields in BEFORE.items():
        assert load_recipe(name, fields, shared=True) != load_recipe(name), (
            f"{name} has not changed"
        )


@pytest.mark.parametrize("name", PACKAGE)
def test_a_recipe_of_the_package_is_what_it_was_but_for_the_changes_listed(name: str) -> None:
    found = check_recipe(flat(name), f"{name}.yaml")
    assert meaning(found) == meaning(load_recipe(name, changed(name), shared=True))


@pytest.mark.parametrize("name", PACKAGE)
def test_a_part_laid_over_todays_base_is_what_it_was(name: str) -> None:
    """Parts that version 0.1.0's form cannot be told by mean what they would mean today."""
    path = HERE / "package" / f"{name}.yaml"
    part = parse_yaml(path.read_text())
    as_today = "base" in part and not is_old(part)
    expected = load_recipe(name) if as_today else load_recipe(name, changed(name), shared=True)
    assert meaning(load_recipe(path)) == meaning(expected)


@pytest.mark.parametrize("name", MODELS)
def test_the_recipe_of_a_saved_model_has_its_old_values(name: str) -> None:
    old = json.loads((HERE / "models" / name / "model.json").read_text())["recipe"]
    recipe = check_recipe(old, name)
    assert recipe.name == old["name"]
    assert recipe.joint.dim == old["joint"]["dim"]
    assert recipe.text.embedder.kind == old["text"]["embedder"]
    assert recipe.text.encoder.hidden == old["text"]["hidden"]
    assert recipe.sampling.kind == old["tasks"]["sampling"]
    assert recipe.loss.kind == old["loss"]["name"]
    assert recipe.training.schedule.kind == old["training"]["schedule"]
    assert (recipe.transfer is None) == (old["transfer"]["source"] is None)
    written = recipe.model_dump(mode="json")
    assert not is_old(written)
    assert check_recipe(written, name) == recipe


@pytest.mark.parametrize("name", FILES)
def test_a_recipe_file_is_its_base_with_its_changes(name: str) -> None:
    path = HERE / "recipes" / f"{name}.yaml"
    old = parse_yaml(path.read_text())
    recipe, base = load_recipe(path), load_recipe(old["base"], before=True)
    assert recipe.text.encoder.hidden == old["text"]["hidden"]
    assert recipe.training.updates == old["training"]["updates"]
    assert recipe.text.encoder.kind == base.text.encoder.kind
    assert recipe.loss == base.loss


def test_every_field_of_version_0_1_0_has_a_place_today() -> None:
    old = json.loads((HERE / "models" / "vsepp" / "model.json").read_text())["recipe"]
    for section, fields in old.items():
        for field in fields if isinstance(fields, dict) else ():
            for path in MOVES.get(f"{section}.{field}", (f"{section}.{field}",)):
                assert any(_leads(Recipe, path.split("."))), path


def _leads(schema: Any, parts: list[str]) -> Any:
    """Whether a path leads to a field of some variant."""
    from polyglance.core.sections import field_of, section_of, variants_of

    annotation = field_of(schema, parts[0])
    if annotation is None or len(parts) == 1:
        yield annotation is not None
        return
    for inner in [*variants_of(annotation).values(), section_of(annotation)]:
        yield from _leads(inner, parts[1:])


def test_fields_without_effect_are_left_out_and_misspelt_ones_are_not() -> None:
    old = flat("nce")
    old["loss"]["margin"] = 0.3
    old["compat"] = {"adversary": True, "unpacked": True}
    recipe = check_recipe(old, "mine.yaml")
    assert "margin" not in recipe.loss.model_dump()
    assert recipe.compat.unpacked
    assert not recipe.compat.adversary
    with pytest.raises(PolyglanceError, match=r"mine.yaml: unknown field 'loss.margn'"):
        check_recipe(laid(flat("nce"), {"loss": {"margn": 0.3}}), "mine.yaml")


@pytest.mark.parametrize(
    ("attention", "lse"),
    [
        ({"matching": "scan"}, None),
        ({"matching": "scan", "aggregate": "lse"}, 6.0),
        ({"matching": "scan", "aggregate": "lse", "lse": 4.0}, 4.0),
        ({"matching": "scan", "aggregate": "mean", "lse": 4.0}, None),
        ({"matching": "scan", "lse": 4.0}, None),
    ],
)
def test_log_sum_exp_has_one_field(attention: dict[str, Any], lse: float | None) -> None:
    assert upgrade({"attention": attention})["joint"]["similarity"]["lse"] == lse


def test_words_of_a_section_that_another_embedder_has_do_not_count() -> None:
    old = {"text": {"embedder": "liwe", "vectors": "glove.txt"}, "universal": {"vectors": "folder"}}
    assert upgrade(old)["text"]["embedder"]["vectors"] == "glove.txt"
    old["text"]["embedder"] = "universal"
    assert upgrade(old)["text"]["embedder"]["vectors"] == "folder"


KINDS = [
    *(({"text": {"embedder": kind}}, f"text.embedder.kind={kind}") for kind in EMBEDDERS),
    *(({"text": {"encoder": kind}}, f"text.encoder.kind={kind}") for kind in ("gru", "attention")),
    *(({"image": {"head": kind}}, f"image.head.kind={kind}") for kind in HEADS),
    *(({"loss": {"name": kind}}, f"loss.kind={kind}") for kind in LOSSES),
    *(({"tasks": {"sampling": kind}}, f"sampling.kind={kind}") for kind in ("languages", "joint")),
    *(({"training": {"schedule": kind}}, f"training.schedule.kind={kind}") for kind in SCHEDULES),
    *(({"attention": {"matching": kind}}, f"joint.similarity.kind={kind}") for kind in MATCHINGS),
    *(
        (
            {"text": {"embedder": "universal"}, "universal": {"rare": kind}},
            f"text.embedder={{kind: universal, rare: {{kind: {kind}}}}}",
        )
        for kind in ("drop", "latent", "dictionary")
    ),
    ({"joint": {"similarity": "order"}}, "joint.similarity.kind=order"),
    ({"joint": {"similarity": "order-squared"}}, "joint.similarity={kind: order, squared: true}"),
    (
        {"tasks": {"sampling": "tuples"}, "loss": {"name": "triplets"}},
        "sampling={kind: tuples}",
    ),
]


@pytest.mark.parametrize(("old", "new"), KINDS, ids=lambda value: str(value))
def test_defaults_are_those_of_version_0_1_0(old: dict[str, Any], new: str) -> None:
    names = {"name": "plain", "paper": "", "summary": ""}
    grid = {"image": {"feature": "efficientnet-lite2/grid3"}}
    before = laid({**names, **_defaults()}, laid(grid, old))
    # Captions are not sorted by length any more, unless a recipe says so.
    today = merge(laid(names, grid), parse_overrides([new, "training.buckets=50"]))
    if "tuples" in new:
        today["loss"] = {"kind": "triplets"}
    assert check_recipe(before, "old") == check_recipe(today, "new")
