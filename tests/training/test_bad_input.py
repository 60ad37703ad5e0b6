"""What cannot be trained or judged is told before the first epoch, and nothing is written."""

import json
from pathlib import Path

import pytest

from polyglance import Model
from polyglance.data import load_dataset, load_folder, save_folder
from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.training import train
from tests.conftest import TOY


def run(data: Path, out: Path, resume: bool = False) -> None:
    train(
        load_recipe("vsepp", parse_overrides(TOY), shared=True),
        load_dataset(data),
        out,
        resume,
        show_progress=False,
    )


def spoil(toy: Path, split: str, text: str) -> int:
    """Put `text` into a German caption of the split; returns its line."""
    photos = load_folder(toy).images
    line = next(i for i, photo in enumerate(photos, 1) if photo.split == split)
    photos[line - 1].captions["de"]["independent"][1] = text
    save_folder(toy, photos)
    return line


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_caption_without_words_is_named_before_training(
    toy: Path, tmp_path: Path, split: str
) -> None:
    line = spoil(toy, split, "…!")
    place = rf"captions\.jsonl\.gz, line {line}: captions\.de\.independent holds '…!'"
    with pytest.raises(PolyglanceError, match=place):
        run(toy, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_caption_without_words_is_named_in_evaluation(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "run")
    line = spoil(toy, "test", "?!")
    model, dataset = Model.load(tmp_path / "run"), load_dataset(toy)
    with pytest.raises(PolyglanceError, match=rf"gz, line {line}: captions\.de\.independent holds"):
        evaluate(model, dataset, show_progress=False)
    assert [r.language for r in evaluate(model, dataset, languages=["en"]).results] == ["en"]


def test_validation_without_pictures_is_told_before_training(toy: Path, tmp_path: Path) -> None:
    rows = load_folder(toy).images
    unseen = [r if r.split != "val" else type(r)(f"x{r.image}", "val", r.captions) for r in rows]
    save_folder(toy, unseen)
    with pytest.raises(PolyglanceError, match="none of the images of split 'val' can be read"):
        run(toy, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_language_without_validation_pictures_is_not_judged(toy: Path, tmp_path: Path) -> None:
    rows = load_folder(toy).images
    for row in rows:
        if row.split == "val":
            row.captions["de"]["independent"].clear()
    save_folder(toy, rows)
    result = train(
        load_recipe("vsepp", parse_overrides(TOY), shared=True), load_dataset(toy), tmp_path / "run"
    )
    assert list(result.progress.evaluations[-1]["mr"]) == ["en"]


def test_photographs_without_features_are_told(toy: Path, tmp_path: Path, capsys) -> None:
    rows = load_folder(toy).images
    save_folder(toy, [type(rows[0])("gone.jpg", "train", rows[0].captions), *rows[1:]])
    train(
        load_recipe("vsepp", parse_overrides(TOY), shared=True), load_dataset(toy), tmp_path / "run"
    )
    told = capsys.readouterr().err
    assert "note: 1 of 120 have no 'imported/toy' and are left out (the first is 'gone.jpg'" in told


def test_a_checkpoint_of_other_captions_is_explained(toy: Path, tmp_path: Path) -> None:
    run(toy, tmp_path / "run")
    rows = load_folder(toy).images
    for row in rows:
        row.captions["en"]["independent"].append("entirely new words")
    save_folder(toy, rows)
    with pytest.raises(PolyglanceError, match="captions have changed"):
        run(toy, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("checkpoint.safetensors", b"", "damaged"),
        ("metrics.jsonl", b"[]\n", "no number 'update'"),
        ("metrics.jsonl", b"garbage\n", "line 1: not valid JSON"),
    ],
)
def test_damaged_runs_are_explained(
    toy: Path, tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    run(toy, tmp_path / "run")
    (tmp_path / "run" / name).write_bytes(data)
    with pytest.raises(PolyglanceError, match=rf"{name}.*{message}"):
        run(toy, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("field", "value"),
    [("recipe", None), ("feature_dim", "x"), ("feature_dim", -3), ("languages", "en")],
)
def test_a_wrong_field_of_a_model_is_named(
    toy: Path, tmp_path: Path, field: str, value: object
) -> None:
    run(toy, tmp_path / "run")
    path = tmp_path / "run" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(PolyglanceError, match=rf"model\.json: .*{field}"):
        Model.load(tmp_path / "run")
