"""Where fixed vectors come from: a folder's files, or captions."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.recipes.schema import VectorsEmbedderRecipe
from polyglance.text.embedders import VectorsEmbedder
from polyglance.text.embedders.fixed.build import VectorSource
from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.read import read_vectors
from polyglance.text.vectors.word_vectors import prepare_vectors
from tests.alignment.planted import write_bin
from tests.conftest import write_toy
from tests.text.embedders.texts import training_texts

VEC = "the 1 0\ndog 3 4\ncat 0 2\nrare 5 5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "en.vec").write_text(VEC)
    matrix = np.random.default_rng(0).normal(size=(2 + 20, 2)).astype(np.float32)
    write_bin(tmp_path / "nl.bin", [b"hond", b"kat"], matrix, 20, 2, 3)
    return tmp_path


def settings(folder: Path | None, **changes) -> VectorsEmbedderRecipe:
    fields = {"word_dim": 2, "vectors": None if folder is None else str(folder)}
    return VectorsEmbedderRecipe(**{**fields, **changes})


def test_frequent_words_and_those_of_the_captions(folder: Path) -> None:
    source = VectorSource(settings(folder, known=2))
    found = source.words("en", ["cat", "unknown", "dog"])
    assert found.words == ["the", "dog", "cat"]
    raw = read_vectors(folder / "en.vec", only=found.words).matrix
    mean = np.array([(1 + 0.6) / 2, (0 + 0.8) / 2], np.float32)  # of the two frequent ones
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.matrix, prepare_vectors(raw, mean), atol=1e-6)
    assert (found.subwords, found.file, found.translated) == (None, None, False)
    plain = VectorSource(settings(folder, centre=False)).words("en", translated=True)
    np.testing.assert_allclose(plain.matrix[1], [0.6, 0.8], atol=1e-6)
    assert (plain.words, plain.mean, plain.translated) == (
        ["the", "dog", "cat", "rare"],
        None,
        True,
    )


def test_a_binary_file_has_vectors_for_all_words(folder: Path) -> None:
    found = VectorSource(settings(folder, known=1, centre=False)).words("nl", ["kat", "honden"])
    assert found.words == ["hond", "kat", "honden"]
    expected = SubwordVectors.open(folder / "nl.bin").vectors(found.words)
    np.testing.assert_allclose(found.matrix, prepare_vectors(expected, None), atol=1e-6)
    assert found.file == str(folder / "nl.bin")


@pytest.mark.parametrize("trained", ["cooccurrence", "skipgram"])
def test_made_from_captions_once(tmp_path: Path, trained: str) -> None:
    if trained == "skipgram":
        pytest.importorskip("floret")
    dataset = load_dataset(write_toy(tmp_path / "toy", 40))
    source = VectorSource(settings(None, word_dim=4, trained=trained), "words", dataset, tmp_path)
    found = source.words("de")
    assert {"hund", "rot", "läuft"} <= set(found.words)
    np.testing.assert_allclose(np.linalg.norm(found.matrix, axis=1), 1, atol=1e-5)
    (file,) = (tmp_path / "vectors").iterdir()
    before = file.stat().st_mtime_ns
    again = source.words("de")
    assert file.stat().st_mtime_ns == before
    np.testing.assert_array_equal(again.matrix, found.matrix)
    assert (again.subwords is not None) == (trained == "skipgram")


def test_an_embedder_of_the_captions_languages(folder: Path) -> None:
    changes = ["text.embedder.word_dim=2", f"text.embedder.vectors={folder}"]
    recipe = load_recipe("translator", parse_overrides(changes))
    made = VectorsEmbedder.build(recipe, training_texts({"en": ["the dog"], "nl": ["honden"]}))
    assert list(made.languages) == ["en", "nl"]
    assert "honden" in made.known_words("nl")
    untrained = load_recipe(
        "translator", parse_overrides([*changes, "data.images=0", "data.languages=[nl]"])
    )
    assert list(VectorsEmbedder.build(untrained, training_texts({})).languages) == ["nl"]
    nameless = load_recipe("translator", parse_overrides([*changes, "data.languages=null"]))
    with pytest.raises(PolyglanceError, match=r"data\.images=0 needs data\.languages"):
        VectorsEmbedder.build(nameless, training_texts({}))


def test_invalid_input_is_refused(folder: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"dimension 2, .* set text\.embedder\.word_dim=2"):
        VectorSource(settings(folder, word_dim=3)).words("en")
    with pytest.raises(PolyglanceError, match=r"has neither fr\.bin nor fr\.vec"):
        VectorSource(settings(folder)).words("fr")
    with pytest.raises(PolyglanceError, match="no vectors of 'en': set them with --vectors"):
        VectorSource(settings(None)).words("en")
