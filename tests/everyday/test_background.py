"""Scores against a background: golden values, planted data, and what searches make of it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import polyglance
from polyglance.cli import search_hits
from polyglance.cli.search_hits import print_hits
from polyglance.core.shipped import PLACE
from polyglance.errors import PolyglanceError
from polyglance.gallery import search
from polyglance.gallery.index import indexed_folder
from polyglance.numerics.similarity import normalise
from polyglance.runtime import Background, add_background, background_of, calibrate, load
from polyglance.runtime.background import _rates, _threshold, read_background
from polyglance.runtime.manifest import BACKGROUND, read_manifest
from tests.runtime.trained import exported, trained


def test_calibrated_scores_are_the_mean_of_two_standard_scores():
    generator = np.random.default_rng(0)
    images, texts, own, asked = (normalise(generator.normal(size=(n, 4))) for n in (30, 20, 3, 2))
    found = Background(images, texts, 0.0).calibrated(own, asked)
    least_of_text = np.median([np.std(images @ text) for text in texts])
    least_of_image = np.median([np.std(texts @ image) for image in images])
    for i, image in enumerate(own):
        for j, text in enumerate(asked):
            score = image @ text
            clarity = min(1, np.std(images @ text) / least_of_text)
            by_text = score - np.mean(images @ text)
            by_text /= max(np.std(images @ text), least_of_text)
            by_image = score - np.mean(texts @ image)
            by_image /= max(np.std(texts @ image), least_of_image)
            assert found[i, j] == pytest.approx(clarity * (by_text + by_image) / 2, abs=1e-4)


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        ([3, 4, 5], [1, 2], (3, 1, 1)),
        ([3, 4, 5, 6], [1, 3.5], (4, 0.75, 1)),
        ([2, 5, 5, 5], [1, 1, 1, 4], (2, 1, 0.75)),
    ],
)
def test_the_threshold_makes_the_fewest_mistakes(right, wrong, expected):
    scores = np.array(right, float), np.array(wrong, float)
    cutoff = _threshold(*scores)
    assert (cutoff, *_rates(*scores, cutoff)) == expected


def planted(seed: int, kinds: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images and captions around the centres of some kinds, and whose a caption is."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(kinds, 16))
    kind = np.arange(160) % kinds
    images = centres[kind] + 0.3 * generator.normal(size=(160, 16))
    image_of = np.repeat(np.arange(160), 2)
    texts = centres[kind[image_of]] + 0.3 * generator.normal(size=(320, 16))
    return normalise(images), normalise(texts), image_of


def test_planted_kinds_are_distinguished():
    images, texts, image_of = planted(0)
    made = calibrate(images, texts, image_of)
    assert made.images.shape == (80, 16)
    assert made.texts.shape == (160, 16)
    other_images, other_texts, _ = planted(1)
    scores = made.calibrated(other_images, other_texts)
    same = np.arange(160)[:, None] % 8 == np.repeat(np.arange(160), 2)[None] % 8
    assert (scores[same] >= made.cutoff).mean() > 0.95
    assert (scores[~same] < made.cutoff).mean() > 0.95
    assert calibrate(images, texts, image_of).cutoff == made.cutoff


def test_a_text_with_similar_scores_for_all_images_matches_none():
    """Most of it lies where no picture does; what is left points to the pictures of a kind."""
    (images, texts, image_of), (others, asked, _) = planted(0), planted(1)
    wide = [np.pad(vectors, [(0, 0), (0, 1)]) for vectors in (images, texts, others, asked[:1])]
    made = calibrate(wide[0], wide[1], image_of)
    vague = 0.3 * wide[3]
    vague[0, -1] = 1
    clear, dim = made.calibrated(wide[2], np.concatenate([wide[3], normalise(vague)])).T
    assert np.argmax(clear) % 8 == np.argmax(dim) % 8 == 0
    assert clear.max() >= made.cutoff > dim.max()
    assert made.for_text(normalise(vague)).clarity < 0.4
    assert made.for_text(wide[3]).clarity > 0.8
    assert made.for_image(wide[2][:1]).clarity == 1


def test_rates_are_of_captions_that_had_no_part_in_the_cutoff():
    """Captions that say nothing of their image: chance can be fitted, and is no success."""
    told = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        images, texts = (normalise(generator.normal(size=(n, 16))) for n in (40, 40))
        made = calibrate(images, texts, np.arange(40), seed=seed)
        told.append(made.kept + made.refused)
    # A cut-off of no worth keeps as much of the one as it lets pass of the other.
    assert np.mean(told) < 1.02


def test_pictures_that_could_not_be_read_are_left_out():
    images, texts, image_of = planted(0)
    images[:5] = np.nan
    made = calibrate(images, texts, image_of)
    assert np.isfinite(made.images).all()
    assert np.isfinite(made.cutoff)
    with pytest.raises(PolyglanceError, match="at least 8 images"):
        calibrate(images[:12], texts[:14], image_of[:14])


@pytest.fixture
def with_background(model_folder: Path, tmp_path: Path, monkeypatch) -> Path:
    """A copy of the model whose background makes any picture fit nothing."""
    folder = tmp_path / "calibrated"
    shutil.copytree(model_folder, folder)
    vectors = normalise(np.random.default_rng(0).normal(size=(40, 16)))
    add_background(folder, Background(vectors, vectors, 1e6))
    return folder


def test_a_background_is_part_of_the_model(model, with_background):
    found = load(with_background)
    assert found.id == model.id
    assert found.background is not None
    assert found.background.cutoff == 1e6
    assert model.background is None
    (with_background / "background.npz").write_bytes(b"no numbers")
    with pytest.raises(PolyglanceError, match=r"background\.npz: is damaged or was changed"):
        load(with_background)
    with pytest.raises(PolyglanceError, match="embeddings of dimension 16, but the background"):
        add_background(model.folder, Background(np.ones((9, 3)), np.ones((9, 3)), 0.0))


def as_once_written(folder: Path) -> str:
    """Give a model the id that older versions gave it, with the background; that id."""
    manifest = read_manifest(folder)
    old = manifest.model_copy(update={"id": manifest.full_digest()})
    written = old.model_dump(mode="json", exclude={"former"})
    (folder / "manifest.json").write_text(json.dumps(written))
    return old.id


def test_an_export_with_an_id_of_older_versions_keeps_it_as_a_former_one(model, with_background):
    once = as_once_written(with_background)
    assert once != model.id
    before = load(with_background)
    assert before.id == once
    assert model.id in before.ids
    vectors = normalise(np.random.default_rng(1).normal(size=(40, 16)))
    add_background(with_background, Background(vectors, vectors, 1.0))
    add_background(with_background, Background(vectors, vectors, 2.0))
    after = load(with_background)
    assert after.id == model.id
    assert once in after.ids


def test_another_background_reads_no_picture_again(with_background, pictures):
    once = as_once_written(with_background)
    first = indexed_folder(load(with_background), pictures)
    vectors = normalise(np.random.default_rng(1).normal(size=(40, 16)))
    add_background(with_background, Background(vectors, vectors, 1.0))
    renewed = load(with_background)
    assert renewed.id != once
    renewed.images = None  # nothing can be encoded with it
    np.testing.assert_array_equal(indexed_folder(renewed, pictures).embeddings, first.embeddings)


def test_the_shipped_model_keeps_its_id_with_another_background_only():
    manifest = read_manifest(PLACE)
    assert manifest.id == manifest.digest()
    assert manifest.renewed({**manifest.files, BACKGROUND: "0" * 64}).id == manifest.id
    other = manifest.model_copy(update={"files": {**manifest.files, "text.onnx": "0" * 64}})
    assert other.digest() != manifest.id
    assert other.renewed({**other.files, "image.onnx": "0" * 64}).former == []


def test_an_old_export_keeps_the_scores_that_its_cutoff_was_chosen_for(with_background):
    vectors = normalise(np.random.default_rng(0).normal(size=(40, 16)))
    manifest = read_manifest(with_background)  # before its files are not as it says
    path = with_background / "background.npz"
    np.savez(path, images=vectors, texts=vectors, cutoff=np.array([2.5, 0.75, 0.9]))
    old = read_background(with_background, manifest)
    assert (old.cutoff, old.lessens) == (2.5, False)
    assert np.isnan(old.kept)
    asked = normalise(np.random.default_rng(1).normal(size=(9, 16)))
    new = Background(old.images, old.texts, 2.5)
    plain, less = (one.calibrated(vectors, asked) for one in (old, new))
    clarity = [new.for_text(text[None]).clarity for text in asked]
    assert min(clarity) < 1
    np.testing.assert_allclose(less, plain * clarity, atol=1e-4)
    assert old.for_text(asked[:1]).clarity == 1


def test_nothing_looks_like_that(run, pictures, with_background):
    options = ("search", "--model", with_background, pictures, "red dog")
    result = run(*options)
    assert result.stdout == ""
    assert "nothing here looks like that; --all shows the closest images" in result.stderr
    found = json.loads(run(*options, "--json", "-").stdout)["queries"][0]
    assert (found["hits"], found["hidden"]) == ([], 6)
    assert found["message"] == "nothing here looks like that"
    assert found["score_kind"] == "standard"
    assert found["cutoff"]["kind"] == "standard"
    everything = json.loads(run(*options, "--all", "--json", "-").stdout)["queries"][0]
    assert len(everything["hits"]) == 6
    assert "closest" not in everything
    assert found["closest"] == everything["hits"][:3]
    result = run(*options, "dog")
    assert "'dog': nothing here looks like that" in result.stderr


def test_a_terminal_shows_the_closest_images(pictures, with_background, monkeypatch, capsys):
    found = search(with_background, pictures, "red dog", show_progress=False)
    monkeypatch.setattr(search_hits.sys.stdout, "isatty", lambda: True, raising=False)
    print_hits(found)
    said = capsys.readouterr()
    assert "nothing here looks like that; the closest images:" in said.err
    rows = [line.split() for line in said.out.splitlines() if line.strip()[:1].isdigit()]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [float(row[1]) for row in rows] == [round(hit.score, 4) for hit in found[0].closest]
    assert len(search(with_background, pictures, "red dog", top=1)[0].closest) == 1


def test_a_terminal_says_how_many_more_match(pictures, with_background, monkeypatch, capsys):
    model = load(with_background)
    vectors = model.background.images
    add_background(with_background, Background(vectors, vectors, -100.0))
    found = search(with_background, pictures, "red dog", top=2, show_progress=False)
    assert found[0].as_dict()["matches"] == 6
    print_hits(found)
    assert "more" not in capsys.readouterr().err
    monkeypatch.setattr(search_hits.sys.stdout, "isatty", lambda: True, raising=False)
    print_hits(found)
    assert capsys.readouterr().err == "4 more match; --top 6 shows them\n"
    found = search(with_background, pictures, ["red dog", "dog"], top=5, show_progress=False)
    print_hits(found)
    assert capsys.readouterr().err == (
        "'red dog': 1 more matches; --top 6 shows it\n'dog': 1 more matches; --top 6 shows it\n"
    )
    print_hits(search(with_background, pictures, "dog", top=6, show_progress=False))
    assert capsys.readouterr().err == ""
    everything = search(with_background, pictures, "dog", everything=True, show_progress=False)
    assert "matches" not in everything[0].as_dict()


def test_scores_are_calibrated_and_cut(run, pictures, with_background):
    model = load(with_background)
    paths = sorted(pictures.rglob("*.[pP]*"), key=lambda path: path.name)
    text = model.encode_text("red dog")
    expected = model.background.calibrated(model.encode_images(paths), text)[:, 0]
    order = np.argsort(-expected)
    cutoff = float(expected[order[2]]) - 1e-3
    vectors = model.background.images
    add_background(with_background, Background(vectors, vectors, cutoff))
    options = ("search", "--model", with_background, pictures, "red dog", "--json", "-")
    found = json.loads(run(*options).stdout)["queries"][0]
    assert [Path(hit["path"]).name for hit in found["hits"]] == [paths[i].name for i in order[:3]]
    assert found["hidden"] == 3
    assert [hit["score"] for hit in found["hits"]] == pytest.approx(expected[order[:3]], abs=5e-3)
    similarity = model.similarity(model.encode_images(paths), text)[:, 0]
    assert [hit["similarity"] for hit in found["hits"]] == pytest.approx(
        similarity[order[:3]], abs=1e-3
    )


def test_a_picture_alone_is_never_cut(run, pictures, with_background):
    options = ("--like", pictures / "1.PNG", "--top", "1")
    found = run("search", "--model", with_background, pictures, *options)
    assert len(found.stdout.splitlines()) == 1


def test_the_command_calibrates_on_a_dataset(run, tmp_path):
    _, data = trained(tmp_path, "nce", "global", "training.epochs=12")
    result = run("export", tmp_path / "run", "--onnx", tmp_path / "out", "--background", data)
    assert "calibrated: on 'val', images with a score of at least" in result.stdout
    made = load(tmp_path / "out")
    dataset = polyglance.load_dataset(data)
    again = background_of(made, dataset.split("val"))
    assert again.cutoff == pytest.approx(made.background.cutoff)
    assert made.background.images.shape == (4, 16)
    with pytest.raises(PolyglanceError, match="no split 'tset'"):
        run(
            *("export", tmp_path / "run", "--onnx", tmp_path / "no"),
            *("--background", data, "--split", "tset"),
        )
    assert not (tmp_path / "no").exists()


def test_no_captions_in_the_models_languages(tmp_path, model):
    other, data = trained(tmp_path, "nce")
    found = exported(tmp_path, other)
    found.manifest.languages[:] = ["zh"]
    with pytest.raises(PolyglanceError, match=r"no captions in the model's languages \(zh\)"):
        background_of(found, polyglance.load_dataset(data))
