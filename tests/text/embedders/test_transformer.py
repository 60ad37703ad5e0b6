"""A pretrained encoder as text tower: read, trained, saved and loaded without its source."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from polyglance import Model
from polyglance.errors import NoWords, PolyglanceError
from polyglance.gallery.query import check_query
from polyglance.recipes import load_recipe
from polyglance.text.embedders.transformer import Pieces
from polyglance.training.augment import Augmenter
from tests.conftest import TOY
from tests.text.tiny_bert import vocabulary, without_weights, write_bert, write_tokenizer
from tests.training.test_groups import stop_after
from tests.training.test_trainer import run, same, weights

pytest.importorskip("transformers")
ID = {word: index for index, word in enumerate(vocabulary())}
TEXTS = ["A red dog", "ein roter Hund läuft", "犬が走る", "dog"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert") / "tiny")


def recipe(bert: Path, *overrides: str):
    return load_recipe(
        "vse-infinity-bert",
        parse_overrides(
            [
                *TOY,
                "image.head.hidden=8",
                "text.pooling=mean",
                f"text.encoder.pretrained={bert}",
                *overrides,
            ]
        ),
        shared=True,
    )


def model(bert: Path, *overrides: str) -> Model:
    torch.manual_seed(0)
    return Model(recipe(bert, *overrides), Pieces.open(bert), 16, ["en", "de", "ja"])


def test_texts_are_read_as_the_tokeniser_does(bert: Path) -> None:
    made = model(bert)
    ids = made.tokens(["Running dogs", "犬が走る"])
    names = ["[CLS]", "run", "##ning", "dog", "##s", "[SEP]", "[CLS]", "犬", "が", "走", "る"]
    assert ids.flat.tolist() == [ID[name] for name in [*names, "[SEP]"]]
    assert ids.lengths.tolist() == [6, 6]
    joined = made.reader.encode(made.recipe.text, ["Running dogs"], [], []).joined
    assert joined.tolist() == [False, False, True, False, True, False]


def test_long_texts_are_cut_and_keep_their_end(tmp_path: Path, bert: Path) -> None:
    short = model(bert, "text.max_length=5").tokens(["a red dog runs that sleeps"])
    assert short.flat.tolist() == [ID[w] for w in ["[CLS]", "a", "red", "dog", "[SEP]"]]
    few = model(write_bert(tmp_path / "few", places=6))
    assert few.tokens(["a red dog that runs that sleeps"]).lengths.tolist() == [5]
    assert np.isfinite(few.encode_text("a red dog that runs that sleeps")).all()


def test_padding_changes_nothing(bert: Path) -> None:
    for pooling in ("mean", "gpo", "first"):
        made = model(bert, f"text.pooling={pooling}")
        together = made.encode_text(TEXTS)
        alone = np.concatenate([made.encode_text(text) for text in TEXTS])
        np.testing.assert_allclose(together, alone, atol=1e-6)
    assert np.abs(together[0] - together[1]).max() > 1e-3


def test_what_stands_past_a_length_changes_nothing_in_training_either(bert: Path) -> None:
    tower = model(bert).network.text.eval()
    ids = torch.randint(5, 20, (3, 7))
    lengths = torch.tensor([7, 2, 4])
    other = ids.clone()
    other[1, 2:], other[2, 4:] = 6, 9
    torch.testing.assert_close(tower(ids, lengths), tower(other, lengths))


def test_the_tower_starts_with_the_pretrained_weights(bert: Path) -> None:
    tower = model(bert).network.text
    for name, value in load_file(bert / "model.safetensors").items():
        if "pooler" not in name:
            assert torch.equal(tower.encoder.state_dict()[name], value)
    assert not [name for name, _ in tower.named_parameters() if "pooler" in name]
    assert tower.projection.weight.shape == (16, 32)


def test_a_text_without_words_is_named(bert: Path) -> None:
    with pytest.raises(NoWords, match=r"'\.\.\.' has no words"):
        model(bert).encode_text(["a dog", "..."])


def test_trained_saved_and_loaded_without_the_source(toy: Path, tmp_path: Path, bert: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(bert, source)
    settings = ["image.head.hidden=8", f"text.encoder.pretrained={source}", "training.epochs=10"]
    result = run(toy, tmp_path / "run", *settings, recipe="vse-infinity-bert")
    assert min(result.progress.evaluations[-1]["mr"].values()) > 45
    before = load_file(source / "model.safetensors")["embeddings.word_embeddings.weight"]
    after = weights(tmp_path / "run")["text.encoder.embeddings.word_embeddings.weight"]
    assert 0 < float((before - after).abs().max()) < 0.5
    shutil.rmtree(source)
    (tmp_path / "run").rename(tmp_path / "moved")
    loaded = Model.load(tmp_path / "moved")
    np.testing.assert_allclose(
        result.model.encode_text(TEXTS), loaded.encode_text(TEXTS), atol=1e-6
    )
    loaded.save(tmp_path / "again")
    shutil.rmtree(tmp_path / "moved")
    again = Model.load(tmp_path / "again")
    np.testing.assert_allclose(loaded.encode_text(TEXTS), again.encode_text(TEXTS), atol=1e-6)


def test_runs_resume_to_the_same_bits(
    toy: Path, tmp_path: Path, bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["image.head.hidden=8", f"text.encoder.pretrained={bert}", "training.epochs=2"]
    run(toy, tmp_path / "whole", *settings, recipe="vse-infinity-bert")
    stop_after(monkeypatch, 9)
    with pytest.raises(KeyboardInterrupt):
        run(toy, tmp_path / "cut", *settings, recipe="vse-infinity-bert")
    monkeypatch.undo()
    run(toy, tmp_path / "cut", *settings, recipe="vse-infinity-bert", resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")


def test_augmentation_masks_pieces_and_spares_the_ends(bert: Path) -> None:
    made = model(bert, "augment.word_drop=0.5")
    tokens, joined = made.reader.encode(made.recipe.text, ["running dogs"] * 500, [], [])
    augmenter = Augmenter(made.recipe, made.reader, tokens, joined)
    ids, lengths = augmenter.captions(0, 0, np.arange(500), "en")
    assert (ids[:, 0] == ID["[CLS]"]).all()
    assert (ids[torch.arange(500), lengths - 1] == ID["[SEP]"]).all()
    whole = {tuple(row[1 : n - 1]) for row, n in zip(ids.tolist(), lengths.tolist(), strict=True)}
    mask = ID["[MASK]"]
    assert {(mask, mask, ID["dog"], ID["##s"]), (ID["run"], ID["##ning"]), ()} <= whole
    assert (mask, ID["##ning"], ID["dog"], ID["##s"]) not in whole
    found = made.reader.substitutes("en")
    assert found.words.tolist() == list(range(5, len(ID)))
    assert set(found.ends.tolist()) == {ID["[PAD]"], ID["[CLS]"], ID["[SEP]"]}


def test_queries_are_checked_by_pieces(bert: Path) -> None:
    made = model(bert)
    assert check_query(made, "running dogs, xyz", "en").unknown == ("xyz",)
    with pytest.raises(PolyglanceError, match="knows none of the words"):
        check_query(made, "xyz", "en")


def test_mistakes_are_told_before_anything_is_made(toy: Path, tmp_path: Path, bert: Path) -> None:
    def told(folder: Path, message: str, *more: str) -> None:
        with pytest.raises(PolyglanceError, match=message) as error:
            run(toy, tmp_path / "run", f"text.encoder.pretrained={folder}", *more, recipe=name)
        assert "\n" not in str(error.value)
        assert not (tmp_path / "run").exists()

    name = "vse-infinity-bert"
    told(tmp_path / "nowhere", "no encoder there")
    told(without_weights(bert, tmp_path / "bare"), "no weights")
    told(write_bert(tmp_path / "maskless", mask=False), r"no mask token; set augment\.words=0")
    told(bert, r"set text\.towers=shared", "text.towers=per-language")
    shutil.copytree(bert, tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"x" * 50)
    told(tmp_path / "broken", "cannot load the encoder")
    (tmp_path / "broken" / "config.json").write_text('{"model_type": "t5"}')
    told(tmp_path / "broken", "is not a text encoder")


def test_a_tokeniser_of_another_model_is_told(tmp_path: Path, bert: Path) -> None:
    import json

    shutil.copytree(bert, tmp_path / "mixed")
    write_tokenizer(tmp_path / "mixed")
    config = json.loads((bert / "config.json").read_text())
    (tmp_path / "mixed" / "config.json").write_text(json.dumps({**config, "vocab_size": 9}))
    with pytest.raises(PolyglanceError, match="do not belong together"):
        Pieces.open(tmp_path / "mixed")


def test_missing_transformers_is_told(
    toy: Path, tmp_path: Path, bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(PolyglanceError, match="pip install transformers"):
        run(toy, tmp_path / "run", f"text.encoder.pretrained={bert}", recipe="vse-infinity-bert")
