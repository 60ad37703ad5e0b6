"""Checks beyond the schema: references to rows and columns."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatch

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.studies.format.schema import Claim, Row, Study

SIGNS = {">=": ">=", "≥": ">=", ">": ">", "<=": "<=", "≤": "<=", "<": "<"}


def check_references(study: Study, source: str) -> None:
    """Raise for the first reference that does not exist, or name that is not unique."""
    rows = [row.name for row in study.all_rows]
    columns = [column.title for column in study.columns]
    _unique(rows, "row", source)
    _unique(columns, "column", source)
    starred = any(column.language == "*" for column in study.columns)
    for row in study.all_rows:
        where = f"{source}: row '{row.name}'"
        if row.compare_to is not None:
            _known(row.compare_to, rows, f"{where}, compare_to", "row")
        for name in row.ensemble:
            _known(name, rows, f"{where}, ensemble", "row")
            if study.row(name).ensemble:
                raise PolyglanceError(f"{where}: an ensemble of the ensemble '{name}'")
        _check_figures(row, columns, starred, where)
        for name in row.by_profile:
            _known(name, list(study.profiles), f"{where}, by_profile", "profile")
    for claim in study.claims:
        where = f"{source}: claim '{claim.text}'"
        _check_claim(claim, rows, columns, starred, where)
    if study.scatter is not None:
        for name in (study.scatter.x, *study.scatter.y):
            if not starred or name == study.scatter.x:
                _known(name, columns, f"{source}: scatter", "column")
    if study.lines is not None:
        if len(study.steps) < 2:
            text = "sections have fewer than two labels of rows in common"
            raise PolyglanceError(f"{source}: lines: {text}")
        for name in study.lines.y if not starred else ():
            _known(name, columns, f"{source}: lines", "column")
    for name, profile in study.profiles.items():
        if profile.x is not None and study.curve is None:
            raise PolyglanceError(f"{source}: profile '{name}' has 'x', but there is no 'curve'")
        for pattern in (*profile.rows, *profile.fewer_seeds):
            if not any(fnmatch(row, pattern) for row in study.runnable):
                field = "rows" if pattern in profile.rows else "fewer_seeds"
                where = f"{source}: profile '{name}', {field}"
                raise PolyglanceError(
                    f"{where}: no row matches '{pattern}'{nearest(pattern, study.runnable)}"
                )


def _check_claim(
    claim: Claim, rows: list[str], columns: list[str], starred: bool, where: str
) -> None:
    for first, sign, second in comparisons(claim, where):
        if claim.compare:
            _known(first, rows, where, "row")
            _known(second, rows, where, "row")
        elif not starred and not column_pairs(first, second, columns):
            text = f"{first} {sign} {second}"
            raise PolyglanceError(f"{where}: no column matches '{text}'")
    for name in claim.rows or ():
        _known(name, rows, where, "row")
    for name in claim.columns or ():
        if not starred and not any(fnmatch(column, name) for column in columns):
            _known(name, columns, where, "column")


def column_pairs(first: str, second: str, columns: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of titles that two patterns refer to.

    Args:
        first: a column's title, with or without `*`.
        second: the title to pair it with; its `*` matches the same words as that of `first`.
        columns: all titles; pairs with a missing one are left out.

    >>> column_pairs("* small", "* large", ["A small", "A large", "B small", "C large"])
    [('A small', 'A large')]
    """
    before, star, after = first.partition("*")
    pairs = []
    for title in columns:
        if star and title.startswith(before) and title.endswith(after):
            word = title[len(before) : len(title) - len(after)]
            pairs.append((title, second.replace("*", word)))
        elif title == first:
            pairs.append((title, second))
    return [pair for pair in pairs if pair[1] in columns]


def comparisons(claim: Claim, where: str = "") -> list[tuple[str, str, str]]:
    """(row or column, ">", ">=", "<" or "<=", row or column) of each comparison.

    >>> comparisons(Claim(text="more is better", compare=["all > one"]))
    [('all', '>', 'one')]
    """
    found = []
    for text in claim.compared:
        sign = next((s for s in SIGNS if f" {s} " in text), None)
        if sign is None:
            raise PolyglanceError(
                f"{where}: '{text}' is not a comparison; write 'row > row', with >, >=, < or <="
            )
        first, _, second = text.partition(f" {sign} ")
        found.append((first.strip(), SIGNS[sign], second.strip()))
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
