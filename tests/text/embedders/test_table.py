"""A trained vector for every word: encoding, files, what becomes of words, threads."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import TableEmbedder, Vocabulary, load_embedder
from polyglance.text.embedders.table_layer import WordTable
from polyglance.text.embedders.vocabulary import SPECIALS
from tests.models.small import table_model
from tests.text.embedders.texts import encode, ids_of, training_texts
from tests.text.threads import THREADS, at_once

CAPTIONS = {"en": ["a dog", "a hand"], "de": ["hund hand", "hund"]}
SMALL = ["text.embedder.min_count=1", "text.embedder.word_dim=5"]
TOWERS = ["text.towers=per-language", "sampling.kind=languages"]


def recipe_of(*changes: str) -> Recipe:
    return load_recipe("vsepp", parse_overrides([*SMALL, *changes]))


def test_built_from_the_training_captions() -> None:
    def build(*changes: str) -> TableEmbedder:
        return TableEmbedder.build(recipe_of(*changes), training_texts(CAPTIONS))

    assert build().vocabularies == {"": Vocabulary(["a", "hand", "hund", "dog"])}
    assert build("text.embedder.min_count=2").vocabularies[""].words[4:] == ("a", "hand", "hund")
    scoped = build("text.embedder.min_count=2", "text.embedder.scope=per-language")
    assert scoped.vocabularies[""].words[4:] == ("a", "hund")
    apart = build(*TOWERS)
    assert apart.towers == ["en", "de"]
    assert apart.vocabularies["de"] == Vocabulary(["hund", "hand"])


def test_texts_in_ids_and_nothing_changes() -> None:
    embedder = TableEmbedder(recipe_of("text.max_length=4"), {"": Vocabulary(["a", "dog"])})
    before = pickle.dumps(embedder.vocabularies[""].words)
    texts = ["a dog", "a cat a dog"]
    assert ids_of(embedder, texts) == ids_of(embedder, texts) == [[1, 4, 5, 2], [1, 4, 3, 2]]
    assert encode(embedder, texts).unseen is None
    assert pickle.dumps(embedder.vocabularies[""].words) == before
    bare = TableEmbedder(recipe_of("text.embedder.ends=false"), embedder.vocabularies)
    assert ids_of(bare, ["a dog", "cat"]) == [[4, 5], [3]]
    assert embedder.unknown(["a", "cat", "dog"], "en") == (("a", "cat"), ("cat",))


def test_every_language_has_its_own_ids() -> None:
    tables = {"en": Vocabulary(["die", "dog"]), "de": Vocabulary(["hund", "die"])}
    embedder = TableEmbedder(recipe_of(*TOWERS), tables)
    assert ids_of(embedder, ["die", "die"], ["en", "de"]) == [[1, 4, 2], [1, 5, 2]]
    assert embedder.known_words("de") == ("hund", "die")
    assert embedder.count_words("de") == 2
    with pytest.raises(PolyglanceError, match=r"state the language of the text .*en, de"):
        ids_of(embedder, ["die"], None)
    with pytest.raises(PolyglanceError, match=r"does not know the language 'dee' .*'de'"):
        ids_of(embedder, ["die"], "dee")


@pytest.mark.parametrize("towers", ["shared", "per-language"])
def test_saved_vocabularies(tmp_path: Path, towers: str) -> None:
    recipe = recipe_of(*(TOWERS if towers == "per-language" else []))
    embedder = TableEmbedder.build(recipe, training_texts(CAPTIONS))
    embedder.save(tmp_path)
    loaded = load_embedder(recipe, tmp_path)
    assert isinstance(loaded, TableEmbedder)
    assert loaded.vocabularies == embedder.vocabularies
    (tmp_path / "vocabulary.json").write_text(json.dumps({"words": [1]}))
    with pytest.raises(PolyglanceError, match=r"vocabulary\.json: field 'words'"):
        load_embedder(recipe, tmp_path)


def test_a_mask_has_a_row_where_words_are_dropped() -> None:
    vocabulary = Vocabulary(["a", "dog"])
    for drop in (0, 0.1):
        embedder = TableEmbedder(recipe_of(f"augment.word_drop={drop}"), {"": vocabulary})
        rows = len(embedder.layer().weight)
        assert rows == len(SPECIALS) + 2 + (drop > 0)
        found = embedder.substitutes("en")
        assert found.mask == 6
        assert found.words.tolist() == [4, 5]
        assert found.ends.tolist() == [1, 2]
    assert rows > found.mask


def test_words_start_within_a_tenth_and_are_rows() -> None:
    layer = WordTable(50, 300)
    assert 0.05 < float(layer.weight.detach().abs().max()) <= 0.1
    ids = torch.tensor([0, 3, 7])
    assert torch.equal(layer(ids), layer.weight[ids])
    assert [name for name, _ in layer.named_parameters()] == ["weight"]


def test_an_added_word_is_read_in_its_place() -> None:
    for changes, ids in (([], [1, 4, 2]), (["text.embedder.ends=false"], [4])):
        embedder = TableEmbedder(recipe_of(*changes), {"": Vocabulary(["dog"])})
        (sentence, place) = embedder.in_positions("dog")[0]
        assert ids_of(embedder, [" ".join(sentence)]) == [ids]
        assert ids[place] == 4


@pytest.mark.usefixtures("restless")
def test_threads_encode_as_alone() -> None:
    recipe = recipe_of("text.encoder.hidden=8", "joint.dim=8")
    model = table_model(recipe, [f"w{i}" for i in range(50)])
    texts = [
        [f"w{(7 * i + thread) % 60} w{i} w{thread}" for i in range(20)] for thread in range(THREADS)
    ]
    expected = [model.encode_text(one) for one in texts]
    found = at_once(lambda n: np.concatenate([model.encode_text(text) for text in texts[n]]))
    for mine, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, wanted, atol=1e-6)


def test_words_begin_with_the_vectors_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("dog 1 2 3\nred 4 5 6\nelse 7 8 9\n", encoding="utf-8")
    recipe = load_recipe(
        "vsepp",
        {"text.embedder": {"vectors": str(path), "word_dim": 3, "min_count": 1}},
    )
    texts = training_texts({"en": ["a red dog"]})
    torch.manual_seed(0)
    embedder = TableEmbedder.build(recipe, texts)
    table = embedder.layer().weight.detach()
    words = embedder.vocabulary("en").words
    assert table[words.index("dog")].tolist() == [1, 2, 3]
    assert table[words.index("red")].tolist() == [4, 5, 6]
    assert table[words.index("a")].abs().max() <= 0.1
    assert table.requires_grad is False
    assert embedder.layer().weight.requires_grad
    embedder.save(tmp_path)
    path.unlink()
    assert TableEmbedder.load(recipe, tmp_path).vectors is None
    with pytest.raises(PolyglanceError, match=r"glove.txt: no such file"):
        TableEmbedder.build(recipe, texts)


def test_vectors_of_another_dimension_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("dog 1 2 3\n", encoding="utf-8")
    recipe = load_recipe("vsepp", {"text.embedder": {"vectors": str(path), "min_count": 1}})
    texts = training_texts({"en": ["dog"]})
    with pytest.raises(PolyglanceError, match=r"dimension 3, .* set text.embedder.word_dim=3"):
        TableEmbedder.build(recipe, texts)


def test_punctuation_is_no_word_that_could_be_known() -> None:
    embedder = TableEmbedder(recipe_of(), {"": Vocabulary(["dog", ","])})
    found = embedder.read(["a dog, running.", "zebra,", "..."], "en")
    assert found[0] == (("a", "dog", "running"), ("a", "running"))
    assert found[1:] == [(("zebra",), ("zebra",)), ((), ())]
