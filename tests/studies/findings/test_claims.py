"""Verdicts: what an interval says, with a margin and without."""

import pytest
from pydantic import ValidationError

from polyglance.evaluation.ranking.bootstrap import Difference
from polyglance.studies.findings.claims import (
    FAILS,
    HOLDS,
    LARGER,
    OPEN,
    OPPOSITE,
    PARTLY,
    SAME_SIZE,
    SMALLER,
    UNTESTED,
    Evidence,
    joint_verdict,
    verdict_of,
)
from polyglance.studies.format.schema import Claim
from polyglance.studies.report.render import evidence_text


def interval(low: float, high: float, p: float = 0.5) -> Difference:
    return Difference((low + high) / 2, low, high, p)


@pytest.mark.parametrize(
    ("low", "high", "sign", "margin", "verdict"),
    [
        (0.1, 2.0, ">", None, HOLDS),
        (0.0, 2.0, ">", None, OPEN),
        (-0.1, 2.0, ">", None, OPEN),
        (-2.0, -0.1, ">", None, FAILS),
        (-2.0, 0.0, ">", None, OPEN),
        (-2.0, -0.1, "<", None, HOLDS),
        (0.1, 2.0, "<", None, FAILS),
        (0.1, 2.0, ">=", None, HOLDS),
        (-0.1, 2.0, ">=", None, OPEN),
        (-2.0, -0.1, ">=", None, FAILS),
        (-0.9, 2.0, ">=", 1.0, HOLDS),
        (-0.9, -0.2, ">=", 1.0, HOLDS),
        (-1.0, 2.0, ">=", 1.0, OPEN),
        (-1.2, -0.2, ">=", 1.0, FAILS),
        (-2.0, 0.9, "<=", 1.0, HOLDS),
        (-2.0, 1.1, "<=", 1.0, OPEN),
        (0.1, 1.1, "<=", 1.0, FAILS),
    ],
)
def test_the_interval_decides(
    low: float, high: float, sign: str, margin: float | None, verdict: str
) -> None:
    assert verdict_of(interval(low, high), sign, margin) == verdict


def test_the_interval_decides_whatever_p_is() -> None:
    assert verdict_of(interval(-0.1, 2.0, p=0.01)) == OPEN
    assert verdict_of(interval(0.1, 2.0, p=0.06)) == HOLDS


@pytest.mark.parametrize(
    ("verdicts", "joint"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([OPEN, OPEN], OPEN),
        ([HOLDS, OPEN], PARTLY),
        ([HOLDS, FAILS], FAILS),
        ([OPEN, FAILS], FAILS),
        ([HOLDS, UNTESTED], UNTESTED),
    ],
)
def test_a_claim_says_no_more_than_its_comparisons(verdicts: list[str], joint: str) -> None:
    # ">=" with no significant difference is not "as good as", also beside one that holds.
    assert joint_verdict([Evidence("a", ">=", "b", verdict) for verdict in verdicts]) == joint


@pytest.mark.parametrize(
    ("low", "high", "paper", "size"),
    [
        (1.1, 5.1, 17.2, SMALLER),
        (1.1, 5.1, 5.0, SAME_SIZE),
        (1.1, 5.1, 0.5, LARGER),
        (1.1, 5.1, -3.0, OPPOSITE),
        (1.1, 5.1, None, ""),
    ],
)
def test_of_the_papers_size_is_what_the_interval_contains(
    low: float, high: float, paper: float | None, size: str
) -> None:
    item = Evidence("a", ">", "b", HOLDS, ("en",), interval(low, high), (), paper)
    assert item.size == size
    excluded = "which the interval excludes" in evidence_text(item, {})
    assert excluded == (size not in ("", SAME_SIZE))


def test_the_report_says_the_margin_or_that_there_is_none() -> None:
    change = interval(-0.5, 0.4)
    without = Evidence("a", ">=", "b", OPEN, ("en",), change)
    within = Evidence("a", ">=", "b", HOLDS, ("en",), change, margin=1.0)
    assert "no margin was set before the runs" in evidence_text(without, {})
    assert "margin 1.0, set before the runs: holds" in evidence_text(within, {})


def test_a_margin_goes_with_as_good_as() -> None:
    assert Claim(text="t", compare=["a >= b"], margin=1).margin == 1
    with pytest.raises(ValidationError, match="'margin' needs"):
        Claim(text="t", compare=["a > b"], margin=1)
    with pytest.raises(ValidationError, match="greater than 0"):
        Claim(text="t", compare=["a >= b"], margin=0)
