"""The texts whose pieces a cut vocabulary keeps, and a vocabulary that is cut in training."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe
from polyglance.text.concepts import Concept, write_concepts
from polyglance.text.embedders import SubwordEmbedder, TrainingTexts
from polyglance.text.embedders.subwords import embedder as module
from polyglance.text.embedders.subwords import used_pieces
from polyglance.text.embedders.subwords.texts import piece_texts, training_texts
from tests.text.subword_models import sentence_recipe
from tests.text.vocabulary_file import write_vocabulary

CAPTIONS = {"en": {"independent": ["a dog", "a cat"]}, "de": {"machine": ["ein Hund"]}}
SCORES = {"▁": -2.0, "d": -4.0, "o": -4.5, "g": -5.0, "do": -3.0, "og": -6.0, "dog": -9.0}


def texts_of(captions: dict[str, dict[str, list[str]]]) -> TrainingTexts:
    table = CaptionTable.collect([(0, captions)])
    return TrainingTexts(table, [text.split() for text in table.texts])


def test_lines_captions_and_lexicons(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one line\n\nanother\n")
    assert list(piece_texts(tmp_path / "lines.txt", "train")) == ["one line", "another"]
    with gzip.open(tmp_path / "some.jsonl.gz", "wt") as handle:
        handle.write(json.dumps({"id": "1", "captions": CAPTIONS}) + "\n")
        held_out = {"image": "1", "split": "val", "captions": {"en": {"independent": ["a cow"]}}}
        handle.write(json.dumps(held_out) + "\n")
    assert list(piece_texts(tmp_path / "some.jsonl.gz", "train")) == ["a dog", "a cat", "ein Hund"]
    (tmp_path / "lexicon.tsv").write_text("1-n\ten\tdog|hot_dog\n")
    assert list(piece_texts(tmp_path / "lexicon.tsv", "train")) == ["dog", "hot dog"]
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(PolyglanceError, match=r"bad\.jsonl, line 1: field 'captions'"):
        list(piece_texts(tmp_path / "bad.jsonl", "train"))


def test_a_training_has_captions_names_and_files(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a line\n")
    names = {"en": ["dog"], "fr": ["chien"]}
    write_concepts(
        tmp_path / "c.jsonl.gz", [Concept("1-n", [1], names), Concept("2-n", [2], names)]
    )
    changes = {
        "image.head.kind": "classes",
        "naming": {"concepts": str(tmp_path / "c.jsonl.gz")},
        "text.embedder.kept_pieces": 5,
        "text.embedder.piece_texts": [str(tmp_path / "lines.txt")],
    }
    found = list(training_texts(load_recipe("sentence-nce", changes), texts_of(CAPTIONS)))
    assert set(found) == {"a dog", "a cat", "ein Hund", "dog", "chien", "a line"}


def test_a_model_is_trained_with_the_pieces_that_it_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read_vocabulary", lambda: write_vocabulary(SCORES))
    texts = texts_of({"en": {"independent": ["og"]}})

    def build(*overrides: str) -> SubwordEmbedder:
        recipe = sentence_recipe(*overrides)
        SubwordEmbedder.check(recipe)
        return SubwordEmbedder.build(recipe, texts)

    whole, cut = build(), build("text.embedder.kept_pieces=2")
    assert set(cut.pieces.named()) == {"▁", "d", "o", "g", "do", "og"}
    assert whole.pieces.named()["dog"] == 3 + 6
    number = cut.pieces.named()
    assert cut.pieces.words("dog") == [number["▁"], number["do"], number["g"]]
    cut.save(tmp_path)
    assert SubwordEmbedder.load(cut.recipe, tmp_path).pieces.named() == number
    missing = f"text.embedder.piece_texts=[{tmp_path / 'none.txt'}]"
    with pytest.raises(PolyglanceError, match=r"none\.txt: no such file"):
        build("text.embedder.kept_pieces=2", missing)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pieces": False, "kept_pieces": 5}, "needs pieces=true"),
        ({"pieces": True, "piece_texts": ["a.txt"]}, "needs kept_pieces"),
    ],
)
def test_settings_that_do_not_go_together(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("sentence-nce", {"text.embedder": {"kind": "subwords", **changes}})


def test_the_pieces_are_cached_in_the_folder_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read_vocabulary", lambda: write_vocabulary(SCORES))
    monkeypatch.setattr(used_pieces, "MIN_CACHED", 1)
    texts = replace(texts_of({"en": {"independent": ["og"]}}), cache=tmp_path / "cache")
    recipe = sentence_recipe("text.embedder.kept_pieces=2")
    built = SubwordEmbedder.build(recipe, texts)
    folder = tmp_path / "cache" / used_pieces.FOLDER
    assert len(list(folder.iterdir())) == 1
    built.prune_pieces(0, ["dog"], tmp_path / "cache")
    assert len(list(folder.iterdir())) == 2
