"""What a schema cannot see: names of rows and columns that other parts of a study use."""

from collections.abc import Iterable
from fnmatch import fnmatch

from polyglance.errors import PolyglanceError
from polyglance.registry import nearest
from polyglance.studies.schema import Claim, Row, Study


def check_references(study: Study, source: str) -> None:
    """Raise for the first name that is used and not there, or there twice."""
    rows = [row.name for row in study.all_rows]
    columns = [column.title for column in study.columns]
    _unique(rows, "row", source)
    _unique(columns, "column", source)
    starred = any(column.language == "*" for column in study.columns)
    for row in study.all_rows:
        where = f"{source}: row '{row.name}'"
        if row.compare_to is not None:
            _known(row.compare_to, rows, f"{where}, compare_to", "row")
        _check_figures(row, columns, starred, where)
    for claim in study.claims:
        where = f"{source}: claim '{claim.text}'"
        for better, _, other in comparisons(claim, where):
            _known(better, rows, where, "row")
            _known(other, rows, where, "row")
        for name in claim.columns or ():
            if not starred:
                _known(name, columns, where, "column")
    for name, profile in study.profiles.items():
        if profile.x is not None and study.curve is None:
            raise PolyglanceError(f"{source}: profile '{name}' has 'x', but there is no 'curve'")
        for pattern in profile.rows:
            if not any(fnmatch(row, pattern) for row in rows):
                where = f"{source}: profile '{name}', rows"
                raise PolyglanceError(
                    f"{where}: no row matches '{pattern}'{nearest(pattern, rows)}"
                )


def comparisons(claim: Claim, where: str = "") -> list[tuple[str, str, str]]:
    """(row, ">" or ">=", row) of each comparison.

    >>> comparisons(Claim(text="more is better", compare=["all > one"]))
    [('all', '>', 'one')]
    """
    found = []
    for text in claim.compare:
        sign = next((s for s in (">=", "≥", ">") if f" {s} " in text), None)
        if sign is None:
            raise PolyglanceError(
                f"{where}: '{text}' is not a comparison; write 'row > row' or 'row >= row'"
            )
        first, _, second = text.partition(f" {sign} ")
        found.append((first.strip(), ">" if sign == ">" else ">=", second.strip()))
    return found


def _check_figures(row: Row, columns: list[str], starred: bool, where: str) -> None:
    if isinstance(row.paper, list):
        if starred or len(row.paper) != len(columns):
            raise PolyglanceError(
                f"{where}: 'paper' lists {len(row.paper)} numbers for {len(columns)} columns; "
                "name the columns instead"
            )
    elif not starred:
        for name in row.paper:
            _known(name, columns, f"{where}, paper", "column")


def _known(name: str, names: list[str], where: str, noun: str) -> None:
    if name not in names:
        raise PolyglanceError(f"{where}: there is no {noun} '{name}'{nearest(name, names)}")


def _unique(names: Iterable[str], noun: str, source: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PolyglanceError(f"{source}: two {noun}s are called '{name}'; names are unique")
        seen.add(name)
