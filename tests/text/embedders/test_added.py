"""Languages added to a trained model: their own ids and vectors, all else as it was."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import CharacterEmbedder, TableEmbedder, Vocabulary, load_embedder
from polyglance.text.embedders.added import AddedEmbedder, AddedLanguage
from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.embedders.characters.forms import FIRST, LAST, Form, FormTable
from polyglance.text.embedders.encoded import FIRST_UNSEEN
from polyglance.text.embedders.layer import FIRST_ADDED
from polyglance.text.embedders.table_layer import WordTable
from tests.text.embedders.texts import encode, ids_of


def recipe_of(name: str = "vsepp", *changes: str) -> Recipe:
    return load_recipe(name, parse_overrides(["text.max_length=5", *changes]))


@pytest.fixture
def embedder() -> AddedEmbedder:
    base = TableEmbedder(recipe_of(), {"": Vocabulary(["dog", "runs"])})
    made = base.add_words("nl", ["hond", "rent"], "en").add_words("da", ["hund"], "en")
    assert isinstance(made, AddedEmbedder)
    return made


def test_added_texts_have_ids_of_their_own_and_others_the_old_ones(embedder) -> None:
    texts, codes = ["dog runs", "honden x rent", "hund", "hond"], ["en", "nl", "da", None]
    found = ids_of(embedder, texts, codes)
    assert found[0] == ids_of(embedder.base, ["dog runs"], "en")[0]
    assert found[1] == [1, FIRST_ADDED, FIRST_ADDED + 1, 2]
    assert found[2] == [1, FIRST_ADDED + 2, 2]
    assert found[3] == [1, 3, 2]  # without its language, the model's own words are looked up
    assert ids_of(embedder, texts, codes) == found
    assert embedder.unknown(["honden", "xx"], "nl") == (("honden", "xx"), ("xx",))
    assert embedder.unknown(["dog", "xx"], "en") == (("dog", "xx"), ("xx",))
    cut = ids_of(embedder, ["hond hond hond hond hond"], "nl")[0]
    assert (len(cut), cut[-1]) == (5, 2)


def test_what_is_known_of_added_and_old_languages(embedder) -> None:
    assert embedder.known_words("nl") == ("hond", "rent")
    assert embedder.known_words("en") == ("dog", "runs")
    assert (embedder.count_words("da"), embedder.towers) == (1, [""])
    assert embedder.pivots == {"nl": "en", "da": "en"}
    assert np.array_equal(embedder.substitutes("da").words, [FIRST_ADDED + 2])
    assert embedder.substitutes("en").words.tolist() == [4, 5]
    with pytest.raises(PolyglanceError, match="'add-language' added nl, da to this model"):
        embedder.compact()


def test_forms_of_words_find_them() -> None:
    dutch = AddedLanguage(("hond", "huis"), "en")
    found = [dutch.find(word) for word in ("hond", "honden", "HOND", "huizen", "kat")]
    assert found == [0, 0, 0, None, None]


def test_words_from_characters_have_a_form_for_every_place() -> None:
    table = FormTable(Alphabet("dghinorst"), 26, [Form("dog", FIRST | LAST)])
    base = CharacterEmbedder(recipe_of("liwe"), {"": table})
    embedder = base.add_words("nl", ["hond", "rent"], "en")
    found = ids_of(embedder, ["hond rent hond", "hond", "x"], "nl")
    assert [[i - FIRST_ADDED for i in one] for one in found[:2]] == [[1, 4, 2], [3]]
    assert found[2] == [0]
    both = encode(embedder, ["dog", "hond", "ring"], ["en", "nl", "en"])
    assert both.ids.flat.tolist() == [4, FIRST_ADDED + 3, FIRST_UNSEEN]
    np.testing.assert_array_equal(
        both.unseen.columns["characters"], table.spell([Form("ring", FIRST | LAST)])
    )


def test_rows_beside_a_table(embedder) -> None:
    torch.manual_seed(0)
    words = WordTable(6, 3)
    rows = embedder.added_rows("", 3)
    with torch.no_grad():
        rows.tables["language_nl"].copy_(torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
        rows.tables["language_da"].fill_(7)
    ids = torch.tensor([0, 4, FIRST_ADDED, FIRST_ADDED + 1, FIRST_ADDED + 2])
    found = rows.look_up(words, ids, torch.ones(5), None)
    expected = torch.tensor([[0.0, 0, 0], [0, 0, 0], [1, 2, 3], [4, 5, 6], [7, 7, 7]])
    expected[1] = words.weight[4]
    torch.testing.assert_close(found, expected)
    old = torch.tensor([0, 4, 5])
    assert rows.look_up(words, old, torch.ones(3), None).equal(words(old))
    found.sum().backward()
    assert rows.tables["language_nl"].grad.equal(torch.ones(2, 3))


def test_only_the_pivots_tower_has_rows() -> None:
    tables = {"en": Vocabulary(["dog"]), "de": Vocabulary(["hund"])}
    recipe = recipe_of("vsepp", "text.towers=per-language", "sampling.kind=languages")
    embedder = TableEmbedder(recipe, tables).add_words("nl", ["hond"], "de")
    assert embedder.added_rows("en", 3) is None
    assert list(embedder.added_rows("de", 3).tables) == ["language_nl"]


def test_saved_languages(embedder, tmp_path: Path) -> None:
    embedder.save(tmp_path)
    loaded = load_embedder(embedder.recipe, tmp_path)
    assert isinstance(loaded, AddedEmbedder)
    assert loaded.added == embedder.added
    assert ids_of(loaded, ["honden rent"], "nl") == ids_of(embedder, ["honden rent"], "nl")
    (tmp_path / "added.json").write_text(json.dumps({"languages": {"nl": {}}}))
    with pytest.raises(PolyglanceError, match=r"added\.json: needs 'languages' with words and piv"):
        load_embedder(embedder.recipe, tmp_path)
    (tmp_path / "added.json").unlink()
    assert isinstance(load_embedder(embedder.recipe, tmp_path), TableEmbedder)
