"""Products in 8 bits, beside those in 64."""

import sys

import numpy as np
import pytest

from polyglance.numerics import quantised
from polyglance.numerics.quantised import QuantisedProducts
from polyglance.numerics.similarity import normalise


def vectors(count: int, dim: int, seed: int = 0) -> np.ndarray:
    return normalise(np.random.default_rng(seed).standard_normal((count, dim)))


@pytest.mark.parametrize("dim", [1, 7, 512])
def test_no_error_exceeds_its_bound(dim: int) -> None:
    rows, queries = vectors(300, dim), vectors(5, dim, 1)
    rows[0] = 0
    rows[1] = np.eye(dim)[-1]
    products = QuantisedProducts(rows)
    for query in [*queries, rows[1], -queries[0], 3 * queries[1], np.zeros(dim, np.float32)]:
        found, errors = products(query)
        exact = rows.astype(np.float64) @ query.astype(np.float64)
        assert found.dtype == errors.dtype == np.float32
        assert (np.abs(found - exact) <= errors).all()
        assert errors.max() <= 0.02 * max(np.linalg.norm(query), 1e-9)


def test_extreme_integers_do_not_overflow() -> None:
    """Sums of 127 · 127 in pairs are the largest that processors without VNNI can hold."""
    rows = np.full((40, 512), 512**-0.5, np.float32) * np.where(np.arange(40) % 2, 1, -1)[:, None]
    found, errors = QuantisedProducts(rows)(rows[1])
    assert found == pytest.approx(np.where(np.arange(40) % 2, 1.0, -1.0), abs=1e-5)
    assert (np.abs(np.abs(found) - 1) <= errors).all()


def test_blocks_join(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, query = vectors(50, 16), vectors(1, 16, 1)[0]
    whole = QuantisedProducts(rows)(query)
    monkeypatch.setattr(quantised, "BLOCK", 7)
    parts = QuantisedProducts(rows)(query)
    assert all(np.array_equal(*pair) for pair in zip(whole, parts, strict=True))


def test_the_package_onnx_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    rows = vectors(3, 4)
    assert QuantisedProducts(rows)(rows[0])[0][0] == pytest.approx(1, abs=0.02)
