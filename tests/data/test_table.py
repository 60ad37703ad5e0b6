import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.data import load_dataset
from polyglance.data.table import hash_splits, load_table
from polyglance.errors import PolyglanceError


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def test_all_columns(tmp_path: Path) -> None:
    table = write(
        tmp_path / "mine.csv",
        "path,caption,language,split,kind\n"
        'a.jpg,"Ein Hund, der läuft",de,train,independent\n'
        "a.jpg,A dog,en,train,translation\n"
        "a.jpg,A running dog,en,train,translation\n"
        "sub/b.jpg,A cat,en,dev,\n",
    )
    dataset = load_dataset(table)
    assert [photo.image for photo in dataset.images] == ["a.jpg", "sub/b.jpg"]
    assert dataset.images[0].captions == {
        "de": {"independent": ["Ein Hund, der läuft"]},
        "en": {"translation": ["A dog", "A running dog"]},
    }
    assert dataset.images[1].split == "val"
    assert dataset.images[1].captions == {"en": {"independent": ["A cat"]}}
    assert dataset.path(dataset.images[1]) == tmp_path / "sub/b.jpg"
    assert dataset.name == "mine"


@pytest.mark.parametrize(
    ("name", "separator", "encoding", "newline"),
    [
        ("a.csv", ",", "utf-8", "\n"),
        ("a.csv", ";", "utf-8-sig", "\r\n"),
        ("a.csv", "\t", "utf-8", "\r\n"),
        ("a.tsv", "\t", "utf-8-sig", "\n"),
        ("a.tsv", "\t", "utf-16", "\r\n"),
        ("A.CSV", "|", "utf-8", "\n"),
    ],
)
def test_separators_bom_and_line_ends(
    tmp_path: Path, name: str, separator: str, encoding: str, newline: str
) -> None:
    rows = [("Filename", "Sentence", "Locale"), ("x/ü.jpg", "犬が走る, 速く", "ja-JP")]
    quoted = separator.join(f'"{cell}"' for cell in rows[1])
    text = separator.join(rows[0]) + newline + quoted + newline
    table = write(tmp_path / name, text, encoding)
    photo = load_table(table).images[0]
    assert photo.image == "x/ü.jpg"
    assert photo.captions == {"ja": {"independent": ["犬が走る, 速く"]}}


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table(
        {
            "image": ["a.jpg", "b.jpg"],
            "text": [["one", "two"], ["three"]],
            "lang": ["en", "fr"],
            "split": ["train", "test"],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    photos = load_dataset(tmp_path / "t.parquet").images
    assert photos[0].captions == {"en": {"independent": ["one", "two"]}}
    assert (photos[1].split, photos[1].captions) == ("test", {"fr": {"independent": ["three"]}})
    pq.write_table(table.set_column(1, "text", [["", "x"]]), tmp_path / "empty.parquet")
    with pytest.raises(PolyglanceError, match=r"empty\.parquet, row 1: the caption is empty"):
        load_table(tmp_path / "empty.parquet")
    write(tmp_path / "no.parquet", "text")
    with pytest.raises(PolyglanceError, match=r"no\.parquet: not a readable Parquet file"):
        load_table(tmp_path / "no.parquet")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo,caption,language\na,b,en\n", "no column 'path'.*the columns are: foo, caption"),
        ("path,foo,language\na,b,en\n", "no column 'caption' .nor text, sentence"),
        ("path,caption\na,b\n", "no column 'language'.*-o language=en"),
        ("path,caption,language\n", "no rows"),
        ("", "the first line must name the columns"),
        ("path,caption,language\na,b,en\n\na,  ,en\n", "line 4: the caption is empty"),
        ("path,caption,language\n,,\n", "line 2: the path is empty"),
        ("path,caption,language\na,b\n", "line 2: the language is empty"),
        ("path,caption,language\na,b, c,en\n", "line 2: 4 cells in 3 columns"),
        ('path,caption,language\na,"b,en\n', "check the quotes"),
        ("path,caption,language\na,b,English\n", "line 2: .* 'English', .* the tag 'en'"),
        ("path,caption,language\na,b,deutsch\n", "line 2: .* 'deutsch', .* the tag 'de'"),
        ("path,caption,language\na,b,en\na,b,-\n", "line 3: the language is '-', .* such as en"),
        (
            "path,caption,language,split\na,b,en,train\na,c,en,test\n",
            "line 3: 'a' is in split 'test' here but in 'train' in line 2",
        ),
    ],
)
def test_errors_name_file_line_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    table = write(tmp_path / "t.csv", text)
    with pytest.raises(PolyglanceError, match=message) as caught:
        load_table(table)
    assert str(table) in str(caught.value)


def test_not_utf8_and_missing(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "path,caption,language\na,Männer,de\n", "latin-1")
    with pytest.raises(PolyglanceError, match="save the table as UTF-8"):
        load_table(table)
    with pytest.raises(PolyglanceError, match="no such file"):
        load_dataset(tmp_path / "none.csv")


def test_language_for_a_table_without_the_column(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "image;title\na.jpg;Un chien\n")
    assert load_table(table, "fr").images[0].captions == {"fr": {"independent": ["Un chien"]}}


def test_split_golden() -> None:
    names = [f"images/{i:05d}.jpg" for i in range(2000)]
    splits = hash_splits(names)
    sizes = {split: list(splits.values()).count(split) for split in ("train", "val", "test")}
    assert sizes == {"train": 1812, "val": 92, "test": 96}
    assert [splits[name] for name in names[:3]] == ["train", "train", "train"]


@settings(max_examples=50, deadline=None)
@given(st.sets(st.text(min_size=1, max_size=8), min_size=3, max_size=60))
def test_every_split_has_an_image(names: set[str]) -> None:
    splits = hash_splits(sorted(names))
    assert set(splits) == names
    assert set(splits.values()) == {"train", "val", "test"}


@settings(max_examples=10, deadline=None)
@given(st.integers(200, 400), st.integers(0, 200))
def test_split_does_not_change_when_rows_are_added(first: int, added: int) -> None:
    names = [f"{i}.jpg" for i in range(first + added)]
    before, after = hash_splits(names[:first]), hash_splits(reversed(names))
    assert before == {name: after[name] for name in names[:first]}


def test_rows_of_one_image_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["path", "caption", "language"])
        writer.writerows([f"{i % 7}.jpg", f"caption {i}", "en"] for i in range(21))
    dataset = load_table(path)
    assert len(dataset) == 7
    assert all(len(photo.captions["en"]["independent"]) == 3 for photo in dataset.images)
    assert set(dataset.splits) == {"train", "val", "test"}


def test_folder_is_still_a_folder(tmp_path: Path) -> None:
    row = '{"image": "a", "split": "train", "captions": {"en": {"independent": ["x"]}}}\n{oops\n'
    with gzip.open(tmp_path / "captions.jsonl.gz", "wt", encoding="utf-8") as handle:
        handle.write(row)
    with pytest.raises(PolyglanceError, match=r"captions\.jsonl\.gz, line 2: not valid JSON"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("caption", [1, 2], "row 1: the caption must be text, not 1 .int."),
        (
            "caption",
            [b"a dog", b"a cat"],
            "row 1: the caption must be text, not b'a dog' .bytes",
        ),
        ("caption", [[1], [2]], "row 1: the caption must be text, not 1 .int."),
        ("language", [1, 2], "row 1: the language must be text"),
        ("split", [True, False], "row 1: the split must be text, not True"),
        ("caption", [None, "x"], "row 1: the caption is empty"),
    ],
)
def test_a_parquet_column_of_another_type_is_not_called_empty(
    tmp_path: Path, column: str, values: list, message: str
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    cells = {"path": ["a.jpg", "b.jpg"], "caption": ["x", "y"], "language": ["en", "en"]}
    pq.write_table(pa.table({**cells, column: values}), tmp_path / "t.parquet")
    with pytest.raises(PolyglanceError, match=message):
        load_table(tmp_path / "t.parquet")


def test_a_language_of_one_s_own_is_taken(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "path,caption,language\na.jpg,nuqneH,klingon\n")
    assert load_table(table).languages == ["klingon"]
    with pytest.raises(PolyglanceError, match="the tag 'fr'"):
        load_table(write(tmp_path / "u.csv", "path,caption\na,b\n"), language="French")
