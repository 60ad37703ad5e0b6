import json

import numpy as np
import pytest
import torch
from polyglance.text.beginnings import SHARED, SHORTEST_FORM, closest
from polyglance.text.word_layers import WordTable

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TextRecipe
from polyglance.text.embedders.added import (
    FIRST_ID,
    AddedLanguage,
    AddedReader,
    AddedRows,
    load_added,
)
from polyglance.text.embedders.table import Vocabularies
from polyglance.text.embedders.vocabulary import Vocabulary

WORDS = st.text("abc", max_size=7)


@given(WORDS, st.lists(WORDS, max_size=12, unique=True))
def test_the_closest_beginning_is_that_of_all(word, words):
    def common(other):
        pairs = zip(word, other, strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(word), len(other)))

    fit = [
        other
        for other in words
        if len(word) >= SHORTEST_FORM
        and common(other) >= max(3, SHARED * max(len(word), len(other)))
    ]
    found = closest(word, sorted(words))
    if not fit:
        assert found is None
    else:
        best = max((common(other), -len(other)) for other in fit)
        assert (common(found), -len(found)) == best


@pytest.fixture
def reader():
    base = Vocabularies({"": Vocabulary(["dog", "runs"])})
    dutch = AddedLanguage(("hond", "rent"), "en")
    return AddedReader(base, {"nl": dutch, "da": AddedLanguage(("hund",), "en")}, 1)


RECIPE = TextRecipe(max_length=5)


def encode(reader, texts, codes, recipe=RECIPE):
    found = reader.encode(recipe, texts, [t.split() for t in texts], codes).ids
    return [
        found.flat[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:], strict=False)
    ]


def test_added_texts_have_ids_of_their_own_and_others_the_old_ones(reader):
    texts, codes = ["dog runs", "honden x rent", "hund", "hond"], ["en", "nl", "da", None]
    found = encode(reader, texts, codes)
    assert found[0] == encode(reader.base, ["dog runs"], ["en"])[0]
    assert found[1] == [1, FIRST_ID, FIRST_ID + 1, 2]
    assert found[2] == [1, FIRST_ID + 2, 2]
    assert found[3] == [1, 3, 2]  # without its language, the model's own words are looked up
    assert reader.recognise(RECIPE, ["honden", "xx"], "nl") == (("honden", "xx"), ("xx",))
    assert encode(reader, ["hond hond hond hond hond"], ["nl"])[0][-1] == 2
    assert len(encode(reader, ["hond hond hond hond hond"], ["nl"])[0]) == 5


def test_spelt_words_have_a_form_for_every_place():
    dutch = {"nl": AddedLanguage(("hond", "rent"), "en")}
    reader = AddedReader(Vocabularies({"": Vocabulary(["dog"])}), dutch, 4)
    recipe = TextRecipe(embedder=LiweEmbedderRecipe())
    found = encode(reader, ["hond rent hond", "hond", "x"], ["nl"] * 3, recipe)
    assert [[i - FIRST_ID for i in one] for one in found[:2]] == [[1, 4, 2], [3]]
    assert found[2] == [0]


def test_rows_beside_a_table(reader):
    torch.manual_seed(0)
    words = WordTable(6, 3)
    rows = AddedRows(reader, 3, ["nl", "da"])
    with torch.no_grad():
        rows.tables["language_nl"].copy_(torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
        rows.tables["language_da"].fill_(7)
    ids = torch.tensor([0, 4, FIRST_ID, FIRST_ID + 1, FIRST_ID + 2])
    found = rows.look_up(words, ids, torch.ones(5))
    expected = torch.tensor([[0.0, 0, 0], [0, 0, 0], [1, 2, 3], [4, 5, 6], [7, 7, 7]])
    expected[1] = words.weight[4]
    torch.testing.assert_close(found, expected)
    old = torch.tensor([0, 4, 5])
    assert rows.look_up(words, old, torch.ones(3)).equal(words(old))
    found.sum().backward()
    assert rows.tables["language_nl"].grad.equal(torch.ones(2, 3))


def test_saved_languages(reader, tmp_path):
    reader.save(tmp_path)
    loaded = load_added(Vocabularies.load(tmp_path), tmp_path)
    assert encode(loaded, ["honden rent"], ["nl"]) == encode(reader, ["honden rent"], ["nl"])
    assert np.array_equal(loaded.substitutes("da").words, [FIRST_ID + 2])
    (tmp_path / "added.json").write_text(json.dumps({"languages": {"nl": {}}}))
    with pytest.raises(PolyglanceError, match="needs 'forms' and 'languages'"):
        load_added(reader.base, tmp_path)
    (tmp_path / "added.json").unlink()
    assert load_added(reader.base, tmp_path) is reader.base
