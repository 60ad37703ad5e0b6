import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.vision.extraction.store import INDEX, META, VECTORS, FeatureStore


def filled(folder: Path, sizes: list[int], dim: int = 3) -> dict[str, np.ndarray]:
    """A store with a set of `sizes[i]` vectors under each key, and what it must hold."""
    rng = np.random.default_rng(0)
    expected = {f"k{i}": rng.normal(size=(n, dim)).astype(np.float16) for i, n in enumerate(sizes)}
    with FeatureStore.create(folder, dim, "set", "test") as store:
        store.append_many(expected.items())
    return expected


def test_round_trip(tmp_path):
    expected = filled(tmp_path / "s", [2, 1, 4])
    store = FeatureStore.open(tmp_path / "s")
    assert store.keys() == list(expected)
    assert (len(store), store.dim, store.form) == (3, 3, "set")
    for key, vectors in expected.items():
        assert key in store
        np.testing.assert_array_equal(store.get(key), vectors)
    start, count = store.rows(["k2", "k0"])
    assert start.tolist() == [3, 0]
    assert count.tolist() == [4, 2]
    assert start.dtype == count.dtype == np.int64
    np.testing.assert_array_equal(store.vectors, np.concatenate(list(expected.values())))
    assert isinstance(store.vectors, np.memmap)
    assert (tmp_path / "s" / VECTORS).stat().st_size == 7 * 3 * 2


def test_what_is_pending_can_be_read(tmp_path):
    store = FeatureStore.create(tmp_path / "s", 2, "global", "test")
    assert store.vectors.shape == (0, 2)
    store.append("é\udcff\n", np.array([[1, 2]]))
    assert "é\udcff\n" in store
    assert len(FeatureStore.open(tmp_path / "s")) == 0
    assert store.get("é\udcff\n").tolist() == [[1, 2]]
    assert FeatureStore.open(tmp_path / "s").keys() == ["é\udcff\n"]


def test_large_appends_flush_on_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("polyglance.vision.extraction.store.FLUSH_BYTES", 100)
    store = FeatureStore.create(tmp_path / "s", 10, "set", "test")
    store.append("a", np.ones((4, 10)))
    assert len(FeatureStore.open(tmp_path / "s")) == 0
    store.append("b", np.ones((4, 10)))
    assert len(FeatureStore.open(tmp_path / "s")) == 2


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    cut_vectors=st.floats(0, 1) | st.just(1.0),
    cut_index=st.floats(0, 1),
    garbage=st.binary(max_size=20),
)
def test_any_torn_tail_leaves_a_right_prefix(
    tmp_path_factory, sizes, cut_vectors, cut_index, garbage
):
    folder = tmp_path_factory.mktemp("torn") / "s"
    expected = filled(folder, sizes)
    vectors, index = (folder / VECTORS).read_bytes(), (folder / INDEX).read_bytes()
    left = round(cut_vectors * len(vectors))
    (folder / VECTORS).write_bytes(vectors[:left] + (garbage if left == len(vectors) else b""))
    (folder / INDEX).write_bytes(index[: round(cut_index * len(index))] + garbage)
    store = FeatureStore.open(folder)
    kept = store.keys()
    lines = index[: round(cut_index * len(index))].count(b"\n")
    whole = sum(sum(sizes[: i + 1]) * 6 <= left for i in range(len(sizes)))
    assert kept == list(expected)[: min(lines, whole)]
    store.append("new", np.full((2, 3), 7))
    store.flush()
    again = FeatureStore.open(folder)
    assert again.keys() == [*kept, "new"]
    for key in kept:
        np.testing.assert_array_equal(again.get(key), expected[key])
    assert again.get("new").tolist() == [[7, 7, 7], [7, 7, 7]]


def test_vectors_without_a_line_are_overwritten(tmp_path):
    filled(tmp_path / "s", [1, 2])
    with (tmp_path / "s" / VECTORS).open("ab") as handle:
        handle.write(b"\x01" * 17)
    with (tmp_path / "s" / INDEX).open("ab") as handle:
        handle.write(b'{"key": "torn", "sta')
    with FeatureStore.open(tmp_path / "s") as store:
        assert store.keys() == ["k0", "k1"]
        store.append("k2", np.array([[1, 2, 3]]))
    assert FeatureStore.open(tmp_path / "s").get("k2").tolist() == [[1, 2, 3]]
    assert (tmp_path / "s" / VECTORS).stat().st_size == 4 * 6
    assert (tmp_path / "s" / INDEX).read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((1, 4)), r"'x': features of shape \(1, 4\) do not fit"),
        (np.ones(3), "do not fit"),
        (np.ones((0, 3)), "do not fit"),
        (np.array([[1, np.nan, 2]]), "'x': the features contain NaN"),
        (np.array([[1, -np.inf, 2]]), "'x': the features contain NaN or infinity"),
        (np.array([[1, -70000, 2]]), "'x': the feature value 70000 exceeds float16"),
    ],
)
def test_bad_vectors_are_refused_by_name(tmp_path, vectors, message):
    store = FeatureStore.create(tmp_path / "s", 3, "set", "test")
    with pytest.raises(PolyglanceError, match=message):
        store.append("x", vectors)
    assert len(store) == 0


def test_global_holds_one_vector_and_keys_are_unique(tmp_path):
    store = FeatureStore.create(tmp_path / "s", 3, "global", "test")
    with pytest.raises(PolyglanceError, match="one vector, not 2"):
        store.append("x", np.ones((2, 3)))
    store.append("x", np.ones((1, 3)))
    with pytest.raises(PolyglanceError, match="'x' is already stored"):
        store.append("x", np.ones((1, 3)))
    with pytest.raises(PolyglanceError, match="no features for 'y'"):
        store.get("y")


def test_another_content_is_refused(tmp_path):
    FeatureStore.create(tmp_path / "s", 3, "global", "one")
    FeatureStore.open_or_create(tmp_path / "s", 3, "global", "one")
    with pytest.raises(PolyglanceError, match=r"contains 'one' .*, not 'two'"):
        FeatureStore.open_or_create(tmp_path / "s", 3, "global", "two")
    with pytest.raises(PolyglanceError, match=r"dimension 3.*dimension 4"):
        FeatureStore.open_or_create(tmp_path / "s", 4, "global", "one")
    with pytest.raises(PolyglanceError, match="already exists"):
        FeatureStore.create(tmp_path / "s", 3, "global", "one")
    with pytest.raises(PolyglanceError, match="not a feature store"):
        FeatureStore.open(tmp_path)


@pytest.mark.parametrize("meta", ["{", "[]", '{"dim": 3}', '{"dim": "x", "form": "global"}'])
def test_damaged_meta_is_an_error(tmp_path, meta):
    filled(tmp_path / "s", [1])
    (tmp_path / "s" / META).write_text(meta)
    with pytest.raises(PolyglanceError, match=META):
        FeatureStore.open(tmp_path / "s")


def test_missing_vectors_are_an_error(tmp_path):
    filled(tmp_path / "s", [1])
    (tmp_path / "s" / VECTORS).unlink()
    with pytest.raises(PolyglanceError, match="damaged"):
        FeatureStore.open(tmp_path / "s")


def write_interleaved(folder: Path, name: int) -> None:
    store = FeatureStore.open(folder)
    for i in range(40):
        store.append(f"{name}-{i}", np.full((1 + i % 3, 2), 100 * name + i))
        if f"shared-{i}" not in store:
            store.append(f"shared-{i}", np.full((1, 2), i))
        store.flush()


def test_two_writers_take_turns(tmp_path):
    FeatureStore.create(tmp_path / "s", 2, "set", "test")
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_interleaved, args=(tmp_path / "s", n)) for n in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    store = FeatureStore.open(tmp_path / "s")
    assert len(store) == 120
    for name in (1, 2):
        for i in range(40):
            assert store.get(f"{name}-{i}").tolist() == [[100 * name + i] * 2] * (1 + i % 3)
    assert all(store.get(f"shared-{i}").tolist() == [[i, i]] for i in range(40))


def flip(folder: Path, place: int, mask: int = 0xFF) -> None:
    data = bytearray((folder / VECTORS).read_bytes())
    data[place] ^= mask
    (folder / VECTORS).write_bytes(data)


@settings(max_examples=30, deadline=None)
@given(place=st.integers(0, 7 * 3 * 2 - 1), bit=st.integers(0, 7))
def test_every_flipped_bit_is_found_and_only_its_image_recomputed(tmp_path_factory, place, bit):
    folder = tmp_path_factory.mktemp("store") / "s"
    expected = filled(folder, [2, 1, 4])
    flip(folder, place, 1 << bit)
    owner = "k0" if place < 12 else "k1" if place < 18 else "k2"
    store = FeatureStore.open(folder)
    assert store.damaged(expected) == [owner]
    with pytest.raises(PolyglanceError, match=f"the features of '{owner}' are damaged"):
        store.get(owner)
    store.forget([owner])
    assert owner not in store
    store.append_many([(owner, expected[owner])])
    for one in (store, FeatureStore.open(folder)):
        assert one.damaged(expected) == []
        assert sorted(one.keys()) == sorted(expected)
        for key, vectors in expected.items():
            np.testing.assert_array_equal(one.get(key), vectors)
    assert (folder / VECTORS).stat().st_size == (7 + len(expected[owner])) * 6


def test_two_that_repair_the_same_image_write_it_once(tmp_path):
    expected = filled(tmp_path / "s", [1, 1])
    flip(tmp_path / "s", 0)
    first, second = (FeatureStore.open(tmp_path / "s") for _ in range(2))
    for store in (first, second):
        store.forget(store.damaged(expected))
        store.append_many([("k0", expected["k0"])])
    assert len((tmp_path / "s" / INDEX).read_text().splitlines()) == 3
    np.testing.assert_array_equal(second.get("k0"), expected["k0"])


def test_a_store_without_checksums_is_read_and_nan_in_it_is_damage(tmp_path):
    """As version 0.1.0 wrote it."""
    expected = filled(tmp_path / "s", [1, 1])
    lines = [json.loads(line) for line in (tmp_path / "s" / INDEX).read_text().splitlines()]
    old = [{name: line[name] for name in ("key", "start", "count")} for line in lines]
    (tmp_path / "s" / INDEX).write_text("".join(json.dumps(line) + "\n" for line in old))
    store = FeatureStore.open(tmp_path / "s")
    np.testing.assert_array_equal(store.get("k1"), expected["k1"])
    vectors = np.fromfile(tmp_path / "s" / VECTORS, np.float16)
    vectors[4] = np.nan
    vectors.tofile(tmp_path / "s" / VECTORS)
    assert FeatureStore.open(tmp_path / "s").damaged(expected) == ["k1"]


def resident(path):
    """Bytes of a file's mapping that count as this process's memory."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if line[0] in "0123456789abcdef":
            ours = line.endswith(str(path))
        elif ours and line.startswith("Rss:"):
            total += 1024 * int(line.split()[1])
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").is_file(), reason="needs Linux")
def test_a_large_store_does_not_stay_in_memory(tmp_path, monkeypatch):
    """Pages of vectors that were read are given back, and what is read later is right."""
    from polyglance.vision.extraction.features import Features

    values = np.random.default_rng(0).normal(size=(64, 4, 2048)).astype(np.float16)
    with FeatureStore.create(tmp_path / "s", 2048, "set", "example") as store:
        store.append_many((str(n), one) for n, one in enumerate(values))
    path = (tmp_path / "s" / "vectors.f16").resolve()
    features = Features("imported/s", store, [str(n) for n in range(64)])
    kept = {}
    for limit in (1 << 40, 1 << 18):
        monkeypatch.setattr("polyglance.vision.extraction.store.MAPPED_BYTES", limit)
        for first in range(0, 64, 8):
            rows = np.arange(first, first + 8)
            found, _ = features.gather_set(rows, np.float16)
            np.testing.assert_array_equal(found, values[rows])
        kept[limit] = resident(path)
    assert kept[1 << 40] >= values.nbytes
    assert kept[1 << 18] <= values.nbytes / 2
