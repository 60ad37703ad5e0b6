"""Fixed vectors of each language's words; those of unseen words come from n-grams."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance import Model
from polyglance.core.trust import trusting
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import VectorsEmbedder, load_embedder
from polyglance.text.embedders.cache import LRU
from polyglance.text.embedders.encoded import FIRST_UNSEEN
from polyglance.text.embedders.fixed.build import LanguageWords
from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.word_vectors import prepare_vectors
from tests.alignment.planted import write_bin
from tests.text.embedders.texts import encode, ids_of
from tests.text.threads import THREADS, at_once

SMALL = ["text.embedder.word_dim=3", "text.encoder.hidden=8", "joint.dim=8"]
CUT = "text.max_length=4"


def recipe_of(*changes: str) -> Recipe:
    return load_recipe("translator", parse_overrides([*SMALL, *changes]))


def unit(*rows):
    matrix = np.array(rows, np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.fixture
def embedder() -> VectorsEmbedder:
    en = LanguageWords(["dog", "runs", "die"], unit([1, 0, 0], [0, 1, 0], [1, 1, 0]))
    de = LanguageWords(["die", "hund"], unit([0, 0, 1], [1, 0, 1]), translated=True)
    return VectorsEmbedder(recipe_of(CUT), {"en": en, "de": de})


@pytest.fixture
def subwords(tmp_path: Path) -> tuple[SubwordVectors, LanguageWords]:
    matrix = np.random.default_rng(0).normal(size=(2 + 50, 3)).astype(np.float32)
    path = write_bin(tmp_path / "nl.bin", [b"hond", b"kat"], matrix, 50, 2, 3)
    model = SubwordVectors.open(path)
    words = ["hond", "kat"]
    mean = unit(*model.vectors(words)).mean(0)
    rows = prepare_vectors(model.vectors(words), mean)
    return model, LanguageWords(words, rows, mean, model, str(path))


def test_vectors_are_scaled_and_centred() -> None:
    raw = np.array([[3, 4, 0], [0, 0, 0]], np.float32)
    np.testing.assert_allclose(prepare_vectors(raw, None), [[0.6, 0.8, 0], [0, 0, 0]], atol=1e-7)
    mean = np.array([0.6, 0, 0], np.float32)
    found = prepare_vectors(raw, mean)
    np.testing.assert_allclose(found, [[0, 1, 0], [-1, 0, 0]], atol=1e-6)


def test_a_word_means_another_thing_in_another_language(embedder: VectorsEmbedder) -> None:
    assert ids_of(embedder, ["die dog"], "en") == [[3, 1]]
    assert ids_of(embedder, ["die dog", "x y"], "de") == [[4], [0]]
    assert ids_of(embedder, ["die hund hund"], None) == [[4, 5, 5]]  # German knows more of it
    assert ids_of(embedder, ["dog dog dog dog runs"], "en") == [[1, 1, 1, 1]]
    assert ids_of(embedder, ["die", "die"], ["en", "de"]) == [[3], [4]]
    assert embedder.unknown(["die", "dog"], "de") == (("die", "dog"), ("dog",))
    assert embedder.known_words("de") == ["die", "hund"]
    assert embedder.pivot_languages(["de", "en"]) == ["en"]
    assert embedder.substitutes("de").words.tolist() == [4, 5]
    with pytest.raises(PolyglanceError, match="does not know the language 'fr'"):
        ids_of(embedder, ["le"], "fr")


def test_unseen_words_have_vectors_of_their_n_grams(subwords) -> None:
    model, part = subwords
    embedder = VectorsEmbedder(recipe_of(CUT), {"nl": part})
    found = encode(embedder, ["hond honden x", "x honden"], "nl")
    first = FIRST_UNSEEN
    assert [row.tolist() for row in found.ids] == [[1, first, first + 1], [first + 1, first]]
    expected = prepare_vectors(model.vectors(["hond", "honden", "x"]), part.mean)
    np.testing.assert_allclose(found.unseen.columns["vectors"], expected[1:], atol=1e-6)
    assert found.unseen.columns["owners"].tolist() == [0, 0]
    with torch.no_grad():
        rows = embedder.layer()(torch.from_numpy(found.ids[0]).long(), None, found.unseen)
    np.testing.assert_allclose(rows.numpy(), expected, atol=1e-6)
    assert embedder.unknown(["zzz"], "nl") == (("zzz",), ())


def test_reading_changes_nothing(subwords) -> None:
    embedder = VectorsEmbedder(recipe_of(CUT), {"nl": subwords[1]})
    first = encode(embedder, ["a b"], "nl")
    encode(embedder, ["c d e"], "nl")
    again = encode(embedder, ["a b"], "nl")
    np.testing.assert_array_equal(first.ids.flat, again.ids.flat)
    for name, column in first.unseen.columns.items():
        np.testing.assert_array_equal(column, again.unseen.columns[name])
    assert subwords[1].words == ["hond", "kat"]
    assert ids_of(embedder, ["b"], "nl") == ids_of(embedder, ["e"], "nl") == [[FIRST_UNSEEN]]


def test_vectors_of_unseen_words_are_kept_and_bounded(subwords, monkeypatch) -> None:
    model, part = subwords
    embedder = VectorsEmbedder(recipe_of(CUT), {"nl": part})
    embedder._composed = LRU(3)
    composed: list[str] = []
    compose = SubwordVectors.vectors

    def counted(self, words, show_progress=None):
        composed.extend(words)
        return compose(self, words, show_progress)

    monkeypatch.setattr(SubwordVectors, "vectors", counted)
    for words, new in (("a b", "ab"), ("b a", ""), ("c d", "cd"), ("a", ""), ("b", "b")):
        composed.clear()
        found = encode(embedder, [words], "nl").unseen.columns["vectors"]
        assert composed == list(new)
        expected = prepare_vectors(compose(model, words.split()), part.mean)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert len(embedder._composed) <= 3


@pytest.mark.parametrize("copy", [False, True])
def test_saved_words(subwords, embedder: VectorsEmbedder, tmp_path: Path, copy: bool) -> None:
    copying = f"text.embedder.copy_subwords={str(copy).lower()}"
    recipe = recipe_of(CUT, "text.embedder.trained=skipgram", copying)
    whole = VectorsEmbedder(recipe, {**embedder.languages, "nl": subwords[1]})
    whole.save(tmp_path / "model")
    moved = Path(shutil.move(tmp_path / "model", tmp_path / "moved"))
    with trusting():
        loaded = load_embedder(recipe, moved)
    assert isinstance(loaded, VectorsEmbedder)
    torch.testing.assert_close(loaded.layer().table, whole.layer().table, rtol=0, atol=0)
    assert loaded.languages["de"].translated
    assert not loaded.languages["en"].translated
    mine, theirs = encode(loaded, ["honden"], "nl"), encode(whole, ["honden"], "nl")
    assert mine.ids.flat.tolist() == theirs.ids.flat.tolist()
    np.testing.assert_array_equal(mine.unseen.columns["vectors"], theirs.unseen.columns["vectors"])
    (tmp_path / "nl.bin").unlink()
    with trusting():
        alone = load_embedder(recipe, moved)
    assert ids_of(alone, ["honden hond"], "nl") == ([[FIRST_UNSEEN, 6]] if copy else [[6]])


def test_damaged_words(embedder: VectorsEmbedder, tmp_path: Path) -> None:
    embedder.save(tmp_path)
    value = json.loads((tmp_path / "words.json").read_text())
    value["languages"]["en"]["words"].pop()
    (tmp_path / "words.json").write_text(json.dumps(value))
    with pytest.raises(PolyglanceError, match="2 words but 3 vectors of 'en'"):
        load_embedder(embedder.recipe, tmp_path)
    (tmp_path / "words.safetensors").write_bytes(b"no")
    with pytest.raises(PolyglanceError, match="copy the whole folder again"):
        load_embedder(embedder.recipe, tmp_path)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("kept", [4, 50_000])
def test_threads_encode_as_alone(subwords, kept: int) -> None:
    recipe = recipe_of()
    shared, alone = (VectorsEmbedder(recipe, {"nl": subwords[1]}) for _ in range(2))
    shared._composed = LRU(kept)
    torch.manual_seed(0)
    models = [Model(recipe, one, 4, ["nl"]) for one in (shared, alone)]
    models[0].network.load_state_dict(models[1].network.state_dict())
    texts = [
        [f"hond woord{'abcdefghijklmnop'[i]} eigen{thread}{i} kat" for i in range(12)]
        for thread in range(THREADS)
    ]
    expected = [models[1].encode_text(one, "nl") for one in texts]
    found = at_once(
        lambda n: np.concatenate([models[0].encode_text(text, "nl") for text in texts[n]])
    )
    for mine, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, wanted, atol=1e-5)
    assert 0 < len(shared._composed) <= kept
