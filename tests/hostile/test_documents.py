"""Every recipe is read or refused with a short sentence."""

from pathlib import Path

import pytest

from polyglance.core.documents import abbreviated, parse_yaml
from polyglance.errors import PolyglanceError
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.studies import load_study
from tests.hostile.cases import more, outcome
from tests.hostile.documents import aliases, document_cases

CASES = more(60)


def test_every_recipe_is_read_or_refused(tmp_path: Path) -> None:
    refused = 0
    for number, case in enumerate(document_cases(CASES)):
        refused += bool(outcome(case, lambda path: load_recipe(str(path)), tmp_path / str(number)))
    assert refused > 25


def test_a_few_bytes_of_aliases_are_a_short_error(tmp_path: Path) -> None:
    """Issue 23: 275 bytes printed an error of 254 MB."""
    path = tmp_path / "mine.yaml"
    path.write_text(aliases())
    assert path.stat().st_size < 600
    for read in (load_recipe, load_study):
        with pytest.raises(PolyglanceError, match=r"aliases expand to more than 100,000") as told:
            read(str(path))
        assert len(str(told.value)) < 300
    with pytest.raises(PolyglanceError) as told:
        parse_overrides(["name=" + aliases().replace("\n", " ")])
    assert len(str(told.value)) < 1500


def test_aliases_that_help_are_read() -> None:
    assert parse_yaml("a: &x {b: 1}\nc: [*x, *x]") == {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}


def test_values_are_shown_in_short() -> None:
    assert abbreviated("abc") == "'abc'"
    assert len(abbreviated(["x" * 1000] * 1000)) < 700
    assert len(abbreviated({str(i): {"y": [0] * 100} for i in range(1000)})) < 500
