"""Exports: what is written is what the library has."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.library import Filter, Library, sync
from polyglance.library.tasks.export import export_library
from tests.library.fakes import library_of, save

pytest.importorskip("lancedb")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for number in range(3):
        save(tmp_path / "pictures" / str(number % 2) / f"{number}.png", number)
    made = library_of(tmp_path / "library", tmp_path / "pictures")
    sync(made)
    return made


def test_every_format(library: Library, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    records = library.store.records()
    vectors = library.store.vectors([record.id for record in records])
    expected = [record.as_dict() for record in records]
    assert export_library(library, tmp_path / "a.jsonl", tmp_path / "a.npy") == 3
    lines = (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == expected
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), vectors)
    export_library(library, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["path"], row["width"], row["captions"]) for row in rows] == [
        (one["path"], "40", "[]") for one in expected
    ]
    export_library(library, tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table["id"].to_pylist() == [one["id"] for one in expected]
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), vectors)


def test_a_part(library: Library, tmp_path: Path) -> None:
    where = Filter(folder=str(tmp_path / "pictures" / "0"))
    assert export_library(library, tmp_path / "a.jsonl", tmp_path / "a.npy", where) == 2
    assert np.load(tmp_path / "a.npy").shape == (2, 16)


def test_an_unknown_format(library: Library, tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"a\.txt: must end in one of \.parquet"):
        export_library(library, tmp_path / "a.txt")
    assert not (tmp_path / "a.txt").exists()
