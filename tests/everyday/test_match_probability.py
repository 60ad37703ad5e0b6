"""Chances of a fit: golden values, properties, planted words, and what searches make of them."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import polyglance
from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError
from polyglance.gallery.results import HARDLY_KNOWN
from polyglance.numerics.similarity import normalise
from polyglance.runtime import Background, add_background, calibrate, load
from polyglance.runtime.calibration_words import agreement, calibration_words, translated_words
from polyglance.runtime.fit_probability import (
    ALARM,
    FREQUENT,
    Words,
    best_of_gallery,
    of_frequent_words,
    of_words,
    regress,
    typical_matches,
)
from polyglance.runtime.match_probability import MatchProbability, nearness
from polyglance.text.lexicon import Lexicon
from tests.runtime.trained import trained

GIVEN = MatchProbability(2.0, np.array([0.5, -1.0, 0.25]), np.array([3.0, 1.0, 2.0, -0.5]))


def test_chances_are_those_of_the_formula():
    texts, near = np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([0.5, 0.1])
    shift = [0.5 * 0.6 - 0.8 + 0.25, 0.5 + 0.25]
    known = [3 * 0.5 + 0.6 + 2 * 0.8 - 0.5, 3 * 0.1 + 1.0 - 0.5]
    added = [one + np.log(1 / (1 + np.exp(-two))) for one, two in zip(shift, known, strict=True)]
    assert GIVEN.of_texts(texts, near) == pytest.approx(added)
    odds = 2 * 1.5 + added[0]
    found = GIVEN(np.array([[1.5, 1.5]]), GIVEN.of_texts(texts, near))
    assert found[0, 0] == pytest.approx(1 / (1 + np.exp(-odds)))
    assert GIVEN(np.zeros(1), 0.0)[0] == 0.5


def test_a_chance_rises_with_the_score():
    assert (np.diff(GIVEN(np.linspace(-3, 3, 20), -1.0)) > 0).all()


def test_nearness_is_of_the_five_nearest():
    background = normalise(np.random.default_rng(0).normal(size=(30, 4)))
    text = background[:1]
    assert nearness(text, background)[0] == pytest.approx(
        sorted(background @ text[0])[-5:] @ np.full(5, 0.2)
    )


def test_regression_finds_planted_coefficients():
    generator = np.random.default_rng(0)
    features, offset = generator.normal(size=(40_000, 2)), generator.normal(size=40_000)
    odds = 1.5 * features[:, 0] - 0.5 * features[:, 1] + 0.7 + offset
    positive = generator.random(40_000) < 1 / (1 + np.exp(-odds))
    found = regress(features, positive, np.ones(40_000), offset)
    assert found == pytest.approx([1.5, -0.5, 0.7], abs=0.06)
    weighted = regress(features, positive, np.where(positive, 2.0, 1.0), offset)
    assert weighted[2] - found[2] == pytest.approx(np.log(2), abs=0.06)


def test_the_best_of_a_pool_and_of_words():
    generator = np.random.default_rng(0)
    standard_scores = np.array([[5.0, 0.0], [1.0, 9.0], [2.0, 3.0], [4.0, 1.0]])
    assert best_of_gallery(standard_scores, None, 100, generator).tolist() == [5, 9]
    assert best_of_gallery(
        standard_scores, np.array([[1, 0], [2, 3]]), 100, generator
    ).tolist() == [2, 1]
    has = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], bool)
    shares = np.array([[0, 0], [1, 0], [0, 0], [0, 0]], bool)
    right, wrong = of_words(standard_scores, has, shares, generator)
    assert right.tolist() == [[5, 0]]  # the other picture that has the word is in the gallery
    assert wrong.tolist() == [[4, 0], [9, 1]]


def test_all_matching_images_of_frequent_words_are_trials():
    generator = np.random.default_rng(0)
    has = np.zeros((100, 3), bool)
    has[:40, 0], has[:1, 1], has[:10, 2] = True, True, True
    scores = np.arange(300.0).reshape(100, 3)
    found = of_frequent_words(scores, has, has, np.array([5, 6, 7]), generator)
    assert set(found.text) == {5, 7}  # one image in a hundred is not frequent
    often, seldom = (found.where(found.text == text) for text in (5, 7))
    assert (often.fits.sum(), (~often.fits).sum()) == (24, 40)
    assert sorted(seldom.score[seldom.fits]) == scores[:10, 2].tolist()
    assert sorted(seldom.score[~seldom.fits]) == scores[90:, 2].tolist()
    assert found.weight[found.fits].sum() == pytest.approx(FREQUENT)
    assert found.weight[~found.fits].sum() == pytest.approx(ALARM * FREQUENT)
    weights = [one.weight[one.fits].sum() for one in (often, seldom)]
    assert weights[0] / weights[1] == pytest.approx(2)


def test_typical_scores_of_matching_images():
    has = np.array([[1, 0], [1, 0], [0, 0], [0, 1]], bool)
    shares = np.array([[1, 0], [1, 0], [0, 0], [0, 0]], bool)
    scores = np.array([[9.0, 1, 5, 0], [9, 2, 6, 0], [9, 3, 7, 0], [9, 4, 8, 0]])
    kinds = np.array(["caption", "word", "word", "unknown"])
    typical, share = typical_matches(scores, kinds, has, shares)
    assert np.isnan(typical[[0, 2, 3]]).all()
    assert typical[1] == 1.5
    assert np.exp(share) == pytest.approx([0.25, 0.75, 0.5, 0.25])


def test_most_images_of_a_frequent_word_are_shown():
    """A thing that two of five images show, and other things that few do."""
    made = calibrate(*frequent_world(0)[:3], words=frequent_world(0)[3])
    pictures, _, _, words = frequent_world(1)
    fits = made.calibrated(pictures, words.vectors) >= made.cutoff
    often = words.has.mean(0) > 0.3
    assert fits[:, often][words.has[:, often]].mean() > 0.7
    assert fits[~words.has].mean() < 0.1


def test_words_are_those_in_several_captions_of_an_image():
    assert agreement(Counter({0: 3}), Counter({0: 3, 1: 3, 2: 3})) == pytest.approx(3.0)
    texts, images = [], []
    for image in range(12):
        thing = f"{'abcdefghijkl'[image]}thing"
        texts += [f"the {thing} sits", f"the {thing}", f"the {thing} {'alone' if image else 'xx'}"]
        images += [image] * 3
    table = CaptionTable(texts, np.array(images), ["en"] * 36, ["independent"] * 36)
    found = calibration_words(table, 12, ["The", "zebra", "bthing", "9"])
    assert sorted(found.words[:12]) == [f"{one}thing" for one in "abcdefghijkl"]
    assert len(found.words) == 15
    for phrase, own in zip(found.words[12:], found.has.T[12:], strict=True):
        assert phrase.startswith("a photo of a ")
        assert (own == found.has[:, found.words.index(phrase.split()[-1])]).all()
    assert any(one.startswith("a photo of a ") for one in found.unknown)
    column = found.words.index("cthing")
    assert np.flatnonzero(found.has[:, column]).tolist() == [2]
    assert (found.has == found.shares).all()
    said = {word for text in texts for word in text.split()}
    assert "zebra" in found.unknown
    assert not {"The", "9", "bthing"} & set(found.unknown[:50]) - said
    assert all(2 <= len(text.split()) <= 6 for text in found.nonsense)
    assert (
        calibration_words(table, 12, ["zebra"], seed=1).unknown
        != calibration_words(table, 12, ["zebra"]).unknown
    )


def world(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, Words]:
    """Pictures that show two of ten things; words lie elsewhere a little, nonsense wholly."""
    generator = np.random.default_rng(seed)
    fixed = np.random.default_rng(3)
    things = np.pad(fixed.normal(size=(10, 24)), [(0, 0), (0, 2)])
    shown = np.array([generator.choice(10, 2, replace=False) for _ in range(240)])

    def near(vectors: np.ndarray, noise: float = 0.4) -> np.ndarray:
        return normalise(vectors + noise * generator.normal(size=vectors.shape))

    pictures = near(things[shown].sum(1))
    image_of = np.repeat(np.arange(240), 3)
    captions = near(things[shown[image_of]].sum(1))
    single, odd = np.eye(26)[24], np.eye(26)[25]
    kind = np.arange(60) % 10
    words = near(things[kind] + 3 * single, 0.2)
    has = (shown[:, :, None] == kind).any(1)
    unknown = near(fixed.normal(size=(60, 26)) * [*[0.7] * 24, 0, 0] + 3 * single + 2 * odd, 0.2)
    nonsense = near(fixed.normal(size=(60, 26)) * [*[1.0] * 24, 0, 0] + 4 * odd, 0.2)
    return pictures, captions, image_of, Words(words, has, has, unknown, nonsense)


def frequent_world(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, Words]:
    """Pictures of one of 20 things, the first of which two in five show, in their own ways."""
    generator, fixed = np.random.default_rng(seed), np.random.default_rng(3)
    things = np.pad(fixed.normal(size=(20, 24)), [(0, 0), (0, 2)])
    shown = np.where(generator.random(300) < 0.4, 0, generator.integers(1, 20, 300))

    def near(vectors: np.ndarray, noise: float) -> np.ndarray:
        return normalise(vectors + noise * generator.normal(size=vectors.shape))

    pictures = things[shown] + 0.7 * generator.normal(size=(300, 26))
    image_of = np.repeat(np.arange(300), 3)
    captions = near(pictures[image_of], 0.3)
    single, odd = np.eye(26)[24], np.eye(26)[25]
    kind = np.arange(80) % 20
    words = near(things[kind] + 3 * single, 0.2)
    has = shown[:, None] == kind
    unknown = near(fixed.normal(size=(60, 26)) * [*[0.7] * 24, 0, 0] + 3 * single + 2 * odd, 0.2)
    nonsense = near(fixed.normal(size=(60, 26)) * [*[1.0] * 24, 0, 0] + 4 * odd, 0.2)
    return normalise(pictures), captions, image_of, Words(words, has, has, unknown, nonsense)


def test_english_words_are_translated_into_languages_without_captions(tmp_path):
    lexicon = tmp_path / "lexicon.tsv"
    lines = ["1\ten\tDog", "1\tfi\tkoira|hauva", "1\tde\tHund", "2\ten\tcat", "2\tit\tgatto"]
    lexicon.write_text("\n".join(lines) + "\n", "utf-8")
    opened, words = Lexicon.open(lexicon), [("en", "dog"), ("de", "katze"), ("en", "cat")]
    found = translated_words(words, ["en", "de"], opened, Random(0))
    assert found == ["hauva", "gatto"]  # of equally good ones the first by spelling
    assert translated_words(words, ["en", "de"], None, Random(0)) == []
    assert translated_words(words, ["en", "it", "fi"], opened, Random(0)) == ["Hund"]


def test_translated_words_are_taken_to_be_known():
    """Words of other languages, which alone would look like unknown ones."""
    pictures, captions, image_of, words = frequent_world(0)
    generator = np.random.default_rng(5)
    single, odd, other = np.eye(26)[[24, 25, 20]]
    foreign = 0.2 * generator.normal(size=(60, 26)) + 3 * single + 2 * odd + 4 * other
    foreign, held_out = np.split(normalise(foreign), 2)

    def share_known(translated: np.ndarray | None) -> tuple[float, float]:
        own = replace(words, translated=translated)
        made = calibrate(pictures, captions, image_of, words=own)
        return made.knows(held_out).mean(), made.knows(words.unknown).mean()

    without, unknown = share_known(None)
    with_them, still_unknown = share_known(foreign)
    assert without < 0.5
    assert with_them > 0.9
    assert still_unknown < 0.5
    assert share_known(foreign[:19]) == (without, unknown)  # too few


def test_a_text_that_is_hardly_known_is_said_to_be(run, pictures, model_folder, tmp_path):
    folder = tmp_path / "calibrated"
    shutil.copytree(model_folder, folder)
    vectors = normalise(np.random.default_rng(0).normal(size=(40, 16)))
    for knows, said in ((5.0, False), (-2.0, False), (-3.0, True)):
        chance = MatchProbability(0.8, np.r_[np.zeros(16), -90.0], np.r_[np.zeros(17), knows])
        add_background(folder, Background(vectors, vectors, 0.5, chance=chance))
        options = ("search", "--model", folder, pictures, "red dog")
        told = "nothing here looks like that"
        if said:
            told += f"; {HARDLY_KNOWN}"
        assert f"{told}; --all shows" in run(*options).stderr
        (query,) = json.loads(run(*options, "--json", "-").stdout)["queries"]
        assert query["message"] == told
        assert query["score_kind"] == "probability"
        assert query["cutoff"] == {"kind": "probability", "least": 0.5}
        shown = json.loads(run(*options, "--all", "--json", "-").stdout)["queries"][0]
        assert "message" not in shown
        mixed = run(*options, "--not", "snow", "--json", "-").stdout
        (query,) = json.loads(mixed)["queries"]
        assert (query["score_kind"], query["cutoff"]["kind"]) == ("standard", "probability")


def test_planted_words_sentences_and_nonsense_are_distinguished():
    made = calibrate(*world(0)[:3], words=world(0)[3])
    assert made.cutoff == 0.5
    assert made.chance is not None
    assert made.chance.slope > 0
    assert made.kept > 0.7
    assert made.refused > 0.7
    pictures, captions, image_of, words = world(1)
    fits = made.calibrated(pictures, words.vectors) >= made.cutoff
    right, wrong = fits[words.has].mean(), fits[~words.has].mean()
    assert right > 0.4
    assert wrong < 0.01
    for nothing in (words.unknown, words.nonsense):
        assert (made.calibrated(pictures[:100], nothing).max(0) >= made.cutoff).mean() < 0.2
    own = made.calibrated(pictures, captions)[image_of, np.arange(len(captions))]
    assert (own >= made.cutoff).mean() > 0.7
    plain = calibrate(*world(0)[:3])
    assert plain.chance is None
    few = replace(world(0)[3], nonsense=words.nonsense[:19])
    assert calibrate(*world(0)[:3], words=few).chance is None


def test_chances_are_kept_and_searched_with(run, pictures, model_folder: Path, tmp_path: Path):
    folder = tmp_path / "calibrated"
    shutil.copytree(model_folder, folder)
    generator = np.random.default_rng(0)
    vectors = normalise(generator.normal(size=(40, 16)))
    chance = MatchProbability(0.8, generator.normal(size=17), generator.normal(size=18))
    add_background(folder, Background(vectors, vectors, 0.5, chance=chance))
    model = load(folder)
    assert model.background.chance.slope == 0.8
    np.testing.assert_allclose(model.background.chance.known, chance.known, rtol=1e-6)
    paths = sorted(pictures.rglob("*.[pP]*"), key=lambda path: path.name)
    images, text = model.encode_images(paths), model.encode_text("red dog")
    expected = model.background.calibrated(images, text)[:, 0]
    options = ("search", "--model", folder, pictures, "red dog", "--json", "-", "--all")
    found = json.loads(run(*options).stdout)["queries"][0]
    order = np.argsort(-expected)
    assert [hit["score"] for hit in found["hits"]] == pytest.approx(expected[order], abs=5e-3)
    assert all(0 <= hit["score"] <= 1 for hit in found["hits"])
    found = json.loads(run(*options[:-1]).stdout)["queries"][0]
    assert found["hidden"] == (expected < 0.5).sum()
    wrong = MatchProbability(1.0, np.zeros(9), np.zeros(10))
    add_background(folder, Background(vectors, vectors, 0.5, chance=wrong))
    with pytest.raises(PolyglanceError, match="not of dimension 16"):
        _ = load(folder).background


def test_the_command_renews_a_background(run, tmp_path):
    _, data = trained(tmp_path, "nce", "global", "training.epochs=2")
    run("export", tmp_path / "run", "--onnx", tmp_path / "out")
    plain = load(tmp_path / "out").id
    result = run("export", tmp_path / "out", "--background", data, "--split", "train")
    assert "calibrated: on 'train', images with a score of at least" in result.stdout
    assert load(tmp_path / "out").id == plain  # embeddings are the same
    assert load(tmp_path / "out").background is not None
    with pytest.raises(PolyglanceError, match="--split needs --background DATA"):
        run("export", tmp_path / "out", "--split", "train")
    with pytest.raises(PolyglanceError, match="pass --onnx FOLDER as output"):
        run("export", tmp_path / "out")
    assert polyglance.load(tmp_path / "out").background is not None
