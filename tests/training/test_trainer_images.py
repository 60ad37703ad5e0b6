"""Whole trainings on batches of images: captions, texts without images, named things beside."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError
from polyglance.models.tensors import to_tensors
from polyglance.recipes import Recipe, load_recipe, parse_overrides
from polyglance.text.embedders import EncodedTexts
from polyglance.training.inputs.data import TrainingData, fresh_model, prepare
from polyglance.training.samplers import ImageBatch, samplers
from polyglance.training.steps import ImagesStep, steps
from tests.conftest import TOY
from tests.training.beside import SUBWORDS, write_sentences, write_texts, write_things
from tests.training.runs import run, same, stop_after

KIND = ["sampling.kind=images", "loss.kind=infonce", "loss.temperature=0.1"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Tuples whose Georgian is in no caption."""
    return write_sentences(tmp_path / "texts.jsonl.gz")


@pytest.fixture
def things(tmp_path: Path) -> Path:
    """Three things in two styles each, and one held out."""
    return write_things(tmp_path / "things")


def recipe_of(*changes: str, small: list[str] = SUBWORDS) -> Recipe:
    return load_recipe("vsepp", parse_overrides([*small, *KIND, *changes]))


def prepared(
    toy: Path, *changes: str, small: list[str] = SUBWORDS
) -> tuple[ImagesStep, ImageBatch]:
    """The step of a training, and its first batch."""
    torch.manual_seed(0)
    recipe = recipe_of(*changes, small=small)
    started, data = prepare(recipe, load_dataset(toy), fresh_model, None, toy.parent, False)
    sampler = samplers.get("images")(recipe, data)
    step = steps.get("images")(started.model, data, sampler)
    assert isinstance(step, ImagesStep)
    return step, next(sampler.batches(0))


def nce(rows: np.ndarray, columns: np.ndarray) -> float:
    """InfoNCE at the temperature 0.1, written out."""
    scores = np.exp(rows @ columns.T / 0.1)
    right = np.diag(scores)
    return float(-(np.log(right / scores.sum(1)) + np.log(right / scores.sum(0))).mean() / 2)


def embedded(step: ImagesStep, data: TrainingData, rows: np.ndarray) -> np.ndarray:
    return np.asarray(step.model.encode_tokens(EncodedTexts(data.ids[rows])))


def test_the_loss_is_what_the_docs_say(toy: Path, texts: Path, things: Path) -> None:
    """Against the sum written out: columns, columns among themselves, texts, things."""
    step, batch = prepared(
        toy,
        "sampling.captions=3",
        "sampling.c2c_weight=0.5",
        f"sampling.text_files=[{texts}]",
        "sampling.text_weight=0.25",
        f"sampling.beside.data={things}",
        "sampling.beside.weight=0.75",
    )
    data, model = step.data, step.model
    with torch.no_grad():
        images = model.network.embed_images(*to_tensors(data.features, batch.images)).numpy()
    columns = [embedded(step, data, batch.captions[:, k]) for k in range(3)]
    expected = sum(nce(images, column) for column in columns) / 3
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected += 0.5 * sum(nce(columns[a], columns[b]) for a, b in pairs) / 3
    assert data.texts is not None
    said = [[data.texts.texts[row] for row in side] for side in batch.texts.T]
    expected += 0.25 * nce(*(np.asarray(model.encode_text(side)) for side in said))
    assert data.second_dataset is not None
    with torch.no_grad():
        shown = model.network.embed_images(*to_tensors(data.second_dataset.features, batch.things))
    called = np.asarray(model.encode_tokens(data.second_dataset.texts))[batch.names]
    expected += 0.75 * nce(shown.numpy(), called)
    outcome = step.outcome(0, step.prepare(0, batch))
    assert outcome.loss.item() == pytest.approx(expected, rel=1e-4)
    equal = 1.5 * np.log(len(images)) + 0.25 * np.log(len(batch.texts)) + 0.75 * np.log(3)
    assert outcome.collapsed == pytest.approx(equal, rel=1e-4)
    assert step.size(batch) == len(batch.images) == 32


def test_images_are_embedded_once(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step, batch = prepared(toy, "sampling.captions=3")
    seen = []
    plain = step.model.network.embed_images
    monkeypatch.setattr(
        step.model.network,
        "embed_images",
        lambda *parts: seen.append(len(parts[0])) or plain(*parts),
    )
    step.outcome(0, step.prepare(0, batch))
    assert seen == [len(batch.images)]


def test_things_and_their_names_belong_together(toy: Path, things: Path) -> None:
    step, _ = prepared(toy, f"sampling.beside.data={things}", "sampling.beside.batch=2")
    beside = step.data.second_dataset
    assert beside is not None
    assert [own.tolist() for own in beside.images] == [[0, 3], [1, 4], [2, 5]]
    table = load_dataset(things).split("train")
    drawn = set()
    for seed in range(200):
        images, names = beside.draw(np.random.default_rng(seed))
        assert len(set((images % 3).tolist())) == 2
        for image, name in zip(images.tolist(), names.tolist(), strict=True):
            thing = beside.names.owners[
                np.searchsorted(beside.names.first, _group(beside.names, name), side="right") - 1
            ]
            assert thing == image % 3
            drawn.add((image, name))
    assert len(drawn) == len(table) * 2


def _group(names: object, row: int) -> int:
    place = int(np.flatnonzero(names.rows == row)[0])  # type: ignore[attr-defined]
    return int(np.searchsorted(names.start, place, side="right") - 1)  # type: ignore[attr-defined]


def test_some_languages_are_favoured(toy: Path, things: Path) -> None:
    named = f"sampling.beside.data={things}"
    step, _ = prepared(toy, named, "sampling.beside.languages=[ka]", "sampling.beside.favour=0.4")
    beside = step.data.second_dataset
    assert beside is not None
    codes: list[str] = []
    for seed in range(500):
        _, rows = beside.draw(np.random.default_rng(seed))
        codes += [str(beside.names.language[_group(beside.names, row)]) for row in rows]
    assert codes.count("ka") / len(codes) == pytest.approx(0.4 + 0.6 / 2, abs=0.04)
    with pytest.raises(PolyglanceError, match="has no names in 'fr' to train on"):
        prepared(toy, named, "sampling.beside.languages=[fr]")


def test_languages_without_a_captioned_image_are_learned(
    toy: Path, texts: Path, things: Path
) -> None:
    named = [f"sampling.text_files=[{texts}]", f"sampling.beside.data={things}"]
    step, _ = prepared(toy, *named)
    assert step.model.languages == ["de", "en", "ka"]
    assert step.data.texts is not None
    assert len(step.data.texts) == 6  # without those that have no words
    words, _ = prepared(toy, *named[1:], small=TOY)
    assert words.model.languages == ["de", "en"]
    assert words.data.second_dataset is not None
    assert set(words.data.second_dataset.names.language.tolist()) == {"en"}
    with pytest.raises(PolyglanceError, match="no tuple with two languages that the model reads"):
        prepared(toy, named[0], small=TOY)


def test_texts_are_in_the_vocabulary_of_a_word_table(toy: Path, tmp_path: Path) -> None:
    path = write_texts(tmp_path / "t.jsonl.gz", {"en": "a zebra", "de": "ein zebra"})
    step, batch = prepared(toy, f"sampling.text_files=[{path}]", small=TOY)
    assert step.model.embedder.unknown(["zebra"], "en")[1] == ()
    assert len(step.data) == step.data.grounded
    assert torch.isfinite(step.outcome(0, step.prepare(0, batch)).loss)


def test_runs_learn_and_resume_to_the_same_bits(
    toy: Path, tmp_path: Path, texts: Path, things: Path
) -> None:
    changes = [*KIND, f"sampling.text_files=[{texts}]", f"sampling.beside.data={things}"]
    whole = run(toy, tmp_path / "whole", *changes, "training.epochs=12", small=SUBWORDS)
    with pytest.raises(KeyboardInterrupt):
        run(
            toy,
            tmp_path / "cut",
            *changes,
            "training.epochs=12",
            small=SUBWORDS,
            callbacks=stop_after(5),
        )
    run(toy, tmp_path / "cut", *changes, "training.epochs=12", small=SUBWORDS, resume=True)
    assert same(tmp_path / "whole", tmp_path / "cut")
    # 20 images, of which many share their content: chance is about 30.
    assert min(whole.progress.evaluations[-1]["mr"].values()) > 60


def test_other_texts_are_another_run(toy: Path, tmp_path: Path, texts: Path) -> None:
    changes = [*KIND, f"sampling.text_files=[{texts}]"]
    run(toy, tmp_path / "run", *changes, small=SUBWORDS)
    write_texts(texts, {"en": "a bird", "ka": "ჩიტი"})
    with pytest.raises(PolyglanceError, match="the captions have changed"):
        run(toy, tmp_path / "run", *changes, small=SUBWORDS, resume=True)
    with pytest.raises(PolyglanceError, match=r"in sampling\.text_files; 'polyglance data words'"):
        run(toy, tmp_path / "none", *KIND, "sampling.text_files=[none.jsonl]", small=SUBWORDS)


def test_more_captions_are_trained_on_and_never_those_of_other_splits(
    toy: Path, tmp_path: Path
) -> None:
    images = load_dataset(toy).images
    rows = [
        {"image": e.image, "split": e.split, "captions": {"tr": {"machine": [f"köpek {e.image}"]}}}
        for e in images
    ]
    held = next(e.image for e in images if e.split == "val")
    rows.append({"image": held, "split": "train", "captions": {"tr": {"machine": ["sızıntı"]}}})
    path = tmp_path / "more.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    step, _ = prepared(toy, f"data.more=[{path}]")
    added = [row for row, code in enumerate(step.data.languages) if code == "tr"]
    assert len(added) == sum(e.split == "train" for e in images)
    assert len(set(step.data.image[added].tolist())) == len(added)
    result = run(toy, tmp_path / "run", *KIND, f"data.more=[{path}]", small=SUBWORDS)
    assert set(result.progress.evaluations[-1]["mr"]) == {"de", "en"}
    path.write_text(json.dumps(rows[-1]) + "\n")
    with pytest.raises(PolyglanceError, match="has no image of split 'train'"):
        prepared(toy, f"data.more=[{path}]")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("text.towers=per-language", "sampling.kind=images mixes languages"),
        ("loss.kind=triplets", "triplets is not"),
    ],
)
def test_what_cannot_be_sampled_by_images_is_refused(change: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        load_recipe("vsepp", parse_overrides(["sampling.kind=images", change]))
    scan = parse_overrides(["sampling.kind=images"])
    with pytest.raises(PolyglanceError, match="compares one vector per image"):
        load_recipe("scan-t2i", scan)
