"""Languages added as words that are mixtures of known ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polyglance import Model
from polyglance.data import Dataset
from polyglance.data.dataset import CaptionTable
from polyglance.text.embedders import TableEmbedder, TrainingTexts
from polyglance.text.embedders.added import AddedEmbedder
from polyglance.text.vectors.word_vectors import save_vectors
from polyglance.transfer.start import extend_source
from polyglance.transfer.words import word_vectors
from tests.conftest import WORDS
from tests.transfer.sources import World, german, recipe_of, run

Trained = Callable[[str], Path]


def begun(kind: str, source: Path, dataset: Dataset | None, *changes: str) -> Model:
    """A model as a transfer starts, without captions to train on."""
    recipe, old = recipe_of(kind, *changes), Model.load(source)
    texts = TrainingTexts(CaptionTable.collect([]), [], dataset)
    return extend_source(recipe, old, texts, old.feature_dim, source).model


def test_languages_are_added_one_after_the_other(
    world: World, trained: Trained, tmp_path: Path
) -> None:
    (tmp_path / "pairs.txt").write_text("perro dog\ngato cat\n")
    first = german(trained("liwe"), "transfer.keep=true", "data.images=0")
    run(world, "first", "liwe", *first)
    named = [f"transfer.source={world[0] / 'first'}", "transfer.keep=true"]
    named += [f"transfer.dictionary={tmp_path / 'pairs.txt'}", "data.languages=[es]"]
    before = Model.load(world[0] / "first")
    begun("liwe", world[0] / "first", None, *named).save(tmp_path / "both")
    loaded = Model.load(tmp_path / "both")
    assert loaded.languages == ["de", "en", "es"]
    np.testing.assert_array_equal(
        loaded.encode_text(["roter hund"], "de"), before.encode_text(["roter hund"], "de")
    )
    # A word that has one translation is that word, wherever it stands in the sentence.
    sentences = {"perro": "dog", "perro gato": "dog cat", "gato perro gato": "cat dog cat"}
    for spanish, english in sentences.items():
        np.testing.assert_allclose(
            loaded.encode_text([spanish], "es"), loaded.encode_text([english], "en"), atol=1e-6
        )


def test_vectors_fill_in_for_words_that_the_dictionary_lacks(
    world: World, trained: Trained, tmp_path: Path
) -> None:
    """German vectors are the English ones turned, so neighbours are translations."""
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.normal(size=(300, 300)))[0]
    english, german_words = ([w for group in WORDS[c] for w in group] for c in ("en", "de"))
    matrix = generator.normal(size=(len(english), 300))
    save_vectors(tmp_path / "en.vec", english, matrix.astype(np.float32))
    save_vectors(tmp_path / "de.vec", german_words, (matrix @ turn).astype(np.float32))
    pairs = list(zip(german_words, english, strict=True))
    (tmp_path / "pairs.txt").write_text("".join(f"{a} {b}\n" for a, b in pairs[2:]))
    source = trained("table")
    named = german(source, "transfer.keep=true", dictionary=tmp_path / "pairs.txt")
    named += ["transfer.method=svd", f"transfer.vectors={tmp_path}"]
    old, new = Model.load(source), begun("table", source, world[1], *named)
    assert isinstance(old.embedder, TableEmbedder)
    assert isinstance(new.embedder, AddedEmbedder)
    assert set(new.embedder.added["de"].words) == set(german_words)
    added = new.network.text.of("de").added
    assert added is not None
    place = new.embedder.added["de"].words.index("rot")
    row = added.tables["language_de"].detach()[place].numpy()
    known = old.embedder.known_words("en")
    distance = np.linalg.norm(row - word_vectors(old, known, "en")[:, 0], axis=1)
    assert known[int(distance.argmin())] == "red"


@pytest.mark.parametrize("kind", ["table", "liwe", "towers", "universal"])
def test_a_mixture_is_that_of_the_vectors_the_encoder_sees(
    trained: Trained, tmp_path: Path, kind: str
) -> None:
    source = trained(kind)
    (tmp_path / "pairs.txt").write_text("hund dog\nhund cat\nkatze cat\n")
    named = german(source, "transfer.keep=true", dictionary=tmp_path / "pairs.txt")
    if kind == "universal":
        named += ["sampling.kind=languages", "loss.kind=sum-hinge"]
    old, new = Model.load(source), begun(kind, source, None, *named)
    known = list(old.embedder.known_words("en") or ["dog", "cat"])
    # Without captions to count in, all words of a model of characters are as frequent.
    counted = old.embedder.known_words("en") is not None
    rank = {word: known.index(word) + 1 if counted else 1 for word in ("dog", "cat")}
    weights = np.array([1 / rank["dog"], 1 / (2 * rank["cat"])])
    dog, cat = word_vectors(old, ["dog", "cat"], "en")
    expected = (weights[0] * dog + weights[1] * cat) / weights.sum()
    added = new.network.text.of("de").added
    assert added is not None
    rows = added.tables["language_de"].detach().numpy()
    np.testing.assert_allclose(rows, np.concatenate([expected, cat]), rtol=1e-4, atol=1e-6)
