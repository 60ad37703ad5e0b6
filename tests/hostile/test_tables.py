"""Every table and dataset folder is read, or refused with its file and line."""

import warnings
from pathlib import Path

import pytest

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceWarning
from tests.hostile.cases import more, outcome
from tests.hostile.tables import table_cases

CASES = more(200)


def test_every_table_is_read_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyglanceWarning)
        for number, case in enumerate(table_cases(CASES)):
            folder = tmp_path / str(number)
            refused += bool(outcome(case, lambda path: len(load_dataset(path).images), folder))
    assert refused > 100
