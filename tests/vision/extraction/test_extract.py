import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import load_dataset
from polyglance.data.dataset import CaptionedImage, Dataset
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.vision import extract_many, load_features, read_image
from polyglance.vision.extraction.extract import extract, shape_as
from polyglance.vision.extraction.store import FeatureStore
from polyglance.vision.networks.backbones import BackboneOutput
from tests.conftest import write_toy


def expected_global(backbone, paths):
    how = backbone.preprocessing
    return backbone(np.stack([how.apply(read_image(path)) for path in paths])).pooled


def test_vectors_are_in_the_order_asked_for(blocks, pictures, tmp_path):
    paths = pictures[::-1]
    features = extract(paths, "x/global", tmp_path / "cache", show_progress=False)
    assert features.problems == []
    assert (features.dim, features.form, features.computed) == (3, "global", 20)
    assert max(blocks.seen) == 8
    np.testing.assert_allclose(
        features.gather(np.arange(20)), expected_global(blocks, paths), rtol=1e-3
    )


def test_one_pass_fills_all_forms_and_global_comes_free(blocks, pictures, tmp_path):
    cache = tmp_path / "cache"
    grid, grid3 = extract_many(pictures, ["x/grid", "x/grid3"], cache, show_progress=False)
    assert sum(blocks.seen) == 20
    cells, lengths = grid.gather(np.arange(20))
    assert cells.shape == (20, 36, 3)
    assert (lengths == 36).all()
    assert grid3.lengths.tolist() == [9] * 20
    pooled = extract(pictures, "x/global", cache, show_progress=False)
    assert pooled.computed == 0
    assert sum(blocks.seen) == 20
    np.testing.assert_allclose(cells.mean(1), pooled.gather(np.arange(20)), rtol=2e-3)
    expected = cells.reshape(20, 3, 2, 3, 2, 3).mean((2, 4)).reshape(20, 9, 3)
    np.testing.assert_allclose(grid3.gather(np.arange(20))[0], expected, rtol=2e-3)


def test_a_second_call_does_only_what_is_missing(blocks, pictures, tmp_path):
    cache = tmp_path / "cache"
    first = extract(pictures[:13], "x/global", cache, show_progress=False)
    second = extract(pictures, "x/global", cache, show_progress=False)
    assert (first.computed, second.computed) == (13, 7)
    third = extract(pictures, "x/global", cache, show_progress=False)
    assert third.computed == 0
    assert third.keys == second.keys


def test_copies_are_computed_once(blocks, pictures, tmp_path):
    for number in range(3):
        shutil.copy(pictures[0], tmp_path / f"copy{number}.jpg")
    paths = [*pictures, *tmp_path.glob("copy*.jpg")]
    features = extract(paths, "x/global", tmp_path / "cache", show_progress=False)
    assert features.computed == sum(blocks.seen) == 20
    vectors = features.gather(np.array([0, 20, 21, 22]))
    assert (vectors == vectors[0]).all()


def test_bad_images_are_named_and_have_no_vector(blocks, pictures, tmp_path):
    (pictures[3]).write_bytes(pictures[3].read_bytes()[:200])
    (pictures[5]).write_bytes(b"")
    missing = tmp_path / "missing.jpg"
    paths = [*pictures, missing]
    features = extract(paths, "x/grid", tmp_path / "cache", show_progress=False)
    assert [path for path, _ in features.problems] == [pictures[3], pictures[5], missing]
    assert "truncated" in features.problems[0][1]
    assert [reason for _, reason in features.problems[1:]] == ["empty file", "no such file"]
    assert [i for i, key in enumerate(features.keys) if key is None] == [3, 5, 20]
    assert len(features.store) == 18
    again = extract(paths, "x/grid", tmp_path / "cache", show_progress=False)
    assert again.problems == features.problems
    with pytest.raises(ImageProblem, match="no such file"):
        extract(paths, "x/grid", tmp_path / "cache", show_progress=False, skip_unreadable=False)
    with pytest.raises(ImageProblem, match=r"03\.png: .*truncated"):
        extract(pictures, "x/grid", tmp_path / "cache", show_progress=False, skip_unreadable=False)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_vectors_that_cannot_be_stored_are_problems(blocks, pictures, tmp_path, monkeypatch, value):
    def run(_self, pixels):
        pooled = np.ones((len(pixels), 3), np.float32)
        pooled[0, 1] = value
        return BackboneOutput(pooled, np.ones((len(pixels), 6, 6, 3), np.float32))

    monkeypatch.setattr(type(blocks), "__call__", run)
    features = extract(pictures[:4], "x/grid", tmp_path / "cache", show_progress=False)
    assert [path for path, _ in features.problems] == [pictures[0]]
    assert "beyond float16" in features.problems[0][1]
    assert len(features.store) == 3


def test_networks_are_never_mixed(blocks, pictures, tmp_path):
    one = extract(pictures[:2], "x/global", tmp_path, show_progress=False)
    blocks.identity = "other"
    two = extract(pictures[:2], "x/global", tmp_path, show_progress=False)
    assert one.store.folder != two.store.folder
    assert two.computed == 2


def test_progress_names_the_rate(blocks, pictures, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("polyglance.core.progress.LOG_EVERY_SECONDS", -1.0)
    extract(pictures, "x/global", tmp_path / "cache")
    assert "features 20/20" in capsys.readouterr().err


def test_nothing_to_do_and_wrong_batch_size(blocks, tmp_path):
    assert len(extract([], "x/global", tmp_path, show_progress=False)) == 0
    with pytest.raises(PolyglanceError, match="batch size 0"):
        extract([], "x/global", tmp_path, batch_size=0)


def test_grid_of_a_network_without_one():
    with pytest.raises(PolyglanceError, match="no grid"):
        shape_as(BackboneOutput(np.ones((1, 3)), None), "grid")


SLOW = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from conftest import Blocks
import polyglance.vision.extraction.extract as module

class Slow(Blocks):
    def __call__(self, pixels):
        time.sleep(0.05)
        return super().__call__(pixels)

module.open_backbone = lambda name, cache: Slow()
module.extract(sorted(Path(sys.argv[1]).iterdir()), "x/grid", Path(sys.argv[2]), batch_size=2)
"""


def test_kill_9_in_the_middle_loses_at_most_a_batch(blocks, pictures, tmp_path):
    index = tmp_path / "cache" / "features" / "blocks-p1" / "grid" / "index.jsonl"
    source = Path(sys.modules["polyglance"].__file__).parents[1]
    command = [sys.executable, "-c", SLOW, pictures[0].parent, tmp_path / "cache"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    process = subprocess.Popen([*command, Path(__file__).parents[1]], env=environment)
    while process.poll() is None and not (index.exists() and index.read_bytes().count(b"\n") >= 6):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    stored = len(FeatureStore.open(index.parent))
    assert 6 <= stored < 20
    resumed = extract(pictures, "x/grid", tmp_path / "cache", show_progress=False)
    assert resumed.computed == 20 - stored
    fresh = extract(pictures, "x/grid", tmp_path / "fresh", show_progress=False)
    for one, other in zip(resumed.gather(np.arange(20)), fresh.gather(np.arange(20)), strict=True):
        np.testing.assert_array_equal(one, other)


def photographs(paths, root=None):
    photos = [CaptionedImage(path.name, "train", {}) for path in paths]
    return Dataset(photos, paths[0].parent, "test", root)


def test_load_features_extracts(blocks, pictures, tmp_path):
    features = load_features(photographs(pictures), "x/global", tmp_path, show_progress=False)
    assert len(features) == features.computed == 20


def test_load_features_reads_imported_ones(pictures, tmp_path):
    dataset = photographs(pictures[:3], tmp_path)
    with FeatureStore.create(tmp_path / "features" / "butd", 2, "set", "import") as store:
        store.append(pictures[2].name, np.array([[1, 2], [3, 4]]))
        store.append(pictures[0].name, np.array([[5, 6]]))
    features = load_features(dataset, "imported/butd")
    assert features.keys == ["00.png", None, "02.png"]
    assert features.problems == [(pictures[1], "not in 'imported/butd'")]
    vectors, lengths = features.gather(np.array([0, 2]))
    assert vectors.tolist() == [[[5, 6], [0, 0]], [[1, 2], [3, 4]]]
    assert lengths.tolist() == [1, 2]
    with pytest.raises(PolyglanceError, match=r"no imported features 'butt' \(did you mean 'butd'"):
        load_features(dataset, "imported/butt")
    with pytest.raises(PolyglanceError, match="exists only in a dataset folder"):
        load_features(photographs(pictures), "imported/butd")


def test_damaged_vectors_are_computed_again_and_only_they(blocks, pictures, tmp_path):
    """Issue 23: flipped bytes went unnoticed, and a NaN was blamed on training."""
    cache = tmp_path / "cache"
    names = ["x/global", "x/grid"]
    before = [f.gather(np.arange(20)) for f in extract_many(pictures, names, cache)]
    for path in cache.rglob("vectors.f16"):
        data = bytearray(path.read_bytes())
        data[1] = 0x7F  # NaN, or nearly
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    blocks.seen.clear()
    again = extract_many(pictures, names, cache, show_progress=False)
    assert sum(blocks.seen) == again[0].computed == 2
    np.testing.assert_array_equal(again[0].gather(np.arange(20)), before[0])
    np.testing.assert_array_equal(again[1].gather(np.arange(20))[0], before[1][0])
    assert extract(pictures, "x/grid", cache, show_progress=False).computed == 0


def test_damaged_imported_features_are_an_error(tmp_path):
    toy = write_toy(tmp_path / "toy", photos=8)
    path = toy / "features" / "toy" / "vectors.f16"
    data = bytearray(path.read_bytes())
    data[40] ^= 4
    path.write_bytes(data)
    with pytest.raises(PolyglanceError, match=r"the features of '0001\.jpg' are damaged"):
        load_features(load_dataset(toy), "imported/toy")
