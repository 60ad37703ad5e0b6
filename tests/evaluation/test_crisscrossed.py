"""Crisscrossed Captions: files, matches, recalls and correlations against loops."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import CaptionedImage, Dataset, load_dataset
from polyglance.data.crisscrossed import Ratings, read_crisscrossed
from polyglance.errors import PolyglanceError
from polyglance.evaluation.crisscrossed import (
    correlate,
    evaluate_crisscrossed,
    matches,
    recall,
    spearman,
)
from tests.conftest import write_toy
from tests.training.runs import run

NAMES = [f"COCO_val2014_{n:012}.jpg" for n in range(4)]


def write(folder: Path, names: list[str] = NAMES, captions: int = 2) -> Path:
    """The files of CxC's repository for a few images, sentids from 100 on."""
    folder.mkdir(parents=True, exist_ok=True)
    sentences = [
        [{"sentid": 100 + captions * i + j, "raw": f"text {i} {j}"} for j in range(captions)]
        for i in range(len(names))
    ]
    rows = [
        {"filename": name, "split": "test", "sentences": own}
        for name, own in zip(names, sentences, strict=True)
    ]
    rows.append({"filename": "other.jpg", "split": "train", "sentences": []})
    (folder / "dataset_coco.json").write_text(json.dumps({"images": rows}))
    a, b, c, d, e = (f"COCO_val2014:sentid:{number}" for number in (100, 101, 103, 104, 106))
    tables = {
        "sits": [("caption", "image"), (a, names[1], 3.0), (c, names[0], 2.9)],
        "sts": [("caption1", "caption2"), (a, d, 4.2), (b, e, 1)],
        "sis": [("image1", "image2"), (names[0], names[2], 2.5), (names[1], names[3], 2.4)],
    }
    for task, (columns, *pairs) in tables.items():
        lines = [",".join([*columns, "agg_score", "sampling_method"])]
        lines += [f"{first},{second},{score},x" for first, second, score in pairs]
        (folder / f"{task}_test.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_the_files_are_read(tmp_path: Path) -> None:
    found = read_crisscrossed(write(tmp_path))
    assert found.images == NAMES
    assert found.texts[3] == "text 1 1"
    assert found.caption_image.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    sits = found.ratings["sits"]
    assert (sits.first.tolist(), sits.second.tolist()) == ([0, 3], [1, 0])
    assert sits.score.tolist() == [3.0, 2.9]
    assert found.ratings["sts"].second.tolist() == [4, 6]


def test_matches_are_pairs_that_were_rated_high_and_those_of_coco(tmp_path: Path) -> None:
    found = read_crisscrossed(write(tmp_path))
    listed = {way: [own.tolist() for own in matches(found, way)] for way in ("t2i", "i2t")}
    assert listed["t2i"] == [[0, 1], [0], [1], [1], [2], [2], [3], [3]]
    assert listed["i2t"] == [[0, 1], [0, 2, 3], [4, 5], [6, 7]]
    texts = [own.tolist() for own in matches(found, "t2t")]
    assert texts == [[1, 4], [0], [3], [2], [0, 5], [4], [7], [6]]
    assert [own.tolist() for own in matches(found, "i2i")] == [[2], [], [0], []]


def test_recalls_are_those_of_a_loop() -> None:
    generator = np.random.default_rng(0)
    queries, items = (generator.normal(size=(n, 5)).astype(np.float32) for n in (700, 90))
    positives = [generator.choice(90, generator.integers(3), replace=False) for _ in queries]
    ranks = []
    for query, own in zip(queries, positives, strict=True):
        order = np.argsort(-(query @ items.T), kind="stable").tolist()
        if len(own):
            ranks.append(min(order.index(item) for item in own))
    found = recall(queries, items, positives)
    assert found.queries == len(ranks)
    for k in (1, 5, 10):
        expected = 100 * np.mean(np.array(ranks) < k)
        assert getattr(found, f"r{k}") == pytest.approx(expected)


def test_a_query_does_not_find_itself_and_ties_are_in_order() -> None:
    same = np.ones((4, 2), np.float32)
    found = recall(same, same, [np.array([1]), np.array([0]), np.array([3]), np.array([])], True)
    # Query 0 finds item 1 first, query 1 item 0; query 2 has 0 and 1 before item 3.
    assert (found.queries, found.r1, found.r5) == (3, pytest.approx(200 / 3), 100.0)


def test_spearman_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(1)
    first, second = generator.integers(0, 6, (2, 50)).astype(float)
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert spearman(first, np.ones(50)) == 0.0


def test_correlations_are_of_one_pair_a_query() -> None:
    generator = np.random.default_rng(2)
    queries = generator.normal(size=(30, 4))
    items = generator.normal(size=(20, 4))
    first, second = generator.integers(30, size=300), generator.integers(20, size=300)
    true = np.einsum("nd,nd->n", queries[first], items[second])
    perfect = correlate(queries, items, Ratings(first, second, true), rounds=20)
    assert (perfect.mean, perfect.deviation) == (pytest.approx(1), pytest.approx(0))
    assert perfect.pairs == 300
    opposite = correlate(queries, items, Ratings(first, second, -true), rounds=20)
    assert opposite.mean == pytest.approx(-1)
    noise = correlate(queries, items, Ratings(first, second, generator.normal(size=300)))
    assert abs(noise.mean) < 0.2
    # Half of 30 queries: the deviation is that of 15 pairs, not of 300.
    assert 0.15 < noise.deviation < 0.4


class Planted:
    """Images and texts at known places."""

    similarity_name = "cosine"

    def __init__(self, images: np.ndarray, texts: np.ndarray) -> None:
        self.images, self.texts = images, texts

    def encode_text(self, texts, language=None, **_):
        return self.texts

    def encode_dataset(self, dataset, **_):
        return self.images[[int(entry.image[-5]) for entry in dataset.images]]


def test_a_planted_model(tmp_path: Path) -> None:
    ratings = read_crisscrossed(write(tmp_path))
    images = [CaptionedImage(name, "test", {}) for name in reversed(NAMES)]
    dataset = Dataset(images, Path("images"), "coco")
    corners = np.eye(4)
    corners[2] = [0.6, 0, 0.8, 0]
    model = Planted(corners, np.repeat(corners, 2, axis=0))
    found = evaluate_crisscrossed(model, dataset, ratings)
    assert {way: own.r1 for way, own in found.recalls.items()} == dict.fromkeys(found.recalls, 100)
    assert found.recalls["i2i"].queries == 2
    assert found.as_dict()["correlations"]["sis"]["pairs"] == 2
    with pytest.raises(PolyglanceError, match="lacks 1 of the 4 rated images"):
        evaluate_crisscrossed(model, Dataset(images[1:], Path("i"), "coco"), ratings)
    model.similarity_name = "order"
    with pytest.raises(PolyglanceError, match="a model of similarity 'order'"):
        evaluate_crisscrossed(model, dataset, ratings)


def test_the_command(tmp_path: Path) -> None:
    data = write_toy(tmp_path / "toy")
    run(data, tmp_path / "run")
    names = [entry.image for entry in load_dataset(data).split("test").images]
    folder = write(tmp_path / "cxc", names)
    words = ["evaluate", str(tmp_path / "run"), "--data", str(data), "--crisscrossed", str(folder)]
    out = tmp_path / "out.json"
    result = CliRunner().invoke(app, [*words, "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert "SITS" in result.output
    value = json.loads(out.read_text())[0]
    assert value["recalls"]["t2i"]["queries"] == 2 * len(names)
    assert set(value["correlations"]) == {"sits", "sts", "sis"}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("sits_test.csv", "caption,image\na,b\n", "has no column 'agg_score'"),
        ("sits_test.csv", "caption,image,agg_score\nx:1,b,3\n", "line 2: caption 'x:1' is not in"),
        ("sis_test.csv", f"image1,image2,agg_score\n{NAMES[0]},{NAMES[1]},high\n", "not a number"),
        ("sts_test.csv", "caption1,caption2,agg_score\n", "has no rated pair"),
        ("dataset_coco.json", '{"images": [{"split": "test"}]}', r"images\[0\]: needs filename"),
        ("dataset_coco.json", '{"images": []}', "no image of split 'test'"),
        ("dataset_coco.json", "[]", "not Karpathy's layout"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path: Path, file: str, text: str, message: str) -> None:
    write(tmp_path)
    (tmp_path / file).write_text(text)
    with pytest.raises(PolyglanceError, match=message):
        read_crisscrossed(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "sis_test.csv").unlink()
    with pytest.raises(PolyglanceError, match=r"sis_test.csv"):
        read_crisscrossed(tmp_path)
