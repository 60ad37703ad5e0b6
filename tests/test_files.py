"""Reading damaged files and writing where one cannot."""

import gzip
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.files import atomic, read_json, read_jsonl

GOOD = '{"a": 1}\n'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (GOOD.encode() + b'{"a": \n', "line 2: not valid JSON"),
        (GOOD.encode() + b"[" * 100_000, "line 2: not valid JSON"),
        (GOOD.encode() + b"1" * 5000, "line 2: not valid JSON"),
        (GOOD.encode() + b'{"a": 1, "b": {"c": 2, "c": 3}}', "line 2: .*'c' is there twice"),
        (GOOD.encode() + b'{"a": "\\ud800"}', "line 2: not valid JSON .*surrogates"),
        (GOOD.encode("utf-16"), "after line 0: not UTF-8 .*; save the file as UTF-8"),
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
