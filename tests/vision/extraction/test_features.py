import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.features import Features, parse_feature, pool_grid
from polyglance.vision.extraction.store import FeatureStore


def make(folder, sizes, form="set"):
    store = FeatureStore.create(folder, 2, form, "test")
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(n, 2)).astype(np.float16) for n in sizes]
    store.append_many((f"k{i}", vectors) for i, vectors in enumerate(sets))
    return store, sets


def test_gather_pads_sets_with_zeros(tmp_path):
    store, sets = make(tmp_path / "s", [3, 1, 2])
    features = Features("f", store, ["k2", None, "k0", "k1"])
    assert features.lengths.tolist() == [2, 0, 3, 1]
    assert features.available.tolist() == [True, False, True, True]
    vectors, lengths = features.gather(np.array([3, 2, 3]))
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, 3, 2)
    assert lengths.tolist() == [1, 3, 1]
    np.testing.assert_array_equal(vectors[1], sets[0])
    for row in (0, 2):
        np.testing.assert_array_equal(vectors[row, :1], sets[1])
        assert (vectors[row, 1:] == 0).all()
    empty, none = features.gather(np.array([], np.int64))
    assert empty.shape == (0, 0, 2)
    assert none.shape == (0,)


def test_gather_global(tmp_path):
    store, sets = make(tmp_path / "s", [1, 1, 1], "global")
    features = Features("f", store, ["k1", "k0", "k1"])
    assert (features.form, features.dim, len(features)) == ("global", 2, 3)
    vectors = features.gather(np.array([2, 1]))
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.concatenate([sets[1], sets[0]]))


def test_gathering_an_image_without_features_is_an_error(tmp_path):
    store, _ = make(tmp_path / "s", [1, 1], "global")
    features = Features("f", store, ["k0", None])
    with pytest.raises(PolyglanceError, match="image 1 has no features"):
        features.gather(np.array([0, 1]))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("efficientnet-lite2/global", ("efficientnet-lite2", "global")),
        ("efficientnet-lite2/grid12", ("efficientnet-lite2", "grid12")),
        ("timm:vit@/x/y.pth/grid", ("timm:vit@/x/y.pth", "grid")),
    ],
)
def test_feature_names(name, parts):
    assert parse_feature(name) == parts


@pytest.mark.parametrize("name", ["", "global", "/grid", "a/", "a/grid0", "a/gridx", "a/Global"])
def test_wrong_feature_names(name):
    with pytest.raises(PolyglanceError, match="expected EXTRACTOR/global"):
        parse_feature(name)


def test_grid3_is_the_mean_of_blocks():
    grid = np.random.default_rng(0).normal(size=(2, 9, 9, 5))
    expected = grid.reshape(2, 3, 3, 3, 3, 5).mean((2, 4))
    np.testing.assert_allclose(pool_grid(grid, 3), expected, atol=1e-12)
    with pytest.raises(PolyglanceError, match="grid10: the network's grid is only 9×9"):
        pool_grid(grid, 10)


@settings(max_examples=30, deadline=None)
@given(height=st.integers(1, 12), width=st.integers(1, 12), data=st.data())
def test_pooling_equals_torch(height, width, data):
    torch = pytest.importorskip("torch")
    side = data.draw(st.integers(1, min(height, width)))
    grid = np.random.default_rng(0).normal(size=(2, height, width, 3))
    reference = torch.nn.functional.adaptive_avg_pool2d(
        torch.from_numpy(grid).permute(0, 3, 1, 2), side
    )
    np.testing.assert_allclose(
        pool_grid(grid, side), reference.permute(0, 2, 3, 1).numpy(), atol=1e-12
    )
