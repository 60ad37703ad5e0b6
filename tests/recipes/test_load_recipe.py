"""Recipes with mistakes."""

from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides

START = b"name: a\npaper: b\nsummary: c\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (START + b"training:\n  lr: 1\n  lr: 2\n", r"line 6: .*'lr' occurs twice"),
        (START + b"text: {}\ntext: {}\n", r"line 5: .*'text' occurs twice"),
        (b"name: a\n\tpaper: b\n", "line 2: not valid YAML"),
        ("name: ü\n".encode("latin-1"), "not UTF-8; save"),
        (START.decode().encode("utf-16"), "not UTF-8; save"),
        (b"[" * 20_000, "nested too deep"),
        (START + b"training: 3\n", "'training' must be a section"),
        (START + b"trainin: {}\n", "unknown field 'trainin'.*'training'"),
        (b"", "expected the fields of a recipe"),
    ],
)
def test_a_bad_file_is_explained(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(data)
    with pytest.raises(PolyglanceError, match=rf"mine\.yaml.*{message}"):
        load_recipe(str(path))


@pytest.mark.parametrize(
    "override",
    [
        "training.lr=inf",
        "training.lr=.inf",
        "training.lr=nan",
        "training.lr=1e999",
        "training.seed=100000000000000000000",
        "data.languages=[]",
        "training=3",
        "training.lr.x=3",
    ],
)
def test_a_bad_override_is_explained(override: str) -> None:
    with pytest.raises(PolyglanceError, match=r"training|data\.languages"):
        load_recipe("vsepp", parse_overrides([override]))


def test_norwegian_and_min_nan_are_languages() -> None:
    recipe = load_recipe(
        "vsepp", parse_overrides(["data.languages=[no, nan]", "image.standardise=true"])
    )
    assert recipe.data.languages == ["no", "nan"]
    assert recipe.image.standardise is True


def test_a_section_without_fields_takes_overrides(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + START + b"training:\n")
    assert load_recipe(str(path), parse_overrides(["training.lr=1e-3"])).training.lr == 0.001


def test_a_recipe_changes_what_its_base_says(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nbase: vsepp\npaper: p\nsummary: s\ntraining: {lr: 0.5}\n")
    mine, base = (
        load_recipe(str(path), {"text.encoder.hidden": 7, "joint.dim": 7}),
        load_recipe("vsepp"),
    )
    assert (mine.name, mine.training.lr, mine.text.encoder.hidden) == ("mine", 0.5, 7)
    assert mine.training.model_copy(update={"lr": base.training.lr}) == base.training
    assert mine.loss == base.loss


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("vsep", "unknown recipe 'vsep' .*'vsepp'"),
        ("3", "base: expected a recipe's name"),
        ("{path}", "leads back to this recipe"),
    ],
)
def test_a_bad_base_is_explained(tmp_path: Path, base: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"name: mine\nbase: {base.format(path=path)}\npaper: p\nsummary: s\n")
    with pytest.raises(PolyglanceError, match=message):
        load_recipe(str(path))
