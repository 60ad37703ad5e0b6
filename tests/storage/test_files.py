"""Reading damaged files and writing where one cannot."""

import gzip
from pathlib import Path

import pytest

from polyglance.data.convert.butd import _tsv_items
from polyglance.data.convert.common import lines
from polyglance.errors import PolyglanceError
from polyglance.storage import files
from polyglance.storage.files import atomic, read_json, read_jsonl, read_lines
from polyglance.text.vectors.read import read_vectors

GOOD = '{"a": 1}\n'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (GOOD.encode() + b'{"a": \n', "line 2: not valid JSON"),
        (GOOD.encode() + b"[" * 100_000, "line 2: not valid JSON"),
        (GOOD.encode() + b"1" * 5000, "line 2: not valid JSON"),
        (GOOD.encode() + b'{"a": 1, "b": {"c": 2, "c": 3}}', "line 2: .*'c' occurs twice"),
        (GOOD.encode() + b'{"a": "\\ud800"}', "line 2: not valid JSON .*surrogates"),
        (GOOD.encode("utf-16"), ": not UTF-8 .*; save the file as UTF-8"),
        ("ä\n".encode("latin-1"), "not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    with pytest.raises(PolyglanceError, match=message):
        list(read_jsonl(path))


def test_a_byte_order_mark_and_paired_surrogates_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\\ud83d\\udc36"}\n')
    assert list(read_jsonl(path)) == [(1, {"a": "🐶"})]


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(GOOD.encode() * 3, mtime=0)
    path = tmp_path / "x.jsonl.gz"
    for data in (GOOD.encode(), whole[:-9], whole[:12] + b"\xff\xff" + whole[14:]):
        path.write_bytes(data)
        with pytest.raises(PolyglanceError, match="damaged"):
            list(read_jsonl(path))


READERS = [read_lines, read_jsonl, lines, read_vectors, _tsv_items]


def read_all(reader, path: Path) -> list:
    found = reader(path)
    return list(found) if reader is not read_vectors else found.words


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz"])
@pytest.mark.parametrize("reader", READERS)
def test_lines_and_runs_of_blank_lines_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader, name: str
) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 40)
    monkeypatch.setattr(files, "MAX_BLANK", 5)
    write = gzip.open if name.endswith(".gz") else open
    path = tmp_path / name
    with write(path, "wt") as handle:
        handle.write("\n" * 6)
    with pytest.raises(PolyglanceError, match=r"x\.tsv.*, line 6: more than 5 blank lines"):
        read_all(reader, path)
    with write(path, "wt") as handle:
        handle.write("\n" * 5 + " " * 41)
    with pytest.raises(PolyglanceError, match=r"x\.tsv.*, line 6: longer than 40 characters"):
        read_all(reader, path)


def test_what_is_within_the_bounds_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", len("word 1 2\n"))
    monkeypatch.setattr(files, "MAX_BLANK", 2)
    path = tmp_path / "x.vec.gz"
    path.write_bytes(gzip.compress(b"word 1 2\n\n\nnext 3 4\n\n\n"))
    assert read_vectors(path).words == ["word", "next"]
    kept = [(number, line) for number, line in read_lines(path) if line]
    assert kept == [(1, "word 1 2"), (4, "next 3 4")]


@pytest.mark.parametrize("reader", [read_jsonl, read_vectors])
def test_a_gigabyte_of_blank_lines_is_refused_after_the_first_million(
    tmp_path: Path, reader
) -> None:
    path = tmp_path / "x.jsonl.gz"
    member = gzip.compress(b"\n" * (1 << 24), mtime=0)
    path.write_bytes(member * 64)
    assert path.stat().st_size < 2 << 20
    message = r"x\.jsonl\.gz, line 1000001: more than 1,000,000 blank lines in a row; remove them"
    with pytest.raises(PolyglanceError, match=message):
        read_all(reader, path)


def test_a_line_of_a_gigabyte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b"[", mtime=0) + gzip.compress(b"0" * (1 << 24), mtime=0) * 64)
    with pytest.raises(PolyglanceError, match="line 1: longer than 67,108,864 characters"):
        read_all(read_jsonl, path)


def test_json_that_is_a_folder_or_too_deep(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="cannot be read"):
        read_json(tmp_path)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(PolyglanceError, match=r"deep\.json: not valid JSON"):
        read_json(tmp_path / "deep.json")


def test_writing_where_one_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for target in (tmp_path / "file" / "x", tmp_path / "folder"):
        with pytest.raises(PolyglanceError, match="cannot be written"), atomic(target) as handle:
            handle.write(b"x")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"), atomic(tmp_path / "x"):
        (tmp_path / "other").read_bytes()
    assert list(tmp_path.iterdir()) == []
