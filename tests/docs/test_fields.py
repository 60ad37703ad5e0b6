"""Recipes and fields in the docs are those of today."""

import re
from pathlib import Path

import pytest
import yaml

from polyglance.core.sections import field_of, section_of, variants_of
from polyglance.recipes import Recipe, load_recipe, recipe_names

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if page.name not in ("changelog.md", "glossary.md")]
SECTIONS = "|".join(set(Recipe.model_fields) - {"name", "paper", "summary"})
SET = re.compile(r"--set ['\"]?(\w+\.[\w.]+)=")
NAMED = re.compile(rf"`((?:{SECTIONS})(?:\.(?!(?:py|onnx|noun)\b)\w+)+)(?:[=>< ][^`]*)?`")
FENCE = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)


def exists(path):
    """Whether a dotted path is a field of a recipe, of any kind of its sections."""
    schemas = [Recipe]
    for part in path.split("."):
        found = [field_of(schema, part) for schema in schemas]
        found = [annotation for annotation in found if annotation is not None]
        if not found:
            return False
        schemas = [
            schema
            for annotation in found
            for schema in (*variants_of(annotation).values(), section_of(annotation))
            if schema is not None
        ]
    return True


def test_paths_are_distinguished_from_those_of_version_0_1_0():
    assert exists("text.encoder.hidden")
    assert exists("text.embedder.rare.pivot")
    assert not exists("text.hidden")
    assert not exists("universal.corpus")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_fields_named_in_the_docs_exist(page):
    text = page.read_text(encoding="utf-8").split("## Files of version 0.1.0")[0]
    named = {*SET.findall(text), *NAMED.findall(text)}
    assert sorted(path for path in named if not exists(path)) == []


def test_the_pages_name_fields():
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    assert len({*SET.findall(text), *NAMED.findall(text)}) > 10


def test_recipes_in_the_docs_can_be_read(tmp_path):
    text = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    found = FENCE.findall(text)
    assert len(found) == 2
    for number, document in enumerate(found):
        file = tmp_path / f"{number}.yaml"
        file.write_text(document, encoding="utf-8")
        assert load_recipe(file).name == yaml.safe_load(document)["name"]


def test_every_recipe_is_in_the_docs():
    pages = [ROOT / "docs" / name for name in ("recipes.md", "smalr.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    c2c = {"kadar-bilingual-c2c", "kadar-multilingual-c2c"}  # "also with -c2c"
    assert [name for name in set(recipe_names()) - c2c if f"`{name}`" not in text] == []
