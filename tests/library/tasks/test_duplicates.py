"""Duplicates: equal files, and images that look alike."""

import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polyglance.library import sync
from polyglance.library.media.perceptual_hash import differing_bits, perceptual_hash
from polyglance.library.tasks import duplicates as module
from polyglance.library.tasks.duplicates import BITS, find_duplicates
from tests.library.fakes import library_of, save

pytest.importorskip("lancedb")


def smooth(number: int, size: tuple[int, int] = (400, 300)) -> Image.Image:
    """Soft patches: more like a photograph than noise."""
    patches = np.random.default_rng(number).integers(0, 256, (4, 5, 3), np.uint8)
    return Image.fromarray(patches).resize(size, Image.Resampling.BICUBIC)


def test_copies_of_an_image_have_nearly_the_same_hash() -> None:
    first = smooth(1)
    small = first.resize((120, 90))
    brighter = first.point(lambda value: min(255, value + 12))
    others = [small, brighter]
    assert [
        bin(perceptual_hash(first) ^ perceptual_hash(other)).count("1") <= BITS for other in others
    ] == [True] * 2
    distances = [
        bin(perceptual_hash(smooth(a)) ^ perceptual_hash(smooth(a + 1))).count("1")
        for a in range(20)
    ]
    assert min(distances) > 20


def test_differing_bits() -> None:
    values = np.random.default_rng(0).integers(0, 2**63, 40, np.uint64)
    found = differing_bits(values, values[:30])
    expected = [[bin(int(a) ^ int(b)).count("1") for b in values[:30]] for a in values]
    assert found.tolist() == expected


def close_pairs(hashes: np.ndarray, vectors: np.ndarray, bits: int, least: float) -> set[frozenset]:
    """By brute force."""
    return {
        frozenset([a, b])
        for a in range(len(hashes))
        for b in range(a)
        if bin(int(hashes[a]) ^ int(hashes[b])).count("1") <= bits
        and float(vectors[a] @ vectors[b]) >= least
    }


@pytest.mark.parametrize("across", [7, 20, 1000])
def test_groups_are_those_of_brute_force(across: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 7)
    monkeypatch.setattr(module, "ACROSS", across)
    monkeypatch.setattr(module, "PAIRS", 5)
    generator = np.random.default_rng(0)
    hashes = generator.integers(0, 2**12, 60, np.uint64)
    vectors = generator.normal(size=(60, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = [{row} for row in range(60)]
    pairs = close_pairs(hashes, vectors, 2, 0.5)
    for pair in pairs:
        touched = [group for group in expected if group & pair]
        expected = [group for group in expected if not group & pair] + [set().union(*touched)]
    groups = sorted(sorted(group) for group in expected if len(group) > 1)
    assert module._groups(hashes, vectors, 2, 0.5) == groups
    assert len(groups) > 2
    near = close_pairs(hashes, np.ones((60, 1)), 2, 0.5)
    assert set(np.flatnonzero(module._has_near(hashes, 2, False))) == set().union(*near)


def test_many_images_that_look_alike_take_little_memory() -> None:
    count = 3000  # 4.5 million pairs
    vectors = np.ones((count, 1), np.float32)
    tracemalloc.start()
    try:
        found = module._groups(np.zeros(count, np.uint64), vectors, 10, 0.95)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [list(range(count))]
    assert peak < 80e6


def test_groups(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    save(folder / "other.png", 5)
    smooth(1).save(folder / "a.png")
    shutil.copy(folder / "a.png", folder / "b.png")
    smooth(1).resize((200, 150)).save(folder / "small.jpg", quality=60)
    smooth(2).save(folder / "different.png")
    library = library_of(tmp_path / "library", folder)
    sync(library)
    found = find_duplicates(library)
    named = [(g.exact, [Path(r.path).name for r in g.records]) for g in found]
    assert named == [(True, ["a.png", "b.png"]), (False, ["a.png", "small.jpg"])]
    first, second = library.store.vectors([record.id for record in found[1].records])
    assert found[1].similarity == round(float(first @ second), 4) >= 0.95
    assert [group.exact for group in find_duplicates(library, near=False)] == [True]
    assert len(find_duplicates(library, bits=64, similarity=-1)) == 2
    assert [len(g.records) for g in find_duplicates(library, bits=64, similarity=-1)] == [2, 4]
