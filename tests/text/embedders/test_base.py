"""What every embedder of the package does: the registry, languages, and pure reading."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from polyglance import Model
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.recipes.schema import EmbedderRecipe, variants_of
from polyglance.text.embedders import embedders
from polyglance.text.embedders.base import by_language
from polyglance.text.embedders.encoded import FIRST_UNSEEN, Unseen
from polyglance.text.embedders.layer import FIRST_ADDED
from tests.text.embedders.texts import training_texts

GOLDEN = Path(__file__).parents[2] / "v0_1_0" / "models"
MODELS = ["vsepp", "gella", "liwe", "liwe-glove", "liwe-nl", "mule", "mule-nl", "smalr-compact",
          "translator-files-nl"]  # fmt: skip


def test_every_variant_of_recipes_has_its_embedder() -> None:
    for kind, variant in variants_of(EmbedderRecipe).items():
        assert variant in embedders.get(kind).variants
        assert issubclass(variant, EmbedderRecipe)
    assert set(embedders.list()) == {*variants_of(EmbedderRecipe), "added"}


def test_captions_by_language() -> None:
    texts = training_texts({"en": ["a dog", "a"], "de": ["ein hund"]})
    assert texts.by_language() == {"en": [["a", "dog"], ["a"]], "de": [["ein", "hund"]]}


def test_the_table_of_a_language() -> None:
    assert by_language({"": 1}, None) == by_language({"": 1}, "xx") == 1
    assert by_language({"en": 1, "de": 2}, "de") == 2
    with pytest.raises(PolyglanceError, match=r"state the language .*one of: en, de"):
        by_language({"en": 1, "de": 2}, None)
    with pytest.raises(PolyglanceError, match=r"does not know the language 'dde' .*'de'"):
        by_language({"en": 1, "de": 2}, "dde")


def test_ids_of_unseen_and_added_words_are_apart_and_fit_32_bits() -> None:
    assert FIRST_UNSEEN < FIRST_ADDED < np.iinfo(np.int32).max
    assert len(Unseen({"vectors": np.zeros((3, 2)), "owners": np.zeros(3)})) == 3


@pytest.mark.parametrize("name", MODELS)
def test_reading_is_pure(name: str) -> None:
    """The same texts give the same ids whatever was read before, and the embedder stays."""
    model = Model.load(GOLDEN / name)
    language = "nl" if name.endswith("-nl") else "de"
    texts = ["hund läuft", "ein zebra zebras", "rot"]
    model.tokens(["hund"], language)  # an index of words is made when it is first needed
    before = pickle.dumps(model.embedder)
    first = model.tokens(texts, language)
    embeddings = model.encode_tokens(first, language)
    model.encode_text(["quagga löwe", "okapi"], language)
    again = model.tokens(texts, language)
    np.testing.assert_array_equal(first.ids.flat, again.ids.flat)
    np.testing.assert_array_equal(first.ids.offsets, again.ids.offsets)
    assert (first.unseen is None) == (again.unseen is None)
    for column in first.unseen.columns if first.unseen else ():
        np.testing.assert_array_equal(first.unseen.columns[column], again.unseen.columns[column])
    assert pickle.dumps(model.embedder) == before
    np.testing.assert_allclose(model.encode_tokens(first, language), embeddings, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_copy_reads_the_same(name: str) -> None:
    model = Model.load(GOLDEN / name)
    language = "nl" if name.endswith("-nl") else "de"
    texts = ["hund läuft", "ein zebra"]
    expected = model.encode_text(texts, language)
    np.testing.assert_allclose(copy.deepcopy(model).encode_text(texts, language), expected)
    other = pickle.loads(pickle.dumps(model.embedder))
    found = other.encode(texts, [text.split() for text in texts], [language] * 2)
    np.testing.assert_array_equal(found.ids.flat, model.tokens(texts, language).ids.flat)


def test_what_an_embedder_need_not_define() -> None:
    model = Model.load(GOLDEN / "liwe")
    assert model.embedder.count_words("en") == 0
    assert model.embedder.pivot_languages(["de", "en"]) == ["de", "en"]
    assert Model.load(GOLDEN / "vsepp").embedder.positions == 1
    recipe = load_recipe("vse-infinity-bert")
    with pytest.raises(PolyglanceError, match="the size of embedder 'pieces' depends on its files"):
        embedders.get("pieces").blank(recipe, 10)
