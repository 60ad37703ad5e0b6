"""Ranks that are counted on a device are those of the CPU, to the last tie."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from polyglance.errors import PolyglanceError
from polyglance.evaluation import rank_both
from polyglance.evaluation.ranking.on_device import DotOnDevice, score_on_device
from polyglance.numerics.similarity import dot, order
from tests.devices.pretend import pretend_gpu

SIZES = [(1, 1, 3), (7, 7, 2), (5, 23, 3), (40, 101, 2)]


def embeddings(
    images: int, captions: int, values: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small whole numbers, whose products are exact and often equal; every image has a caption."""
    rng = np.random.default_rng([images, captions, values])
    owner = np.r_[np.arange(images), rng.integers(0, images, captions - images)]
    shown, said = (rng.integers(0, values, (n, 4)).astype(np.float32) for n in (images, captions))
    return shown, said, rng.permutation(owner)


def through_torch(images: np.ndarray, captions: np.ndarray) -> np.ndarray:
    return (torch.from_numpy(images) @ torch.from_numpy(captions).T).numpy()


@pytest.mark.parametrize("chunk", [(3, 8), (2048, 4096)])
@pytest.mark.parametrize("sizes", SIZES)
def test_ties_fall_alike(sizes: tuple[int, int, int], chunk: tuple[int, int]) -> None:
    given, moved = embeddings(*sizes), []
    wanted = rank_both(*given)
    here = rank_both(*given, DotOnDevice(torch.device("cpu")), chunk, moved.append)
    np.testing.assert_array_equal(here.image_to_text, wanted.image_to_text)
    np.testing.assert_array_equal(here.text_to_image, wanted.text_to_image)
    assert sum(moved) == sizes[1]


def test_products_of_any_numbers_are_ranked_as_they_are() -> None:
    rng = np.random.default_rng(0)
    images, captions = (rng.normal(size=(n, 16)).astype(np.float32) for n in (30, 90))
    owner, chunk = np.arange(90) % 30, (8, 32)
    wanted = rank_both(images, captions, owner, through_torch, chunk)
    found = rank_both(images, captions, owner, DotOnDevice(torch.device("cpu")), chunk)
    np.testing.assert_array_equal(found.image_to_text, wanted.image_to_text)
    np.testing.assert_array_equal(found.text_to_image, wanted.text_to_image)


def test_nothing_meets_another_device() -> None:
    given = embeddings(5, 23, 3)
    wanted = rank_both(*given)
    with pretend_gpu():
        found = rank_both(*given, DotOnDevice(torch.device("cuda:0")), (3, 8))
    np.testing.assert_array_equal(found.image_to_text, wanted.image_to_text)
    np.testing.assert_array_equal(found.text_to_image, wanted.text_to_image)


def test_nan_is_refused() -> None:
    images, captions, owner = embeddings(5, 23, 3)
    images[2, 0] = np.nan
    with pytest.raises(PolyglanceError, match="the scores contain NaN"):
        rank_both(images, captions, owner, DotOnDevice(torch.device("cpu")))


def test_only_products_of_models_elsewhere_are_ranked_there() -> None:
    cpu, gpu = (SimpleNamespace(device=torch.device(name)) for name in ("cpu", "cuda:0"))
    assert score_on_device(cpu, dot) is score_on_device(object(), dot) is dot
    assert score_on_device(gpu, order) is order
    assert isinstance(score_on_device(gpu, dot), DotOnDevice)
