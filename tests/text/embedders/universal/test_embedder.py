"""Words as tokens of one numbering."""

import json
from pathlib import Path

import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.recipes.schema import masks_words
from polyglance.text.embedders import UniversalEmbedder, load_embedder
from polyglance.text.embedders.universal.layer import StoredWords, UniversalWords
from polyglance.text.embedders.universal.layout import Layout
from tests.text.embedders.texts import encode, ids_of

SMALL = ["text.embedder.word_dim=5", "text.embedder.own_dim=4", "text.max_length=4"]
TABLES = {"de": {"hund": 2, "rot": 3, "köter": 1}, "en": {"dog": 4, "cur": 1}}
LAYOUT = Layout(1, {"de": 2, "en": 1})


def recipe_of(*changes: str, name: str = "smalr") -> Recipe:
    return load_recipe(name, parse_overrides([*SMALL, *changes]))


@pytest.fixture
def embedder() -> UniversalEmbedder:
    return UniversalEmbedder(recipe_of(), TABLES, LAYOUT)


def test_unknown_words_are_dropped(embedder: UniversalEmbedder) -> None:
    texts = ["rot hund zebra köter", "zebra", "rot " * 5]
    assert ids_of(embedder, texts, "de") == [[3, 2, 1], [0], [3, 3, 3, 3]]
    assert ids_of(embedder, ["dog cur hund"], "en") == [[4, 1]]
    assert ids_of(embedder, texts, "de") == ids_of(embedder, texts, "de")
    assert encode(embedder, texts, "de").unseen is None
    assert embedder.tables == TABLES
    assert embedder.unknown(["rot", "zebra"], "de") == (("rot", "zebra"), ("zebra",))
    assert embedder.known_words("de") == ("hund", "rot", "köter")
    found = embedder.substitutes("de")
    assert (found.mask, found.words.tolist(), len(found.ends)) == (5, [1, 2, 3], 0)


def test_the_language_is_required_if_there_are_several(embedder: UniversalEmbedder) -> None:
    with pytest.raises(PolyglanceError, match="state the language"):
        ids_of(embedder, ["rot"], None)
    alone = UniversalEmbedder(recipe_of(), {"de": TABLES["de"]}, Layout(1, {"de": 2}))
    assert ids_of(alone, ["rot"], None) == [[3]]


def test_layers_have_a_mask_where_words_are_masked(embedder: UniversalEmbedder) -> None:
    layer = embedder.layer()
    assert isinstance(layer, UniversalWords)
    assert (layer.mask is not None) == masks_words(embedder.recipe.sampling)
    assert layer(torch.arange(LAYOUT.total)).shape == (5, 5)
    without = recipe_of("sampling.masking_weight=0", "sampling.always_mask=false")
    assert UniversalEmbedder(without, TABLES, LAYOUT).layer().mask is None
    matched = recipe_of("sampling.masking_weight=0", "sampling.always_mask=true")
    assert UniversalEmbedder(matched, TABLES, LAYOUT).layer().mask is not None


def test_a_tower_for_each_language() -> None:
    layout = Layout(0, {"de": 2, "en": 1})
    tables = {"de": {"hund": 1, "rot": 2}, "en": {"dog": 3}}
    recipe = recipe_of(name="par-embn")
    made = UniversalEmbedder(recipe, tables, layout)
    assert [tower for tower, _ in made.layers()] == ["de", "en"]
    assert made.layer("en")(torch.tensor([0, 3])).shape == (2, 5)
    empty = UniversalEmbedder(recipe, tables, Layout(0, {"de": 2, "en": 0}))
    with pytest.raises(PolyglanceError, match=r"'en' has none of its own: lower .*_count"):
        empty.layer("en")


def test_saved_words(embedder: UniversalEmbedder, tmp_path: Path) -> None:
    embedder.save(tmp_path)
    loaded = load_embedder(embedder.recipe, tmp_path)
    assert isinstance(loaded, UniversalEmbedder)
    assert (loaded.tables, loaded.layout) == (TABLES, LAYOUT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"latent": -1}, "'latent' and 'own' must be token counts"),
        ({"own": {"de": "2"}}, "'latent' and 'own' must be token counts"),
        ({"tables": {}}, "'tables' must have words by language"),
        ({"tables": {"de": {"words": [1], "tokens": [1]}}}, "de: field 'words'"),
        ({"tables": {"de": {"words": ["a"], "tokens": [5]}}}, "de: field 'tokens'"),
        ({"tables": {"de": {"words": ["a"], "tokens": []}}}, "de: field 'tokens'"),
    ],
)
def test_damaged_words(embedder: UniversalEmbedder, tmp_path: Path, change, message: str) -> None:
    embedder.save(tmp_path)
    file = tmp_path / "vocabulary.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(PolyglanceError, match=message):
        load_embedder(embedder.recipe, tmp_path)


def test_the_compact_form_reads_the_same(embedder: UniversalEmbedder) -> None:
    small = embedder.compact()
    assert ids_of(small, ["rot köter"], "de") == ids_of(embedder, ["rot köter"], "de")
    assert isinstance(small.layer(), StoredWords)
    assert small.recipe.text.embedder.stored
    assert not embedder.recipe.text.embedder.stored
    with pytest.raises(PolyglanceError, match="already compact"):
        small.compact()
