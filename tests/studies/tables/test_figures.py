"""Figures of the papers in study files, against the papers' texts (SMALR's: test_smalr_figures)."""

import re
from pathlib import Path

import pytest

from polyglance.studies import Study, load_study
from polyglance.studies.format.schema import Row

SEEDS = Path(__file__).resolve().parents[4] / "shared" / "seeds"
TEXTS = {
    "liwe": "000_7609c788bf582bd8.txt",
    "kadar": "002_d1e27dd160984f5b.txt",
    "gpo": "004_3fd4aba6b5fb5364.txt",
}
STUDIES = [
    *(f"kadar-table{number}" for number in range(2, 8)),
    "liwe-table1",
    "gpo-coco",
    "gpo-flickr30k",
    "gpo-sequence-model",
    "gpo-size-augmentation",
    "gpo-variants",
]
PARAMETERS = "M word parameters"


def figures(study: Study, row: Row) -> list[float]:
    """The paper's recalls of a row, in the order of the columns."""
    titles = [column.title for column in study.columns]
    if isinstance(row.paper, dict):
        return [float(row.paper[title]) for title in titles if title in row.paper]  # type: ignore[arg-type]
    found = zip(titles, row.paper, strict=False)
    return [value for title, value in found if value is not None and title != PARAMETERS]


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(?<![\d.])\d{1,3}\.\d(?!\d)", text)]


def is_part(wanted: list[float], known: list[float]) -> bool:
    size = len(wanted)
    return any(known[at : at + size] == wanted for at in range(len(known) - size + 1))


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the shared papers are not here")
@pytest.mark.parametrize("name", STUDIES)
def test_every_row_has_figures_that_the_paper_has_side_by_side(name: str) -> None:
    text = (SEEDS / TEXTS[name.partition("-")[0]]).read_text(encoding="utf-8", errors="replace")
    known, study, compared = numbers(text), load_study(name), 0
    for row in study.all_rows:
        own = figures(study, row)
        # Tables 4 and 5 of VSE∞ are two tables of the paper.
        halves = [own[:7], own[7:]] if name == "gpo-coco" else [own]
        for half in halves:
            assert is_part(half, known), (row.name, half)
            compared += len(half)
    assert compared >= 8


def test_tables_of_vse_infinity_are_whole() -> None:
    """Tables 3, 7 and 8 have two features or encoders each; LIWE's Table 1 has ten systems."""
    counts = {"gpo-sequence-model": 4, "gpo-variants": 6, "liwe-table1": 10}
    for name, count in counts.items():
        assert sum(bool(row.paper) for row in load_study(name).all_rows) == count, name
