"""Which of the three ways to sort is taken, in which blocks, and what its keys can hold."""

import pytest
import torch
from torch import Tensor

from polyglance.pooling import sorting
from polyglance.pooling.sorting import descending


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the ways that were taken without a gradient of their own."""
    names: list[str] = []

    def watch(name: str) -> None:
        way = getattr(sorting, name)

        def watched(*given: Tensor) -> Tensor:
            names.append(name)
            return way(*given)

        monkeypatch.setattr(sorting, name, watched)

    watch("_plain")
    watch("_values")
    return names


def full(vectors: Tensor) -> Tensor:
    return torch.full((len(vectors),), vectors.shape[1])


def test_numbers_without_a_gradient_are_sorted_by_numpy(taken: list[str]) -> None:
    vectors = torch.randn(2, 5, 3)
    descending(vectors, full(vectors))
    with torch.no_grad():
        descending(vectors.clone().requires_grad_(), full(vectors))
    descending(vectors.half(), full(vectors))
    assert taken == ["_values"] * 3


def test_a_gradient_takes_the_places_along(taken: list[str]) -> None:
    vectors = torch.randn(2, 5, 3).requires_grad_()
    ranked = descending(vectors, full(vectors))
    assert taken == []
    assert ranked.grad_fn is not None
    assert ranked.grad_fn.name() == "_SortBackward"


def test_doubles_are_sorted_by_torch(taken: list[str]) -> None:
    vectors = torch.randn(2, 5, 3, dtype=torch.double)
    descending(vectors, full(vectors))
    descending(vectors.requires_grad_(), full(vectors))
    assert taken == ["_plain"] * 2


@pytest.mark.filterwarnings("ignore")
def test_a_traced_sort_is_not_that_of_its_example() -> None:
    lengths, example, other = torch.tensor([5, 5]), torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    traced = torch.jit.trace(lambda vectors: descending(vectors, lengths), (example,))
    assert torch.equal(traced(other), other.transpose(1, 2).sort(2, descending=True).values)


@pytest.mark.parametrize(("width", "way"), [(3, "_values"), (4, "_values"), (5, "_plain")])
@pytest.mark.parametrize(("batch", "dim"), [(1, 1), (9, 7)])
def test_as_many_places_as_keys_hold(
    width: int, way: str, batch: int, dim: int, taken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "PLACES", 4)
    vectors = torch.randn(batch, width, dim)
    descending(vectors, full(vectors))
    assert taken == [way]


def test_keys_round_to_their_number_and_hold_no_more_places() -> None:
    """Low bits of a float64 below half of a float32's last bit leave its rounding as it is."""

    def rounded(places: int) -> Tensor:
        keys = numbers.double()
        keys.view(torch.int64).bitwise_or_(places - 1)
        return keys.float()

    numbers = torch.tensor([1.0, -1.0, 1 / 3, -1e-30, 3e38, 16_777_215.0])
    assert torch.equal(rounded(sorting.PLACES), numbers)
    assert not torch.equal(rounded(2 * sorting.PLACES), numbers)


@pytest.mark.parametrize(
    ("block", "count", "size", "golden"),
    [
        (6, 5, 2, [(0, 3), (3, 6)]),
        (6, 5, 3, [(0, 2), (2, 4), (4, 6)]),
        (6, 3, 4, [(0, 1), (1, 2), (2, 3)]),
        (6, 2, 7, [(0, 1), (1, 2)]),
        (6, 7, 1, [(0, 6), (6, 12)]),
        (6, 7, 0, [(0, 6), (6, 12)]),
        (6, 0, 2, []),
        (1, 2, 1, [(0, 1), (1, 2)]),
    ],
)
def test_blocks(
    block: int,
    count: int,
    size: int,
    golden: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many rows of `size` numbers as fit into a block, at least one."""
    monkeypatch.setattr(sorting, "BLOCK", block)
    found = [(rows.start, rows.stop) for rows in sorting._blocks(count, size)]
    assert found == golden


def test_a_block_is_a_mebibyte() -> None:
    assert torch.empty(sorting.BLOCK).nbytes == 2**20


@pytest.mark.parametrize(
    ("width", "kind"), [(255, torch.uint8), (256, torch.uint8), (257, torch.int32)]
)
def test_places_take_as_few_bytes_as_hold_them(width: int, kind: torch.dtype) -> None:
    torch.manual_seed(0)
    vectors = torch.randn(2, width, 3).requires_grad_()
    ranked = descending(vectors, full(vectors))
    assert ranked.grad_fn is not None
    assert ranked.grad_fn.saved_tensors[0].dtype == kind
    weights = torch.randn(2, 3, width)
    (found,) = torch.autograd.grad(ranked, vectors, weights)
    slow = vectors.transpose(1, 2).sort(2, descending=True).values
    (expected,) = torch.autograd.grad(slow, vectors, weights)
    assert torch.equal(found, expected)


def test_one_sample_alone() -> None:
    vectors = torch.tensor([[[2.0], [3.0], [1.0]]])
    with_gradient = vectors.clone().requires_grad_()
    for given in (vectors, with_gradient, vectors.double()):
        assert descending(given, torch.tensor([2])).tolist() == [[[3, 2]]]
    descending(with_gradient, torch.tensor([2])).backward(torch.tensor([[[5.0, 7.0]]]))
    assert with_gradient.grad is not None
    assert with_gradient.grad.flatten().tolist() == [7, 5, 0]


def test_the_largest_numbers_are_before_padding() -> None:
    """Padding is sorted as the smallest of all float32."""
    smallest = torch.finfo(torch.float32).min
    vectors = torch.tensor([[[smallest], [1.0], [5.0]], [[2.0], [9.0], [9.0]]])
    for dtype in (torch.float32, torch.float64):
        found = descending(vectors.to(dtype), torch.tensor([3, 1]))
        assert found.flatten(1).tolist() == [[5, 1, smallest], [2, 0, 0]]
