"""Pages of approximate scores, beside those of exact ones."""

from dataclasses import replace

import numpy as np
import pytest

from polyglance.gallery.candidates import DIGITS, Page


def page_of(scores: np.ndarray, page: Page, cutoff: float | None) -> tuple[list[int], bool, bool]:
    """Images of a page without its last one, whether that is there, and whether any matches."""
    values = np.round(scores, DIGITS)
    shown = [
        row
        for row in sorted(page.rows, key=lambda row: (-values[row], row))
        if page.everything or cutoff is None or scores[row] >= cutoff
    ]
    if page.last_row is not None:
        last = (-values[page.last_row], page.last_row)
        shown = [row for row in shown if (-values[row], row) > last]
    elif page.last_score is not None:
        shown = [row for row in shown if values[row] < page.last_score]
    matches = cutoff is not None and bool((scores[page.rows] >= cutoff).any())
    return shown[: page.top - 1], len(shown) >= page.top, matches


@pytest.mark.parametrize("seed", range(60))
def test_exact_scores_of_the_uncertain_rows_suffice(seed: int) -> None:
    chance = np.random.default_rng(seed)
    count = int(chance.integers(1, 300))
    exact = np.round(chance.beta(0.3, 3, count), int(chance.integers(1, 9)))  # many ties
    errors = chance.random(count) * 10.0 ** -chance.integers(1, 7)
    given = exact + errors * chance.choice([-1, 1, 0, 0.5], count)
    rows = np.flatnonzero(chance.random(count) < chance.choice([1, 0.3]))
    cutoff = chance.choice([None, 0.5, float(np.quantile(exact, 0.9)), 2.0])
    page = Page(rows, int(chance.integers(2, 50)), bool(chance.integers(2)))
    starts = [page, replace(page, last_score=float(chance.choice(exact)))]
    starts += [replace(page, last_row=int(row), last_score=0.0) for row in chance.choice(count, 3)]
    for one in starts:
        chosen = one.uncertain(given - errors, given + errors, cutoff)
        mixed = given.copy()
        mixed[chosen] = exact[chosen]
        assert page_of(mixed, one, cutoff) == page_of(exact, one, cutoff)


def test_few_rows_are_uncertain_and_none_where_nothing_matches() -> None:
    scores = np.random.default_rng(0).random(10_000)
    low, high = scores - 0.001, scores + 0.001
    page = Page(np.arange(10_000), 41, everything=False)
    assert 41 <= len(page.uncertain(low, high, 0.5)) < 100
    assert len(page.uncertain(low, high, 1.5)) == 0
    assert len(page.uncertain(low - 1, high - 1, 0.5)) == 0
    deep = replace(page, last_row=int(np.argsort(-scores)[2000]))
    assert 41 <= len(deep.uncertain(low, high, 0.5)) < 150
