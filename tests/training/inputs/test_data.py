"""What a training reads, and what is told before the first epoch, with nothing written."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import load_dataset, load_folder, save_folder
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training.inputs.data import TrainingData, fresh_model, prepare
from polyglance.training.samplers.pairs import caption_pairs
from polyglance.vision.extraction.extract import load_features
from tests.conftest import TOY, write_toy
from tests.training.runs import run


def spoil(toy: Path, split: str, text: str) -> int:
    """Put `text` into a German caption of the split; returns its line."""
    images = load_folder(toy).images
    line = next(i for i, image in enumerate(images, 1) if image.split == split)
    images[line - 1].captions["de"]["independent"][1] = text
    save_folder(toy, images)
    return line


def read(toy: Path, cache: Path, *overrides: str) -> TrainingData:
    recipe = load_recipe("vsepp", parse_overrides([*TOY, *overrides]))
    return prepare(recipe, load_dataset(toy), fresh_model, None, cache, False)[1]


def test_ids_images_and_languages_are_those_of_the_captions(toy: Path, tmp_path: Path) -> None:
    recipe = load_recipe("vsepp", parse_overrides(TOY))
    started, data = prepare(recipe, load_dataset(toy), fresh_model, None, tmp_path, False)
    part = load_dataset(toy).split("train")
    table = part.captions()
    assert data.grounded == len(data) == len(table) == 4 * len(part)
    assert data.languages == table.languages
    assert data.image.tolist() == table.image.tolist()
    words = started.model.embedder.vocabulary("en")
    for row in (0, 77, len(data) - 1):
        assert words.decode(data.ids[row].tolist()) == table.texts[row].split()
    assert started.fresh
    assert started.trains is None
    assert started.model.languages == ["de", "en"]


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_caption_without_words_is_named_before_training(
    toy: Path, tmp_path: Path, split: str
) -> None:
    line = spoil(toy, split, "…!")
    place = rf"captions\.jsonl\.gz, line {line}: captions\.de\.independent has '…!'"
    with pytest.raises(PolyglanceError, match=place):
        run(toy, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_images_without_features_are_reported(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = load_folder(toy).images
    save_folder(toy, [type(rows[0])("gone.jpg", "train", rows[0].captions), *rows[1:]])
    recipe = load_recipe("vsepp", parse_overrides(TOY))
    _, data = prepare(recipe, load_dataset(toy), fresh_model, None, tmp_path)
    assert 0 not in data.image
    told = capsys.readouterr().err
    assert "note: 1 of 120 have no 'imported/toy' and are left out (the first is 'gone.jpg'" in told


def test_images_that_are_all_missing_are_refused(toy: Path, tmp_path: Path) -> None:
    (toy / "images").mkdir()
    with pytest.raises(PolyglanceError, match=r"none of the .* training images can be read"):
        run(toy, tmp_path / "run", "image.feature=efficientnet-lite2/global")


def test_statistics_leave_padding_out(tmp_path: Path) -> None:
    toy = write_toy(tmp_path / "sets", form="set")
    recipe = load_recipe("vsepp", parse_overrides([*TOY, "image.standardise=true"]))
    started, _ = prepare(recipe, load_dataset(toy), fresh_model, None, tmp_path, False)
    features = load_features(load_dataset(toy).split("train"), "imported/toy")
    vectors = np.concatenate([features.store.get(key) for key in features.keys]).astype(np.float64)
    tower = started.model.network.image
    np.testing.assert_allclose(tower.mean.numpy(), vectors.mean(0), atol=1e-4)
    np.testing.assert_allclose(float(tower.scale), vectors.std(0).mean(), atol=1e-4)


def test_the_authors_pairs_come_from_all_images(toy: Path, tmp_path: Path) -> None:
    half = ["data.images=0.5", "sampling.kind=languages", "sampling.c2c=0.5"]
    own, all_ = (read(toy, tmp_path, *half, f"compat.c2c_images={on}") for on in ("false", "true"))
    assert own.grounded == len(own) == all_.grounded
    assert len(all_) == 2 * len(own)
    pairs = caption_pairs(all_.image, all_.languages)
    assert len(pairs) == 2 * len(caption_pairs(own.image, own.languages))
    run(toy, tmp_path / "run", *half, "compat.c2c_images=true", "training.updates=4")


def test_text_only_tuples_come_behind_the_images(toy: Path, tmp_path: Path) -> None:
    captions = {"en": {"translation": ["a zebra"]}, "de": {"translation": ["ein zebra"]}}
    line = json.dumps({"id": "1", "captions": captions})
    (toy / "text-only.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    settings = ["sampling.kind=languages", "sampling.c2c=0.5", "sampling.text_only=true"]
    data = read(toy, tmp_path, *settings)
    assert len(data) == data.grounded + 2
    assert set(data.image[data.grounded :].tolist()) == {120}
    assert sorted(data.languages[data.grounded :]) == ["de", "en"]


def test_texts_do_not_repeat_captions_of_another_split(toy: Path, tmp_path: Path) -> None:
    images = load_folder(toy).images
    own, held_out = (
        next(image.captions["en"]["independent"][0] for image in images if image.split == split)
        for split in ("train", "val")
    )
    rows = [
        {"id": f"{number}", "captions": {"en": {"t": [text]}, "de": {"t": [f"text {number}"]}}}
        for number, text in enumerate((own, held_out.upper() + "!", "a zebra"))
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (toy / "text-only.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    texts = read(toy, tmp_path, "sampling.kind=images", "sampling.text_only=true").texts
    assert texts is not None
    assert texts.texts == [own, "text 0", "a zebra", "text 2"]
