"""Which words have vectors of their own, where these come from, and what becomes of the others."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyglance.data import CaptionedImage, load_dataset
from polyglance.errors import PolyglanceError
from polyglance.text.embedders import UniversalEmbedder
from polyglance.text.vectors.read import read_vectors
from polyglance.text.vectors.word_vectors import save_vectors, skipgram
from polyglance.training.samplers import TupleSampler
from tests.training.test_trainer_universal import prepared


def test_dictionary_and_threshold_and_pca(toy: Path, tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.tsv.gz"
    with gzip.open(lexicon, "wt", encoding="utf-8") as handle:
        handle.write("1-n\ten\tdog\n1-n\tde\thund\n2-n\ten\tcar\n2-n\tde\tauto\n")
    changes = [
        f"text.embedder.lexicon={lexicon}",
        "text.embedder.frequent_count=65",
        "text.embedder.own_dim=4",
    ]
    model, _ = prepared(toy, "dictionary", *changes)
    tables, layout = model.embedder.tables, model.embedder.layout
    counts = Counter(w for p in load_dataset(toy).split("train").images for w in words_of(p, "de"))
    rare = {word for word, n in counts.items() if n < 65}
    assert rare
    for word, english in (("hund", "dog"), ("auto", "car")):
        expected = tables["en"][english] if word in rare else tables["de"].get(word)
        assert tables["de"].get(word) == expected
    kept = {
        word for word, token in tables["de"].items() if token in range(*layout.own_ranges["de"])
    }
    assert kept == set(counts) - rare
    assert model.network.text.words.own_tables()[0].shape[1] == 4


def words_of(image: CaptionedImage, code: str) -> list[str]:
    return [word for texts in image.captions[code].values() for t in texts for word in t.split()]


def trained_vectors(toy: Path, *overrides: str) -> np.ndarray:
    """Of German words, as the model starts."""
    model, _ = prepared(toy, "mule", *overrides)
    assert isinstance(model.embedder, UniversalEmbedder)
    assert model.embedder.first is not None
    return model.embedder.first.own["de"]


def test_vectors_are_trained_on_the_texts_at_hand(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    read: list[list[list[str]]] = []
    real = skipgram.train_vectors

    def watched(sentences: Any, *more: Any, **settings: Any) -> Any:
        read.append([list(words) for words in sentences])
        return real(sentences, *more, **settings)

    monkeypatch.setattr(skipgram, "train_vectors", watched)
    captions = "text.embedder.corpus=captions"
    alone = trained_vectors(toy, captions)
    assert np.array_equal(trained_vectors(toy), alone)  # there are no other texts
    assert len(read) == 2
    assert ["ein", "roter", "hund"] not in read[0]
    line = json.dumps({"captions": {"de": {"independent": ["Ein roter Hund"]}}})
    (toy / "text-only.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    assert np.array_equal(trained_vectors(toy, captions), alone)
    more = trained_vectors(toy)
    assert read[2] == [*read[0], ["ein", "roter", "hund"]]
    assert not np.array_equal(more, alone)
    lexicon = tmp_path / "lexicon.tsv.gz"
    with pytest.raises(PolyglanceError, match="corpus=lexicon needs a lexicon"):
        trained_vectors(toy, "text.embedder.corpus=lexicon")
    monkeypatch.setenv("POLYGLANCE_LEXICON", str(lexicon))
    with pytest.raises(PolyglanceError, match=r"lexicon.tsv.gz: "):
        trained_vectors(toy, "text.embedder.corpus=lexicon")
    lexicon.write_bytes(gzip.compress("1\tde\thund|köter\n".encode()))
    trained_vectors(toy, "text.embedder.corpus=lexicon")
    count = len(read)
    assert [*read[2], ["hund", "köter"]] in read
    # Fewer words, and a second model, take the vectors that are there.
    few = trained_vectors(toy, "text.embedder.min_count=60")
    assert len(read) == count
    assert 0 < len(few) < len(more)
    assert all(any(np.array_equal(one, other) for other in more) for one in few)


def test_vectors_come_from_a_users_files(toy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    for code, words in (("en", ["dog", "cat", "runs"]), ("de", ["hund", "katze"])):
        matrix = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
        save_vectors(folder / f"{code}.vec", words, matrix, digits=9)
    model, data = prepared(toy, "mule", f"text.embedder.vectors={folder}")
    assert set(model.embedder.tables["de"]) == {"hund", "katze"}
    german = read_vectors(folder / "de.vec")
    order = [german.index[word] for word in model.embedder.tables["de"]]
    found = model.network.text.words.own_tables()[0].detach().numpy()
    np.testing.assert_array_equal(found, german.matrix[order])
    sampler = TupleSampler(model.recipe, data)  # captions without a known word are left out
    assert len(sampler.images) < len(set(data.image.tolist()))
