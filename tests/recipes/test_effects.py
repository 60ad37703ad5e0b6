"""Fields without effect cannot be set; every rule has a recipe it refuses and one it accepts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from polyglance.errors import PolyglanceError
from polyglance.recipes import (
    change_recipe,
    check_recipe,
    field_rows,
    load_recipe,
    recipe_names,
)
from polyglance.recipes.load import _read_packaged
from polyglance.recipes.schema.effects import fields_with_effect, idle_settings
from polyglance.recipes.schema.rules import RULES


class Case(NamedTuple):
    """A field that does nothing in the first recipe, for the reason `why`, but in the second."""

    field: str
    value: Any
    why: str
    idle: tuple[str, dict[str, Any]]
    works: tuple[str, dict[str, Any]]


def plain(path: str) -> str:
    return re.sub(r"\[[^]]*\]", "", path)


def backbone(**fields: Any) -> tuple[str, dict[str, Any]]:
    return "vsepp", {"image.backbone": fields, "image.head.kind": "classes"}


def images(recipe: str = "vsepp", **fields: Any) -> tuple[str, dict[str, Any]]:
    return recipe, {"sampling": {"kind": "images", **fields}}


def transfer(recipe: str = "vsepp", **fields: Any) -> tuple[str, dict[str, Any]]:
    return recipe, {"transfer": {"source": "model", **fields}}


def tuples(recipe: str = "mule", **fields: Any) -> tuple[str, dict[str, Any]]:
    return recipe, {"sampling": fields}


def assignment(kind: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "smalr", {"text.embedder.rare.assignment": {"kind": kind, **fields}}


VSEPP = "vsepp", {}
GRID = "vsepp", {"image.feature": "efficientnet-lite2/grid3"}
WORDS = "vsepp", {"augment.word_drop": 0.1}
KEPT, TUNED = transfer(keep=True), transfer(tune=True)
FIXED = transfer("translator")
ASSIGNMENT = "text.embedder[universal].rare[latent].assignment"
HASHED = (
    "sentence-nce",
    {"text.embedder.buckets": 0, "text.encoder.subword_drop": 0, "text.word_dropout": 0},
)

CASES = [
    Case("image.pooling", "gpo", "no set to pool", VSEPP, GRID),
    Case(
        "image.normalise", True, "no set to pool", VSEPP, ("vsepp", {"image.feature": "imported/x"})
    ),
    Case("image.normalise", True, "scales all vectors", ("scan-t2i", {}), ("hgr", {})),
    Case("image.normalise", True, "scales all vectors", ("imram", {}), GRID),
    Case(
        "image.head[classes].lexicon",
        "lexicon.tsv",
        "start at random",
        ("vsepp", {"image.head.kind": "classes"}),
        ("vsepp", {"image.head": {"kind": "classes", "start": "names"}}),
    ),
    *(
        Case(
            f"image.backbone.{name}",
            value,
            "not trained",
            *(backbone(train=train, views=3) for train in ("none", "last")),
        )
        for name, value in {
            "depthwise": False,
            "frozen_epochs": 2,
            "keep": 1.0,
            "multiplier": 0.5,
        }.items()
    ),
    *(
        Case(f"image.backbone.{name}", value, why, backbone(train=train), backbone(train="all"))
        for name, value in {"lower_multiplier": 0.5, "stage_epochs": 1}.items()
        for train, why in {"none": "not trained", "last": "only the last stage"}.items()
    ),
    Case("image.backbone.crop", 0.9, "whole image", backbone(squash=True), backbone()),
    *(
        Case(
            f"image.backbone.{name}",
            value,
            "none is a random crop",
            backbone(train="last", **no),
            backbone(train="last", **yes),
        )
        for name, value in {"smallest_crop": 0.5, "flip": False}.items()
        for no, yes in (
            ({"views": 1}, {"views": 2}),
            ({"views": 2, "whole": True}, {"views": 3, "whole": True}),
            ({"views": 1}, {}),
        )
    ),
    Case("text.tokenizer", "nltk", "reads texts as written", ("sentence-nce", {}), ("nce", {})),
    Case("text.dropout_by", "position", "word_dropout=0", VSEPP, ("nce", {})),
    Case(
        "text.embedder[table].scope",
        "per-language",
        "its own words",
        ("gella-vse", {}),
        ("nce", {}),
    ),
    *(
        Case(
            f"text.embedder[{kind}].min_count",
            2,
            "alphabet=lavse",
            (name, {"text.embedder.alphabet": "lavse"}),
            (name, {}),
        )
        for kind, name in {"liwe": "liwe", "chargru": "liwe-chargru"}.items()
    ),
    Case("text.embedder[subwords].ngram", 3, "no hashed subwords", HASHED, ("sentence-nce", {})),
    Case(
        "text.embedder[subwords].word_dim", 64, "no hashed subwords", HASHED, ("sentence-nce", {})
    ),
    *(
        Case(
            f"text.embedder[{kind}].{name}",
            value,
            "names files",
            (recipe, {"text.embedder.vectors": "x"}),
            (recipe, {}),
        )
        for kind, recipe, name, value in (
            ("universal", "mule", "corpus", "captions"),
            ("universal", "mule", "vector_dim", 8),
            ("vectors", "translator", "trained", "skipgram"),
        )
    ),
    *(
        Case(
            "text.embedder[universal].lexicon",
            "lexicon.tsv",
            "needs a lexicon",
            ("mule", changes),
            works,
        )
        for changes, works in (
            ({}, ("mule", {"text.embedder.corpus": "lexicon"})),
            ({"text.embedder.corpus": "captions"}, ("dictionary", {})),
            ({"text.embedder.vectors": "x"}, ("smalr", {})),
        )
    ),
    Case(
        "text.embedder[universal].frequent_count",
        3,
        "all words are rare",
        ("smalr-la", {}),
        ("smalr", {}),
    ),
    Case(
        "text.embedder[universal].frequent_count",
        3,
        "all words are rare",
        ("smalr-la", {}),
        ("mule", {}),
    ),
    Case(
        "text.embedder[universal].stored",
        True,
        "polyglance compact",
        ("mule", {}),
        transfer("mule", keep=True),
    ),
    Case(
        "text.embedder[vectors].copy_subwords",
        True,
        "without subwords",
        ("translator", {}),
        ("translator", {"text.embedder.vectors": "x"}),
    ),
    Case(
        "text.embedder[vectors].copy_subwords",
        True,
        "without subwords",
        ("translator", {}),
        ("translator", {"text.embedder.trained": "skipgram"}),
    ),
    *(
        Case(
            f"{ASSIGNMENT}[{kind}].epochs",
            3,
            "updates is set",
            assignment(kind, updates=5),
            assignment(kind),
        )
        for kind in ("paper", "aligned")
    ),
    *(
        Case(
            f"{ASSIGNMENT}[{kind}].candidates",
            5,
            "best token counts",
            assignment(kind, explore=0, soft=0),
            assignment(kind, **fields),
        )
        for kind in ("paper", "aligned")
        for fields in ({"explore": 0, "soft": 0.5}, {"explore": 0.2, "soft": 0})
    ),
    *(
        Case(
            "text.encoder[sentence].cached",
            9,
            "no layer is frozen",
            ("sentence-nce", {"text.encoder.train": "all"}),
            ("sentence-nce", {"text.encoder.train": train}),
        )
        for train in ("none", "top")
    ),
    Case("augment.vector_drop", 0.1, "none to drop", VSEPP, GRID),
    Case("augment.varying", True, "none to drop", VSEPP, ("vse-infinity", {})),
    Case("augment.varying", True, "drops no vector", GRID, ("vse-infinity", {})),
    Case("augment.mask_share", 0.3, "selects no word", VSEPP, WORDS),
    Case("augment.replace_share", 0.3, "selects no word", VSEPP, WORDS),
    Case("augment.include_ends", False, "selects no word", VSEPP, WORDS),
    *(
        Case(
            "augment.include_ends",
            False,
            "no <start> and <end>",
            (name, {"augment.word_drop": 0.1}),
            works,
        )
        for name, works in (
            ("nce", WORDS),
            ("liwe", ("vse-infinity-bert", {})),
            ("translator", ("vsepp", {"text.embedder.kind": "transformer", **WORDS[1]})),
        )
    ),
    Case(
        "loss[triplets].mask_same_image",
        True,
        "never negatives",
        ("mule", {}),
        ("vsepp", {"loss.kind": "triplets"}),
    ),
    *(
        Case("loss[mixed-hinge].epsilon_c2c", 0.5, "not ranked against captions", idle, works)
        for idle, works in (
            (("liwe", {}), ("liwe-joint", {})),
            (("liwe-joint", {"sampling": {"c2c_weight": 0, "grounded": None}}), images("liwe")),
            (
                ("liwe", {"sampling.kind": "languages"}),
                ("liwe", {"sampling": {"kind": "languages", "c2c": 0.5}}),
            ),
            (images("liwe", captions=1), images("liwe", captions=1, text_only=True)),
            (images("liwe", c2c_weight=0), images("liwe", c2c_weight=0.1)),
        )
    ),
    Case(
        "sampling[tuples].mask_share",
        0.3,
        "no caption is masked",
        ("mule", {}),
        tuples(always_mask=True),
    ),
    Case(
        "sampling[tuples].mask_share",
        0.3,
        "no caption is masked",
        ("mule", {}),
        tuples(masking_weight=1),
    ),
    *(
        Case(
            f"sampling[tuples].{name}",
            value,
            "masked modelling",
            tuples(always_mask=True),
            tuples(masking_weight=1),
        )
        for name, value in {"detach": True, "masking_reduction": "mean"}.items()
    ),
    Case(
        "sampling[tuples].masked_matching",
        False,
        "no caption is masked",
        ("mule", {}),
        tuples("smalr", masking_weight=0),
    ),
    Case(
        "sampling[tuples].masked_matching",
        False,
        "no caption is masked",
        ("mule", {}),
        tuples(masking_weight=1),
    ),
    Case(
        "sampling[tuples].always_mask",
        True,
        "does not match masked captions",
        tuples(masked_matching=False, masking_weight=1),
        ("mule", {}),
    ),
    *(
        Case(f"sampling[images].{name}", value, "no texts", images(), images(**fields))
        for name, value, fields in (
            ("text_pairs", 8, {"text_only": True}),
            ("text_weight", 0.1, {"text_files": ["x"]}),
            ("text_pivot", 0.5, {"text_only": True}),
        )
    ),
    Case(
        "sampling[images].c2c_weight",
        0.1,
        "no other caption",
        images(captions=1),
        images(captions=2),
    ),
    Case(
        "sampling[images].beside.favour",
        0.5,
        "no language to prefer",
        images(beside={"data": "x"}),
        images(beside={"data": "x", "languages": ["en"]}),
    ),
    *(
        Case(f"transfer.{name}", value, "transfer.tune=true", TUNED, KEPT)
        for name, value in {
            "translator": "random",
            "pivot": "en",
            "dictionary": "identical",
            "lexicon": "x",
            "vectors": "x",
        }.items()
    ),
    *(
        Case(f"transfer.{name}", value, why, idle, works)
        for name, value in {"method": "svd", "translations": 2, "iterations": 5}.items()
        for why, idle, works in (
            ("transfer.tune=true", TUNED, FIXED),
            ("no word vectors are aligned", KEPT, transfer(keep=True, vectors="x")),
            ("no word vectors are aligned", transfer("translator", translator="none"), FIXED),
        )
    ),
    Case("transfer.iterations", 5, "closed solution", transfer("translator", method="svd"), FIXED),
    Case("transfer.vectors", "x", "own folder is text.embedder.vectors", FIXED, KEPT),
    Case(
        "transfer.vectors",
        "x",
        "own folder is text.embedder.vectors",
        transfer("translator", keep=True),
        KEPT,
    ),
    Case("transfer.translator", "none", "start from the source's words", KEPT, FIXED),
    *(
        Case(
            f"transfer.{name}",
            value,
            "only used for transfer.translator=aligned",
            transfer("translator", translator="random"),
            works,
        )
        for name, value in {"pivot": "en", "dictionary": "identical", "lexicon": "x"}.items()
        for works in (FIXED, transfer(keep=True, translator="random"))
    ),
    Case(
        "transfer.lexicon",
        "x",
        "another dictionary",
        transfer(keep=True, dictionary="captions+lexicon.txt"),
        transfer(keep=True, dictionary="captions+lexicon:de-en"),
    ),
    Case(
        "training.epochs", 5, "training.updates is set", ("vsepp", {"training.updates": 9}), VSEPP
    ),
    Case("training.buckets", 9, "no length", ("liwe-joint", {}), VSEPP),
    Case("training.buckets", 9, "no length", ("mule", {}), ("kadar-bilingual", {})),
    Case("training.buckets", 9, "no length", ("polyglance-base", {}), ("sentence-nce", {})),
    Case(
        "training.schedule[step].every",
        5,
        "every_updates is set",
        ("vsepp", {"training.schedule.every_updates": 9}),
        VSEPP,
    ),
    *(
        Case(f"compat.{name}", True, why, (idle, {}), (works, changes))
        for name, why, idle, works, changes in (
            ("c2c_lengths", "no batch ranks", "vsepp", "kadar-bilingual-c2c", {}),
            ("c2c_lengths", "no batch ranks", "mule", "liwe-joint", {}),
            ("c2c_images", "no batch ranks", "vsepp", "kadar-bilingual-c2c", {}),
            ("reshuffle_all", "batches of their own", "liwe-joint", "kadar-bilingual", {}),
            ("halves", "all images", "vsepp", "vsepp", {"data.images": 0.5}),
            ("halves", "all images", "vsepp", "vsepp", {"data.assignment": "disjoint"}),
            ("pad_statistics", "from their characters", "vsepp", "liwe", {}),
            ("pad_statistics", "from their characters", "vsepp", "liwe-chargru", {}),
            ("unpacked", "not a GRU", "translator", "vsepp", {}),
            ("unpacked", "not a GRU", "sentence-nce", "nce", {}),
            ("adversary", "adversary and anchors", "vsepp", "mule", {}),
            ("anchor", "adversary and anchors", "vsepp", "mule", {}),
            ("padded_average", "universal words", "vsepp", "mule", {}),
            ("padded_attention", "no self-attention", "vsepp", "translator", {}),
            ("no_imgnorm", "cosines of vectors", "scan-t2i", "vsepp", {}),
            ("translator_bias", "have translators", "vsepp", "translator", {}),
        )
    ),
]


def names(case: Case) -> str:
    return f"{case.field}-{case.why}"


@pytest.mark.parametrize("case", CASES, ids=names)
def test_a_field_without_effect_is_refused_with_the_reason(case: Case) -> None:
    recipe, changes = case.idle
    assert load_recipe(recipe, changes).name == recipe
    path = plain(case.field)
    said = (
        f"^recipe {recipe}: {path} has no effect in this recipe: .*{case.why}.*; .*, or remove it$"
    )
    with pytest.raises(PolyglanceError, match=said):
        load_recipe(recipe, [changes, {path: case.value}])


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_same_field_is_accepted_where_it_has_an_effect(case: Case) -> None:
    recipe, changes = case.works
    value: Any = load_recipe(recipe, [changes, {plain(case.field): case.value}])
    for name in plain(case.field).split("."):
        value = getattr(value, name)
    assert value == case.value


def test_every_rule_has_cases_for_all_of_its_fields() -> None:
    for rule in RULES:
        for field in rule.fields:
            assert any(case.field == field and case.why in rule.why for case in CASES), field


def test_the_fields_of_rules_exist() -> None:
    assert {field for rule in RULES for field in rule.fields} <= {row[0] for row in field_rows()}


@pytest.mark.parametrize("name", recipe_names())
def test_packaged_recipes_set_nothing_without_effect(name: str) -> None:
    """Neither in their own file, nor in what 'recipes show' prints, which can be a file."""
    recipe = load_recipe(name)
    assert not [*idle_settings(recipe, _read_packaged(name).own)]
    assert not [*idle_settings(recipe, recipe.model_dump())]


@pytest.mark.parametrize(
    ("name", "changes", "left_out"),
    [
        (
            "vse-infinity-grid",
            {"image.feature": "efficientnet-lite2/global"},
            {"image.pooling", "augment.vector_drop", "augment.varying"},
        ),
        ("nce-e2e", {"image.backbone.train": "last"}, {"image.backbone.lower_multiplier"}),
        # Without always_mask, which does nothing if masked captions are not matched, nothing is
        # masked at all.
        (
            "smalr",
            {"sampling": {"masking_weight": 0, "masked_matching": False}},
            {"sampling.always_mask", "sampling.masked_matching", "sampling.masking_reduction"},
        ),
        ("vsepp", {}, set()),
    ],
)
def test_a_recipe_is_shown_as_a_file_without_idle_fields(
    tmp_path: Path, name: str, changes: dict[str, Any], left_out: set[str]
) -> None:
    recipe = load_recipe(name, changes)
    shown = fields_with_effect(recipe)
    path = tmp_path / "shown.yaml"
    path.write_text(yaml.safe_dump(shown))
    assert load_recipe(path).name == name
    assert {*leaves(recipe.model_dump(mode="json"))} - {*leaves(shown)} == left_out


def leaves(value: Any, prefix: str = "") -> Iterator[str]:
    for name, own in value.items():
        path = f"{prefix}{name}"
        yield from leaves(own, f"{path}.") if isinstance(own, dict) else [path]


def test_a_lexicon_is_not_read_for_vectors_that_are_not_trained() -> None:
    trained = load_recipe("mule", {"text.embedder.corpus": "lexicon"})
    changes = {"text.embedder": {"vectors": "folder", "lexicon": "lexicon.tsv"}}
    with pytest.raises(PolyglanceError, match="needs a lexicon"):
        change_recipe(trained, changes, "mine")


def test_epochs_set_to_auto_count_for_evaluations_even_with_updates() -> None:
    changes = {"training.updates": 9, "training.epochs": "auto"}
    assert load_recipe("vsepp", changes).training.epochs == "auto"


def test_a_default_may_be_set_and_takes_back_what_a_base_sets() -> None:
    changes = {
        "image.feature": "efficientnet-lite2/global",
        "image.pooling": "mean",
        "augment.vector_drop": 0,
        "augment.varying": False,
    }
    recipe = load_recipe("vse-infinity-grid", changes)
    assert (recipe.image.pooling, recipe.augment.vector_drop) == ("mean", 0)


def write(path: Path, **fields: Any) -> str:
    path.write_text(yaml.safe_dump({"name": "mine", "paper": "p", "summary": "s", **fields}))
    return str(path)


def test_a_file_is_refused_for_its_own_fields_only(tmp_path: Path) -> None:
    whole = {"feature": "efficientnet-lite2/global"}
    derived = write(tmp_path / "derived.yaml", base="vse-infinity", image=whole)
    assert load_recipe(derived).image.pooling == "gpo"
    again = write(tmp_path / "again.yaml", base=derived, training={"lr": 0.5})
    assert load_recipe(again).augment.vector_drop == 0.2
    own = write(tmp_path / "own.yaml", base="vsepp", image={"pooling": "gpo"})
    for changes in ({}, {"training.lr": 0.5}):
        with pytest.raises(PolyglanceError, match=r"own\.yaml: image\.pooling has no effect"):
            load_recipe(own, changes)
    based = write(tmp_path / "based.yaml", base=own)
    assert load_recipe(based).image.pooling == "gpo"


def test_overrides_may_leave_fields_of_a_file_without_effect(tmp_path: Path) -> None:
    sets = {"feature": "efficientnet-lite2/grid3", "pooling": "gpo"}
    mine = write(tmp_path / "mine.yaml", base="vsepp", image=sets)
    assert load_recipe(mine, {"image.feature": "efficientnet-lite2/global"}).image.pooling == "gpo"
    with pytest.raises(PolyglanceError, match=r"mine\.yaml: image\.normalise has no effect"):
        load_recipe(mine, {"image": {"feature": "efficientnet-lite2/global", "normalise": True}})


def test_a_file_that_needs_overrides_is_judged_with_them(tmp_path: Path) -> None:
    transfer = {"tune": True, "method": "svd"}
    mine = write(tmp_path / "mine.yaml", base="vsepp", transfer=transfer)
    with pytest.raises(PolyglanceError, match=r"transfer\.method has no effect"):
        load_recipe(mine, {"transfer.source": "model"})
    mine = write(tmp_path / "mine.yaml", base="vsepp", transfer={"tune": True})
    assert load_recipe(mine, {"transfer.source": "model"}).transfer is not None


def test_a_field_of_a_kind_that_a_later_change_replaces_is_left_out() -> None:
    changes = [{"loss": {"kind": "mixed-hinge", "epsilon_c2c": 0.5}}, {"loss.kind": "infonce"}]
    assert load_recipe("vsepp", changes).loss.kind == "infonce"


def test_overrides_for_many_rows_may_have_no_effect_in_some() -> None:
    recipe = load_recipe("vsepp", {"image.pooling": "gpo", "compat.anchor": True}, shared=True)
    assert recipe.image.pooling == "gpo"
    assert not recipe.compat.anchor
    assert load_recipe("vsepp", {"compat.halves": True}, shared=True).compat.halves


def test_a_saved_recipe_may_have_fields_without_effect() -> None:
    saved = load_recipe("vsepp").model_dump(mode="json")
    saved["image"]["pooling"] = "gpo"
    saved["compat"]["anchor"] = True
    recipe = check_recipe(saved, "config.json")
    assert (recipe.image.pooling, recipe.compat.anchor) == ("gpo", True)
    assert change_recipe(recipe, {"training.lr": 0.5}, "model").training.lr == 0.5
    with pytest.raises(PolyglanceError, match=r"^model: augment\.varying has no effect"):
        change_recipe(recipe, {"augment.varying": True}, "model")


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        ("liwe", {"image.feature": "efficientnet-lite2/global"}, r"image\.attention needs several"),
        ("vsepp", {"image.attention": True}, r"efficientnet-lite2/global has one: set image\."),
        ("vsrn", {"image.feature": "efficientnet-lite2/tencrop448"}, "captioning needs several"),
        (
            "par-embn",
            {"text.embedder.frequent": 0},
            r"frequent=0 no language has words of its own: set text\.embedder\.frequent above 0",
        ),
        (
            "mule",
            {"text.embedder.frequent": 0, "compat.padded_average": True},
            "words of their own in every language",
        ),
    ],
)
def test_parts_that_cannot_work_are_refused_by_the_schema(
    recipe: str, changes: dict[str, Any], message: str
) -> None:
    assert load_recipe(recipe).name == recipe
    with pytest.raises(PolyglanceError, match=message):
        load_recipe(recipe, changes)


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("liwe", {"image.feature": "imported/regions"}),
        ("vsrn", {"image.feature": "imported/regions"}),
        ("par-embn", {"text.embedder.frequent": 1}),
        ("mule", {"text.embedder.frequent": 0}),
        ("mule", {"compat.padded_average": True}),
        ("dictionary", {"text.embedder.frequent": 0, "compat.padded_average": True}),
    ],
)
def test_parts_that_can_work_are_not(recipe: str, changes: dict[str, Any]) -> None:
    assert load_recipe(recipe, changes).name == recipe
