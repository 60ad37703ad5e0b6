"""Pieces of words, as a pretrained encoder's tokenizer cuts them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset
from polyglance.errors import NoWords, PolyglanceError
from polyglance.gallery.query import check_query
from polyglance.recipes import load_recipe
from polyglance.text.embedders import PieceEmbedder, TextBatch, load_embedder
from polyglance.text.embedders.transformer_layer import FrozenTransformer
from polyglance.training.inputs.augment import Augmenter
from polyglance.training.inputs.data import TrainingData
from polyglance.vision.extraction.extract import load_features
from tests.text.pieces import piece_model, piece_recipe
from tests.text.tiny_bert import vocabulary, write_bert, write_tokenizer

ID = {word: index for index, word in enumerate(vocabulary())}


def test_texts_are_read_as_the_tokenizer_does(bert: Path) -> None:
    made = piece_model(bert)
    found = made.tokens(["Running dogs", "犬が走る"])
    ids = found.ids
    names = ["[CLS]", "run", "##ning", "dog", "##s", "[SEP]", "[CLS]", "犬", "が", "走", "る"]
    assert ids.flat.tolist() == [ID[name] for name in [*names, "[SEP]"]]
    assert ids.lengths.tolist() == [6, 6]
    assert found.unseen is None
    assert found.continues.tolist() == [False, False, True, False, True, False] + [False] * 6


def test_long_texts_are_cut_and_keep_their_end(tmp_path: Path, bert: Path) -> None:
    short = piece_model(bert, "text.max_length=5").tokens(["a red dog runs that sleeps"])
    assert short.ids.flat.tolist() == [ID[w] for w in ["[CLS]", "a", "red", "dog", "[SEP]"]]
    few = piece_model(write_bert(tmp_path / "few", places=6))
    assert few.tokens(["a red dog that runs that sleeps"]).ids.lengths.tolist() == [5]
    assert np.isfinite(few.encode_text("a red dog that runs that sleeps")).all()


def test_a_text_without_words_is_named(bert: Path) -> None:
    with pytest.raises(NoWords, match=r"'\.\.\.' has no words"):
        piece_model(bert).encode_text(["a dog", "..."])


def test_augmentation_masks_pieces_and_spares_the_ends(bert: Path, toy: Path) -> None:
    made = piece_model(bert, "augment.word_drop=0.5")
    tokens = made.tokens(["running dogs"] * 500)
    features = load_features(load_dataset(toy), "imported/toy")
    rows = np.zeros(500, np.int64)
    data = TrainingData(tokens.ids, rows, features, ["en"] * 500, 500, tokens.continues)
    augmenter = Augmenter(made.recipe, made.embedder, data)
    ids, lengths, _ = augmenter.captions(0, 0, np.arange(500), "en")
    assert (ids[:, 0] == ID["[CLS]"]).all()
    assert (ids[torch.arange(500), lengths - 1] == ID["[SEP]"]).all()
    whole = {tuple(row[1 : n - 1]) for row, n in zip(ids.tolist(), lengths.tolist(), strict=True)}
    mask = ID["[MASK]"]
    assert {(mask, mask, ID["dog"], ID["##s"]), (ID["run"], ID["##ning"]), ()} <= whole
    assert (mask, ID["##ning"], ID["dog"], ID["##s"]) not in whole
    found = made.embedder.substitutes("en")
    assert found.words.tolist() == list(range(5, len(ID)))
    assert set(found.ends.tolist()) == {ID["[PAD]"], ID["[CLS]"], ID["[SEP]"]}


def test_queries_are_checked_by_pieces(bert: Path) -> None:
    made = piece_model(bert)
    assert check_query(made, "running dogs, xyz", "en").unknown == ("xyz",)
    with pytest.raises(PolyglanceError, match="knows none of the words"):
        check_query(made, "xyz", "en")


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path, bert: Path) -> None:
    shutil.copytree(bert, tmp_path / "mixed")
    write_tokenizer(tmp_path / "mixed")
    config = json.loads((bert / "config.json").read_text())
    (tmp_path / "mixed" / "config.json").write_text(json.dumps({**config, "vocab_size": 9}))
    with pytest.raises(PolyglanceError, match="they do not match"):
        PieceEmbedder.open(piece_recipe(bert), tmp_path / "mixed")


def test_saved_without_weights_and_read_again(bert: Path, tmp_path: Path) -> None:
    made = piece_model(bert)
    made.embedder.save(tmp_path)
    files = {path.name for path in (tmp_path / "encoder").iterdir()}
    assert {"config.json", "tokenizer.json"} <= files
    assert not [name for name in files if name.endswith((".safetensors", ".bin"))]
    loaded = load_embedder(made.recipe, tmp_path)
    texts = ["Running dogs", "犬が走る"]
    again = loaded.encode(texts, [["x"]] * 2, [None, "ja"])
    np.testing.assert_array_equal(again.ids.flat, made.tokens(texts).ids.flat)


def test_no_language_can_be_added(bert: Path) -> None:
    with pytest.raises(PolyglanceError, match="no language can be added"):
        piece_model(bert).embedder.add_words("nl", ["hond"], "en")


def test_a_frozen_transformer_gives_a_vector_for_every_place(bert: Path) -> None:
    changes = {"text.embedder": {"kind": "transformer", "pretrained": str(bert)}}
    recipe = load_recipe("cmlr", changes)
    layer = PieceEmbedder.open(recipe, bert).layer()
    assert isinstance(layer, FrozenTransformer)
    assert layer.dim == 32
    assert not [p for p in layer.parameters() if p.requires_grad]
    assert not layer.train().encoder.training
    ids, lengths = torch.tensor([[2, 7, 9, 3], [2, 7, 3, 0]]), torch.tensor([4, 3])
    vectors, index = layer.look_up(TextBatch(ids, lengths), None)
    assert (vectors.shape, index.shape) == ((8, 32), (2, 4))
    alone, _ = layer.look_up(TextBatch(ids[1:, :3], lengths[1:]), None)
    torch.testing.assert_close(vectors[index[1, :3]], alone, atol=1e-6, rtol=1e-5)
    # The same word is another vector among other words.
    assert not torch.allclose(vectors[index[0, 1]], vectors[index[1, 1]], atol=1e-3)
