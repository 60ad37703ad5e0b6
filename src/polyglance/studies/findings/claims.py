"""Whether the paper's claims hold here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from typing import Any

from polyglance.evaluation.ranking.bootstrap import Difference
from polyglance.studies.findings.results import Cell, Results, compare_cells, joint_columns
from polyglance.studies.format.check import column_pairs, comparisons
from polyglance.studies.format.schema import Claim
from polyglance.studies.plan import X

HOLDS = "holds"
FAILS = "does not hold"
OPEN = "no significant difference"
PARTLY = "holds in part"
UNTESTED = "not tested"

SAME_SIZE = "of the paper's size"
SMALLER, LARGER = "smaller than in the paper", "larger than in the paper"
OPPOSITE = "the other way round in the paper"

Pairs = dict[str, tuple[Cell, Cell]]
"""Pairs of compared cells, by the name of the column or line."""


@dataclass(frozen=True)
class Evidence:
    """One comparison of a claim: of rows over columns (and x-values) that both fill, or of
    columns over rows; `difference` is the first minus the second."""

    better: str
    sign: str
    other: str
    verdict: str
    columns: tuple[str, ...] = ()
    """The columns, or the rows that columns are compared in."""
    difference: Difference | None = None
    each: tuple[tuple[str, Difference], ...] = ()
    paper: float | None = None
    digits: int = 1
    of: str = "columns"
    margin: float | None = None
    """The largest loss for "as good as", fixed in the study's file before the runs."""
    paper_columns: int | None = None
    """Number of columns behind the paper's mean difference, if not all."""

    def as_dict(self) -> dict[str, Any]:
        """For a report's JSON; later fields are left out if empty."""
        found = {**asdict(self), "each": {name: asdict(test) for name, test in self.each}}
        later = ("margin", "paper_columns")
        return {name: part for name, part in found.items() if part is not None or name not in later}

    @property
    def size(self) -> str:
        """How the difference compares with the paper's; "" if the paper has only part of it."""
        if self.paper is None or self.difference is None or self.paper_columns is not None:
            return ""
        low, high = self.difference.low, self.difference.high
        if low <= self.paper <= high:
            return SAME_SIZE
        nearer = abs(self.difference.difference) < abs(self.paper)
        opposite = self.difference.difference * self.paper < 0
        return OPPOSITE if opposite else SMALLER if nearer else LARGER


@dataclass(frozen=True)
class Verdict:
    """A claim with its verdict and the evidence for it."""

    claim: Claim
    verdict: str
    evidence: list[Evidence]

    def as_dict(self) -> dict[str, Any]:
        """For a report's JSON."""
        evidence = [
            asdict(item) | {"each": {n: asdict(d) for n, d in item.each}} for item in self.evidence
        ]
        for item in evidence:
            if item["margin"] is None:
                del item["margin"]
        return {"text": self.claim.text, "verdict": self.verdict, "evidence": evidence}


def check_claims(results: Results) -> list[Verdict]:
    """A verdict on every claim of the study."""
    found = []
    for claim in results.plan.study.claims:
        evidence = [_compare(results, claim, *parts) for parts in comparisons(claim)]
        found.append(Verdict(claim, joint_verdict(evidence), evidence))
    return found


def verdict_of(change: Difference, sign: str = ">", margin: float | None = None) -> str:
    """What an interval says about a comparison.

    It *holds* if the whole interval is on the claimed side of zero, and *does not hold* if it is
    on the other side. "As good as" (`>=`) also holds if the interval is above minus the margin;
    the absence of a significant difference alone is not evidence of being as good.

    Args:
        change: first minus second, with its 95 % interval.
        sign: ">", ">=", "<" or "<=".
        margin: of "as good as"; None if the study's file has none.

    >>> wide, narrow = Difference(-0.2, -3.0, 2.6, 0.9), Difference(-0.2, -0.6, 0.2, 0.4)
    >>> verdict_of(wide, ">=", 1.0), verdict_of(narrow, ">=", 1.0), verdict_of(narrow, ">=")
    ('no significant difference', 'holds', 'no significant difference')
    """
    low, high = change.low, change.high
    if sign.startswith("<"):
        low, high = -high, -low
    if low > 0 or ("=" in sign and margin is not None and low > -margin):
        return HOLDS
    return FAILS if high < 0 else OPEN


def joint_verdict(evidence: list[Evidence]) -> str:
    """The verdict of all comparisons of a claim together: never stronger than the weakest."""
    verdicts = [item.verdict for item in evidence]
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return next((worst for worst in (UNTESTED, FAILS) if worst in verdicts), PARTLY)


def _compare(results: Results, claim: Claim, better: str, sign: str, other: str) -> Evidence:
    found = (_row_pairs if claim.compare else _column_pairs)(results, claim, better, other)
    tested = {name: pair for name, pair in found.items() if pair[0].tested and pair[1].tested}
    pairs = list(tested.values())
    change = compare_cells(pairs) if pairs else None
    if change is None:
        return Evidence(better, sign, other, UNTESTED)
    paper, some = paper_gap([(first.paper, second.paper) for first, second in pairs])
    alone = [(name, compare_cells([pair])) for name, pair in tested.items() if len(pairs) > 1]
    return Evidence(
        better,
        sign,
        other,
        verdict_of(change, sign, claim.margin),
        columns=tuple(tested),
        difference=change,
        each=tuple((name, test) for name, test in alone if test is not None),
        paper=paper,
        digits=max(cell.column.digits for pair in pairs for cell in pair),
        of="columns" if claim.compare else "cells",
        margin=claim.margin if "=" in sign else None,
        paper_columns=some,
    )


def paper_gap(
    figures: Sequence[tuple[float | None, float | None]],
) -> tuple[float | None, int | None]:
    """The mean of the paper's differences, and the number of columns if it lacks some.

    >>> paper_gap([(3.0, 1.0), (None, 1.0)])
    (2.0, 1)
    """
    gaps = [first - second for first, second in figures if first is not None and second is not None]
    if not gaps:
        return None, None
    return sum(gaps) / len(gaps), None if len(gaps) == len(figures) else len(gaps)


def _row_pairs(results: Results, claim: Claim, better: str, other: str) -> Pairs:
    """Cells of both rows by name, at every x and in every column."""
    columns, found = joint_columns(results.plan.columns), {}
    if claim.columns is not None:
        named = claim.columns
        columns = [c for c in results.plan.columns if any(fnmatch(c.title, n) for n in named)]
    lines = [line for line in results.plan.lines if line.row.name in (better, other)]
    xs: list[X] = [x for x in dict.fromkeys(line.x for line in lines) if x is not None]
    for x in xs or [None]:
        first, second = results.line(better, x), results.line(other, x)
        if first is None or second is None:
            continue
        for column in columns:
            name = column.title if x is None else f"{column.title} at {x}"
            found[name] = results.cell(first, column), results.cell(second, column)
    return found


def _column_pairs(results: Results, claim: Claim, first: str, second: str) -> Pairs:
    """Cells of both columns by name, in every line."""
    columns = {column.title: column for column in results.plan.columns}
    titles, found = column_pairs(first, second, list(columns)), {}
    lines = results.plan.lines
    if claim.rows is not None:
        lines = [line for line in lines if line.row.name in claim.rows]
    for line in lines:
        for one, other in titles:
            words = [line.title] * (len(lines) > 1) + [one] * (len(titles) > 1)
            pair = results.cell(line, columns[one]), results.cell(line, columns[other])
            found[": ".join(words) or line.title] = pair
    return found
