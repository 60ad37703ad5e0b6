import json
import shutil

import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import TextRecipe
from polyglance.text.embedders.fixed.embedder import VectorReader
from polyglance.text.embedders.fixed.layer import TranslatedWords
from polyglance.text.embedders.fixed.words import LanguageWords
from polyglance.text.vectors.fasttext import SubwordVectors
from tests.alignment.planted import write_bin

RECIPE = TextRecipe(embedder=VectorsEmbedderRecipe(), max_length=4)


def unit(*rows):
    matrix = np.array(rows, np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.fixture
def reader():
    en = LanguageWords(["dog", "runs", "die"], unit([1, 0, 0], [0, 1, 0], [1, 1, 0]))
    de = LanguageWords(["die", "hund"], unit([0, 0, 1], [1, 0, 1]), translated=True)
    return VectorReader({"en": en, "de": de})


@pytest.fixture
def subwords(tmp_path):
    matrix = np.random.default_rng(0).normal(size=(2 + 50, 3)).astype(np.float32)
    path = write_bin(tmp_path / "nl.bin", [b"hond", b"kat"], matrix, 50, 2, 3)
    model = SubwordVectors.open(path)
    words = ["hond", "kat"]
    mean = unit(*model.vectors(words)).mean(0)
    start = LanguageWords([], np.empty((0, 3), np.float32), mean)
    part = LanguageWords(words, start.prepare(model.vectors(words)), mean, model, str(path))
    return model, part


def ids(reader, texts, code):
    found = reader.encode(RECIPE, texts, [t.split() for t in texts], [code] * len(texts)).ids
    return [
        found.flat[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:], strict=False)
    ]


def test_a_word_means_another_thing_in_another_language(reader):
    assert ids(reader, ["die dog"], "en") == [[3, 1]]
    assert ids(reader, ["die dog", "x y"], "de") == [[4], [0]]
    assert ids(reader, ["die hund hund"], None) == [[4, 5, 5]]  # German knows more of it
    assert ids(reader, ["dog dog dog dog runs"], "en") == [[1, 1, 1, 1]]
    assert reader.recognise(RECIPE, ["die", "dog"], "de") == (("die", "dog"), ("dog",))
    with pytest.raises(PolyglanceError, match="does not know the language 'fr'"):
        ids(reader, ["le"], "fr")


def test_only_translated_languages_are_translated(reader):
    layer = TranslatedWords(reader)
    turn = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    layer.begin("de", turn)
    found = layer(torch.arange(6)).detach()
    expected = torch.from_numpy(reader.matrix).clone()
    expected[4:] = expected[4:] @ turn.t()
    torch.testing.assert_close(found, expected)
    assert [name for name, _ in layer.named_parameters()] == [
        "translators.language_de.weight",
        "translators.language_de.bias",
    ]
    assert list(layer.state_dict()) == [name for name, _ in layer.named_parameters()]


def test_the_authors_bias_stays(reader):
    torch.manual_seed(0)
    layer = TranslatedWords(reader)
    layer.begin("de", torch.eye(3), bias=True)
    bias = layer.translators["language_de"].bias
    assert 0 < bias.abs().max() <= 1 / np.sqrt(3)


def test_unseen_words_have_vectors_of_their_n_grams(subwords):
    model, part = subwords
    reader = VectorReader({"nl": part})
    layer = TranslatedWords(reader)
    (first,) = ids(reader, ["hond honden x"], "nl")
    assert first == [1, 3, 4]
    found = layer(torch.tensor(first)).numpy()
    expected = part.prepare(model.vectors(["hond", "honden", "x"]))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert reader.owners(np.array([0, 1, 3, 4])).tolist() == [-1, 0, 0, 0]
    assert reader.recognise(RECIPE, ["zzz"], "nl") == (("zzz",), ())


def test_unseen_words_are_forgotten_when_there_are_many(subwords, monkeypatch):
    monkeypatch.setattr(vector_words, "KEPT_WORDS", 3)
    reader = VectorReader({"nl": subwords[1]})
    ids(reader, ["a b"], "nl")
    reader.keep()
    ids(reader, ["c d"], "nl")
    reader.release()
    assert ids(reader, ["b"], "nl") == [[4]]
    assert ids(reader, ["e"], "nl") == [[5]]
    np.testing.assert_allclose(
        reader.unseen(np.array([5])), subwords[1].prepare(subwords[0].vectors(["e"])), atol=1e-6
    )


@pytest.mark.parametrize("copy", [False, True])
def test_saved_words(subwords, reader, tmp_path, copy):
    whole = VectorReader({**reader.languages, "nl": subwords[1]}, copy)
    whole.save(tmp_path / "model")
    moved = shutil.move(tmp_path / "model", tmp_path / "moved")
    loaded = VectorReader.load(moved)
    np.testing.assert_array_equal(loaded.matrix, whole.matrix)
    assert loaded.languages["de"].translated
    assert not loaded.languages["en"].translated
    assert ids(loaded, ["honden"], "nl") == ids(whole, ["honden"], "nl")
    (tmp_path / "nl.bin").unlink()
    alone = VectorReader.load(moved)
    assert ids(alone, ["honden hond"], "nl") == ([[8, 6]] if copy else [[6]])


def test_damaged_words(reader, tmp_path):
    reader.save(tmp_path)
    value = json.loads((tmp_path / "words.json").read_text())
    value["languages"]["en"]["words"].pop()
    (tmp_path / "words.json").write_text(json.dumps(value))
    with pytest.raises(PolyglanceError, match="2 words and 3 vectors of 'en'"):
        VectorReader.load(tmp_path)
    (tmp_path / "words.safetensors").write_bytes(b"no")
    with pytest.raises(PolyglanceError, match="copy the whole folder again"):
        VectorReader.load(tmp_path)
