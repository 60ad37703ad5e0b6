import re

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.models.parameters import count_parameters
from polyglance.recipes import (
    Recipe,
    check_recipe,
    field_rows,
    load_recipe,
    parse_overrides,
    recipe_names,
)
from polyglance.recipes.merge import merge, nested


def run(*arguments):
    result = CliRunner().invoke(app, ["recipes", *arguments])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(*arguments):
    lines = run(*arguments).splitlines()
    return [line.split("\t") for line in lines[1:] if not line.startswith("#")]


def test_a_pretrained_encoder_decides_on_the_parameters():
    assert rows("vse-infinity-bert", "--parameters")[0][1] == "by encoder"


def test_list_names_all_recipes_with_paper_and_summary():
    assert [row[0] for row in rows()] == recipe_names()
    recipe = load_recipe("vsepp")
    assert rows("vsepp") == [["vsepp", recipe.summary, recipe.paper]]


def test_list_with_parameters():
    recipe = load_recipe("vsepp")
    millions = f"{count_parameters(recipe) / 1e6:.1f} M"
    assert rows("vsepp", "--parameters") == [["vsepp", millions, recipe.summary, recipe.paper]]
    assert "# parameters: with a vocabulary of 10,000 words" in run("vsepp", "--parameters")


def test_wildcards():
    assert [row[0] for row in rows("vse[0p]*")] == ["vse0", "vsepp", "vsepp-improved"]
    assert rows("list", "vse*") == rows("vse*")
    with pytest.raises(PolyglanceError, match=r"no recipe matches 'zzz\*'; choose from: .*vsepp"):
        run("zzz*")


@pytest.mark.parametrize("name", recipe_names())
def test_what_show_prints_is_the_same_recipe(name, tmp_path):
    changes = ["training.lr=1e-5", "data.languages=[en, de]", "text.dropout=0.25"]
    options = [part for change in changes for part in ("--set", change)]
    file = tmp_path / "mine.yaml"
    file.write_text(run("show", name, *options), encoding="utf-8")
    assert load_recipe(str(file)) == load_recipe(name, parse_overrides(changes))
    assert run("show", str(file)) == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vsep"], "unknown recipe 'vsep' .did you mean 'vsepp'"),
        (["nce", "--set", "trainig.lr=1"], "unknown field 'trainig' .did you mean 'training'"),
        (["nce", "--set", "training.l_r=1"], "unknown field 'training.l_r' .did you mean 'lr'"),
        (["nce", "--set", "training.lr=-1"], "'training.lr': .* greater than 0"),
        (["nce", "--set", "training.lr"], "expected path=value"),
        (["nce", "--set", "name.x=1"], "field 'name': .*valid string"),
        (["nce", "--set", "text.hidden=8"], "'text.hidden' is now 'text.encoder.hidden'"),
        (["nce", "--set", "text.embedder=liwe"], "'text.embedder' is now 'text.embedder.kind'"),
        (["nce", "--set", "tasks.c2c=1"], "'tasks.c2c' is now 'sampling.c2c' or"),
        (["nce", "--set", "attention.aggregate=lse"], "is now 'joint.similarity.lse'"),
        (
            ["nce", "--set", "text.embedder.kind=liew"],
            "unknown kind 'liew' of text.embedder .did you mean 'liwe'",
        ),
        (
            ["nce", "--set", "text.embedder.char_dim=8"],
            "text.embedder of kind table has no field 'char_dim' .liwe and chargru have",
        ),
        (
            ["smalr", "--set", "text.embedder.rare.pivot=de"],
            "text.embedder.rare of kind latent has no field 'pivot' .dictionary has",
        ),
        (["nce", "--set", "loss={kind: max-hinge}", "--set", "loss.temperature=1"], "infonce has"),
        (["missing.yaml"], "missing.yaml: no such recipe file"),
    ],
)
def test_mistakes_in_show(arguments, message):
    with pytest.raises(PolyglanceError, match=message):
        run("show", *arguments)


def leaves(value, prefix=""):
    """Paths of all values below sections."""
    for name, own in value.items():
        if isinstance(own, dict) and own:
            yield from leaves(own, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


@pytest.mark.parametrize("name", recipe_names())
def test_fields_are_all_of_a_recipe(name):
    paths = {re.sub(r"\[[^]]*\]", "", row[0]) for row in field_rows()}
    optional = {"image.backbone", "captioning", "consensus", "naming", "transfer", "translation"}
    found = set(leaves(load_recipe(name).model_dump(mode="json"))) - optional
    # Multipliers are by parts of a network, not fields.
    assert {path for path in found if not path.startswith("training.multipliers.")} <= paths


def test_fields_are_printed_as_they_are():
    assert rows("fields") == field_rows()


def kinds_of(path):
    """The kinds that a path of a field names."""
    found, parts = {}, ""
    for part in path.split(".")[:-1]:
        name, _, kind = part.rstrip("]").partition("[")
        parts = f"{parts}.{name}" if parts else name
        if kind:
            found[f"{parts}.kind"] = kind
    return found


REST = ("naming", "transfer", "translation", "text.projection", "sampling[images].beside")
NEEDED = {"paper": "", "summary": "", "name": "plain", "text.projection": True}


@pytest.mark.parametrize(
    "row",
    [row for row in field_rows() if row[2] != "required" and not row[0].startswith(REST)],
    ids=lambda row: row[0],
)
def test_a_default_can_be_set_as_it_is_shown(row):
    path, _, default, _ = row
    plain = re.sub(r"\[[^]]*\]", "", path)
    kinds = kinds_of(path)
    if kinds.get("text.encoder.kind") == "transformer":
        kinds["text.embedder.kind"] = "pieces"
    sentence = kinds.get("text.encoder.kind") == "sentence"
    if sentence:
        kinds |= {"text.embedder.kind": "subwords", "text.embedder.pieces": True}
    chosen = nested({**NEEDED, **kinds})
    own = sentence or kinds.get("text.encoder.kind") == "transformer"
    if own or "pieces" in kinds.values():
        del chosen["text"]["projection"]
    if kinds.get("sampling.kind") == "tuples":
        chosen["loss"] = {"kind": "triplets"}
    if kinds.get("joint.similarity.kind") in ("scan", "imram"):
        chosen["image"] = {"feature": "efficientnet-lite2/grid3"}
    if {"roles", "hgr"} & set(kinds.values()):
        chosen["image"] = {"feature": "efficientnet-lite2/grid3"}
        chosen["text"] = {"embedder": {"kind": "roles"}}
        chosen["joint"] = {"similarity": {"kind": "hgr"}}
    for section in ("captioning", "consensus"):
        if path.startswith(f"{section}."):
            chosen[section] = {}
    if path.startswith("captioning."):
        chosen["image"] = {"feature": "efficientnet-lite2/grid3"}
    if path.startswith("image.backbone."):
        chosen["image"] = {"backbone": {}}
    without = Recipe.model_validate(chosen)
    with_default = merge(chosen, parse_overrides([f"{plain}={default}"]))
    assert check_recipe(with_default, "plain") == without


def test_types_and_limits_of_fields():
    table = {row[0]: row[1:3] for row in field_rows()}
    assert table["text.encoder.kind"] == [
        "gru or bigru or attention or transformer or sentence",
        "gru",
    ]
    assert table["text.dropout"] == ["number ≥ 0, < 1", "0.0"]
    assert table["text.embedder[liwe].ends"] == ["true or false", "true"]
    assert table["text.embedder[universal].rare[latent].tokens"] == ["whole number ≥ 2", "40000"]
    assert table["data.languages"] == ["list of text or null", "null"]
    assert table["training.multipliers"] == ["mapping of text to number", "{}"]
    assert table["name"] == ["text", "required"]
    assert table["transfer.source"] == ["text", "required"]


def test_fields_by_wildcard():
    assert [row[0] for row in rows("fields", "image.head*")] == [
        "image.head.kind",
        "image.head[mlp].hidden",
        "image.head[residual-mlp].hidden",
        "image.head[bn-mlp].hidden",
        "image.head[classes].classes",
        "image.head[classes].temperature",
        "image.head[classes].top",
        "image.head[classes].start",
        "image.head[classes].lexicon",
    ]
    assert [row[0] for row in rows("fields", "text.embedder[liwe].l*")] == [
        "text.embedder[liwe].layers"
    ]
    assert [row[0] for row in rows("fields", "text.embedder.char_dim")] == [
        "text.embedder[liwe].char_dim",
        "text.embedder[chargru].char_dim",
    ]
    with pytest.raises(
        PolyglanceError, match=r"no field matches 'trainig.lr' .did you mean 'train"
    ):
        run("fields", "trainig.lr")
