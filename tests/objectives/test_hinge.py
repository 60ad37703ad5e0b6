"""Hinges against loops written from spec §2.1, and Appendix A."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polyglance.objectives import max_of_hinges, sum_of_hinges


def brute_force(
    scores: list[list[float]], margin: float, ignored: set[tuple[int, int]]
) -> tuple[float, float]:
    total, hardest = 0.0, 0.0
    size = len(scores)
    for query in range(size):
        captions = [0.0]
        images = [0.0]
        for other in range(size):
            if other == query:
                continue
            if (query, other) not in ignored:
                captions.append(max(0.0, margin - scores[query][query] + scores[query][other]))
            if (other, query) not in ignored:
                images.append(max(0.0, margin - scores[query][query] + scores[other][query]))
        total += sum(captions) + sum(images)
        hardest += max(captions) + max(images)
    return total, hardest


@given(st.integers(1, 6), st.integers(0, 1000), st.booleans())
def test_equal_to_loops(size: int, seed: int, masked: bool) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(size, size, generator=generator, dtype=torch.double) * 2 - 1
    image = torch.randint(0, 3, (size,), generator=generator)
    ignore = image[:, None] == image[None, :] if masked else None
    pairs = {(i, j) for i in range(size) for j in range(size) if masked and image[i] == image[j]}
    total, hardest = brute_force(scores.tolist(), 0.2, pairs)
    assert float(sum_of_hinges(scores, 0.2, ignore)) == pytest.approx(total)
    assert float(max_of_hinges(scores, 0.2, ignore)) == pytest.approx(hardest)


def test_collapse_value_of_max_of_hinges() -> None:
    assert float(max_of_hinges(torch.full((128, 128), 0.3), 0.2)) == pytest.approx(51.2)


def test_losses_are_summed_over_the_batch() -> None:
    scores = torch.tensor([[0.5, 0.6], [0.2, 0.4]])
    # Captions: [.2−.5+.6]=.3, [.2−.4+.2]=0; images: [.2−.5+.2]=0, [.2−.4+.6]=.4.
    assert float(sum_of_hinges(scores, 0.2)) == pytest.approx(0.7)
    assert float(max_of_hinges(scores, 0.2)) == pytest.approx(0.7)
