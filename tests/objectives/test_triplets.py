"""Triplets and neighbourhoods of tuples, against loops over every sentence."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.models.networks.similarity import l2
from polyglance.objectives import across_languages, build_objective, match_images, same_language
from polyglance.objectives.triplets import distance
from polyglance.recipes.schema import TripletsRecipe


def batch(seed: int, languages: int, photos: int, captions: int):
    generator = np.random.default_rng(seed)
    sentences = l2(torch.from_numpy(generator.normal(size=(languages, photos, captions, 3))))
    images = l2(torch.from_numpy(generator.normal(size=(photos, 3))))
    has = torch.from_numpy(generator.random((languages, photos)) < 0.7)
    return sentences * has[:, :, None, None], images, has


def apart(a: torch.Tensor, b: torch.Tensor, kind: str) -> float:
    cosine = float(a @ b)
    return 1 - cosine if kind == "cosine" else math.sqrt(2 - 2 * cosine + 1e-4)


def worst(positive: float, negatives: list[float], recipe: TripletsRecipe) -> float:
    hinges = sorted((max(0.0, recipe.margin + positive - n) for n in negatives), reverse=True)
    chosen = hinges[: recipe.top]
    return sum(chosen) / len(chosen) if chosen else 0.0


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def matching_by_loops(sentences, images, has, recipe: TripletsRecipe) -> float:
    languages, photos, captions, _ = sentences.shape
    totals = []
    for one in range(languages):
        values = []
        for b in range(photos):
            for c in range(captions):
                if not has[one, b]:
                    continue
                far = apart(sentences[one, b, c], images[b], recipe.distance)
                wrong_images = [
                    apart(sentences[one, b, c], images[x], recipe.distance)
                    for x in range(photos)
                    if x != b
                ]
                wrong_sentences = [
                    apart(images[b], sentences[one, x, y], recipe.distance)
                    for x in range(photos)
                    for y in range(captions)
                    if x != b and has[one, x]
                ]
                values.append(
                    recipe.caption_weight * worst(far, wrong_images, recipe)
                    + recipe.image_weight * worst(far, wrong_sentences, recipe)
                )
        if values:
            totals.append(mean(values))
    return mean(totals)


def neighbours_by_loops(sentences, has, recipe: TripletsRecipe, pairs) -> float:
    _, photos, captions, _ = sentences.shape
    totals = []
    for one, two in pairs:
        values = []
        for b in range(photos):
            if not (has[one, b] and has[two, b]):
                continue
            for c in range(captions):
                anchor = sentences[one, b, c]
                far = max(apart(anchor, s, recipe.distance) for s in sentences[two, b])
                negatives = [
                    apart(anchor, sentences[two, x, y], recipe.distance)
                    for x in range(photos)
                    for y in range(captions)
                    if x != b and has[two, x]
                ]
                values.append(worst(far, negatives, recipe))
        if values:
            totals.append(mean(values))
    return mean(totals)


SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))


@given(st.integers(0, 10**6), SHAPES, st.integers(1, 6), st.sampled_from(["euclidean", "cosine"]))
def test_equals_loops_over_every_sentence(seed: int, shape, top: int, kind: str) -> None:
    sentences, images, has = batch(seed, *shape)
    recipe = TripletsRecipe(
        margin=0.4, top=top, distance=kind, caption_weight=1.5, image_weight=0.7
    )
    found, cosines = match_images(sentences, images, has, recipe)
    assert float(found) == pytest.approx(matching_by_loops(sentences, images, has, recipe))
    assert cosines.shape == (*sentences.shape[:3], len(images))
    own = [(one, one) for one in range(shape[0])]
    expected = neighbours_by_loops(sentences, has, recipe, own)
    assert float(same_language(sentences, has, recipe)) == pytest.approx(expected)
    expected = neighbours_by_loops(sentences, has, recipe, combinations(range(shape[0]), 2))
    assert float(across_languages(sentences, has, recipe)) == pytest.approx(expected)


def test_distances_of_unit_vectors() -> None:
    cosines = torch.tensor([1.0, 0.5, 0.0, -1.0], dtype=torch.double)
    assert distance(cosines, "cosine").tolist() == [0, 0.5, 1, 2]
    squares = torch.tensor([0.0, 1, 2, 4], dtype=torch.double) + 1e-4
    torch.testing.assert_close(distance(cosines), squares.sqrt())
    torch.testing.assert_close(distance(cosines, "euclidean"), squares.sqrt())


def test_photographs_without_a_language_get_no_gradient_and_none_is_nan() -> None:
    sentences, images, has = batch(5, 3, 6, 2)
    has[1] = False
    sentences = sentences.requires_grad_()
    recipe = TripletsRecipe(margin=0.4, top=3)
    loss = match_images(sentences, images, has, recipe)[0]
    loss = loss + same_language(sentences, has, recipe) + across_languages(sentences, has, recipe)
    (grad,) = torch.autograd.grad(loss, sentences)
    assert torch.isfinite(grad).all()
    assert grad[has].abs().sum() > 0
    assert grad[~has].abs().sum() == 0


def test_of_one_matrix_is_that_of_one_language_with_one_caption() -> None:
    sentences, images, _ = batch(7, 1, 8, 1)
    sentences = l2(torch.from_numpy(np.random.default_rng(1).normal(size=(1, 8, 1, 3))))
    recipe = TripletsRecipe(margin=0.3, top=4)
    has = torch.ones(1, 8, dtype=torch.bool)
    scores = images @ sentences[0, :, 0].t()
    expected = match_images(sentences, images, has, recipe)[0]
    found = build_objective(recipe)(scores, torch.arange(8))
    assert float(found) == pytest.approx(float(expected))
    assert build_objective(recipe).collapsed_value(8) == pytest.approx(0.3 * 2.5)


def matrix_by_loops(scores: torch.Tensor, image: torch.Tensor, recipe: TripletsRecipe) -> float:
    """Rows are images that look for captions, columns captions that look for images."""
    size, total = len(scores), 0.0
    cosines = scores.tolist()
    for i in range(size):
        negatives = [
            j
            for j in range(size)
            if j != i and not (recipe.mask_same_image and image[j] == image[i])
        ]
        far = distance(scores[i, i], recipe.distance).item()
        for weight, row in (
            (recipe.image_weight, [cosines[i][j] for j in negatives]),
            (recipe.caption_weight, [cosines[j][i] for j in negatives]),
        ):
            near = distance(torch.tensor(row, dtype=torch.double), recipe.distance).tolist()
            total += weight * worst(far, near, recipe)
    return total / size


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 8), st.booleans(), st.booleans())
def test_of_one_matrix_equals_loops(
    seed: int, size: int, top: int, masked: bool, warming_up: bool
) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.rand(size, size, generator=generator, dtype=torch.double) - 1
    image = torch.randint(0, 3, (size,), generator=generator)
    recipe = TripletsRecipe(
        margin=0.3, top=top, mask_same_image=masked, caption_weight=1.5, image_weight=0.7
    )
    found = build_objective(recipe)(scores, image, warming_up)
    all_of_them = recipe.model_copy(update={"top": size})
    expected = matrix_by_loops(scores, image, all_of_them if warming_up else recipe)
    assert float(found) == pytest.approx(expected)
