"""The studies of SMALR share runs with each other and with LIWE's: nothing is trained twice."""

import pytest

from polyglance.studies import load_study, make_plan
from tests.studies.planted import facts

LANGUAGES = ("en", "de", "fr", "cs", "pt", "zh", "ar", "es", "uk", "hi")


def runs(study: str, row: str) -> list[str]:
    """Keys of a row's runs with the first two seeds."""
    plan = make_plan(load_study(study), "standard", facts(20, LANGUAGES), seeds=2)
    line = next(line for line in plan.lines if line.row.name == row)
    return sorted({key for source in line.sources for key in source.values()})


@pytest.mark.parametrize("row", ["small-1", "large-1", "small-4", "large-10"])
def test_rows_of_liwe_are_those_of_its_own_study(row: str) -> None:
    found = runs("smalr-languages", f"liwe-{row}")
    assert len(found) == (4 if row.endswith("-1") else 2)
    assert found == runs("liwe-languages", row)


@pytest.mark.parametrize("study", ["smalr-parameters", "smalr-languages", "smalr-human-vs-mt"])
@pytest.mark.parametrize("row", ["mule-10", "smalr-10", "liwe-small-10"])
def test_rows_of_the_table_are_those_of_other_studies(study: str, row: str) -> None:
    assert runs(study, row) == runs("smalr-table2", row)


@pytest.mark.parametrize("row", ["smalr-plain", "smalr-clc-c-lexicon"])
def test_questions_in_translation_need_no_training_of_their_own(row: str) -> None:
    assert runs("smalr-consistency", row) == runs("smalr-table2", "smalr-10")


def test_thresholds_and_dimensions_stay_apart() -> None:
    names = ["mule-10", "threshold-5", "threshold-50", "pca-50", "pca-200", "dictionary-5"]
    keys = [runs("smalr-parameters", name)[0] for name in names]
    assert len(set(keys)) == len(names)
