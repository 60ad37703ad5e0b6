"""Every image of a collection is a row of a shard, or a problem with its reason; never both."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from polyglance.collection.plan import Part, done_parts, extend_plan, read_plan
from polyglance.collection.run import EmbedReport, _summarise
from polyglance.collection.sources import find_parts
from polyglance.collection.work import CRASHED
from polyglance.errors import PolyglanceError
from tests.collection.sources import (
    BAD,
    begin,
    embed_all,
    nothing,
    png,
    rows_of,
    shard_files,
    write_folder,
    write_tar,
)
from tests.library.fakes import FakeModel, picture
from tests.library.rows import unit

pytest.importorskip("lancedb")


def expected(numbers: list[int]) -> np.ndarray:
    return unit(FakeModel().encode_images([picture(number) for number in numbers]))


def problems(out: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (out / "problems.jsonl").read_text().splitlines()]


def finish(work: object) -> EmbedReport:
    report = EmbedReport()
    _summarise(work.folder, read_plan(work.folder), report)  # type: ignore[attr-defined]
    return report


@pytest.mark.parametrize("kind", ["parquet", "lance"])
def test_a_folder(tmp_path: Path, kind: str) -> None:
    write_folder(tmp_path / "in", 11, bad=(3, 8))
    (tmp_path / "in" / ".hidden.png").write_bytes(png(50))
    (tmp_path / "in" / "notes.txt").write_text("no image")
    work = begin(tmp_path / "in", tmp_path / "out", kind=kind)
    parts = read_plan(work.folder)
    assert [len(part.names) for part in parts] == [4, 4, 3]
    embed_all(work, parts)
    rows = rows_of(work)
    numbers = [int(Path(str(row["path"])).stem) for row in rows]
    assert sorted(numbers) == [0, 1, 2, 4, 5, 6, 7, 9, 10]
    np.testing.assert_allclose([row["vector"] for row in rows], expected(numbers), atol=1e-5)
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row["thumbnail"] for row in rows)
    report = finish(work)
    assert (report.images, report.problems) == (9, 2)
    found = problems(tmp_path / "out")
    assert [Path(row["path"]).name for row in found] == ["008.png", "003.png"]
    assert all("not an image" in row["reason"] for row in found)


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz"])
def test_tars_with_captions(tmp_path: Path, name: str) -> None:
    write_tar(tmp_path / "in" / name, 6, bad=(1,))
    write_tar(tmp_path / "in" / "b" / name, 3, first=6)
    work = begin(tmp_path / "in", tmp_path / "out")
    embed_all(work, read_plan(work.folder))
    rows = rows_of(work)
    numbers = [int(Path(str(row["path"])).stem) for row in rows]
    assert sorted(numbers) == [0, 2, 3, 4, 5, 6, 7, 8]
    texts = [row["captions"][0]["text"] for row in rows]  # type: ignore[index]
    assert texts == [f"picture {number}" for number in numbers]
    np.testing.assert_allclose([row["vector"] for row in rows], expected(numbers), atol=1e-5)
    assert finish(work).problems == 1
    assert problems(tmp_path / "out")[0]["path"].endswith(f"{name}/001.png")


def test_a_damaged_tar_is_reported_and_images_before_the_damage_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "in" / "a.tar"
    write_tar(path, 6)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 + 100])
    work = begin(tmp_path / "in", tmp_path / "out")
    embed_all(work, read_plan(work.folder))
    report = finish(work)
    assert 0 < report.images < 6
    assert "the tar is damaged after" in problems(tmp_path / "out")[0]["reason"]


def write_table(path: Path, cells: dict[str, object], rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(cells), path, row_group_size=rows)


def test_a_table_of_bytes(tmp_path: Path) -> None:
    cells = [png(0), BAD, None, *(png(number) for number in range(3, 10))]
    write_table(tmp_path / "t.parquet", {"image": cells, "text": ["words"] * 10}, rows=3)
    work = begin(tmp_path / "t.parquet", tmp_path / "out")
    parts = read_plan(work.folder)
    assert [part.groups for part in parts] == [(0, 2), (2, 4)]
    embed_all(work, parts)
    rows = rows_of(work)
    assert [str(row["path"]).partition("#")[2] for row in rows] == list("03456789")
    numbers = [0, *range(3, 10)]
    np.testing.assert_allclose([row["vector"] for row in rows], expected(numbers), atol=1e-5)
    finish(work)
    reasons = [row["reason"] for row in problems(tmp_path / "out")]
    assert reasons[1] == "there is nothing in this row"


def test_a_table_of_paths_and_of_hugging_face(tmp_path: Path) -> None:
    write_folder(tmp_path / "pictures", 2)
    named = ["pictures/0/000.png", str(tmp_path / "pictures/1/001.png"), "none.png", "zip://a::b"]
    cells = [{"bytes": None, "path": name} for name in named] + [{"bytes": png(7), "path": "x"}]
    for number, column in enumerate(({"url": named}, {"image": cells})):
        write_table(tmp_path / f"{number}" / ".." / f"{number}.parquet", column, rows=10)
        work = begin(tmp_path / f"{number}.parquet", tmp_path / f"out{number}", rows=10)
        embed_all(work, read_plan(work.folder))
        numbers = [0, 1, 7][: 2 + number]
        vectors = [row["vector"] for row in rows_of(work)]
        np.testing.assert_allclose(vectors, expected(numbers), atol=1e-5)
        finish(work)
        reasons = [row["reason"] for row in problems(tmp_path / f"out{number}")]
        assert reasons == ["no such file", "'::' would combine file systems"]


def test_an_unknown_image_column_is_an_error(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", {"a": [1], "b": ["x"]}, rows=1)
    with pytest.raises(PolyglanceError, match=r"Name it with --column, from \['a', 'b'\]"):
        list(find_parts(str(tmp_path / "t.parquet"), [], 4, ""))
    with pytest.raises(PolyglanceError, match="the column 'a' is int64"):
        list(find_parts(str(tmp_path / "t.parquet"), [], 4, "a"))


def test_equal_images_are_rows_of_their_own(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.png").write_bytes(png(0))
    work = begin(tmp_path / "in", tmp_path / "out", rows=2)
    embed_all(work, read_plan(work.folder))
    rows = rows_of(work)
    assert len({row["id"] for row in rows}) == 3
    assert len({row["content"] for row in rows}) == 1


def test_finished_parts_are_not_repeated(tmp_path: Path) -> None:
    """The first two shards of a tar are there: the third alone is embedded."""
    write_tar(tmp_path / "in" / "a.tar", 11, bad=(1,))
    work = begin(tmp_path / "in", tmp_path / "out")
    part = read_plan(work.folder)[0]
    work(part, nothing)
    before = rows_of(work)
    (tmp_path / "out" / "shards" / "00000000-000002.parquet").unlink()
    (tmp_path / "out" / "parts" / "00000000.json").unlink()
    work.model.embedded = 0  # type: ignore[attr-defined]
    counts = work(part, nothing)
    assert (counts.images, counts.problems) == (10, 1)
    assert work.model.embedded == 3  # type: ignore[attr-defined]
    assert rows_of(work) == before


def test_new_files_are_planned_and_changed_ones_are_an_error(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", 5)
    folder = begin(tmp_path / "in", tmp_path / "out").folder
    parts = read_plan(folder)
    assert list(find_parts(str(tmp_path / "in"), parts, 4, "")) == []
    write_folder(tmp_path / "in", 7)
    extend_plan(folder, parts, find_parts(str(tmp_path / "in"), parts, 4, ""))
    assert [(part.number, len(part.names)) for part in read_plan(folder)] == [
        (0, 4),
        (1, 1),
        (2, 2),
    ]
    write_tar(tmp_path / "tars" / "a.tar", 2)
    tars = list(find_parts(str(tmp_path / "tars"), [], 4, ""))
    write_tar(tmp_path / "tars" / "a.tar", 9)
    with pytest.raises(PolyglanceError, match="changed since it was embedded"):
        list(find_parts(str(tmp_path / "tars"), tars, 4, ""))


def test_an_image_that_ends_the_process_is_a_problem(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", 4)
    work = begin(tmp_path / "in", tmp_path / "out")
    events: list[dict[str, int]] = []
    counts = work(read_plan(work.folder)[0], events.append, crashed={2}, careful=True)
    assert (counts.images, counts.problems) == (3, 1)
    assert [event["at"] for event in events if "at" in event] == [0, 1, 2, 3]
    finish(work)
    assert problems(tmp_path / "out")[0]["reason"] == CRASHED


def test_a_part_without_any_image_is_done(tmp_path: Path) -> None:
    write_folder(tmp_path / "in", 2, bad=(0, 1))
    work = begin(tmp_path / "in", tmp_path / "out")
    embed_all(work, read_plan(work.folder))
    assert shard_files(work) == []
    assert done_parts(work.folder) == {"00000000"}
    assert finish(work).problems == 2


def test_elsewhere_is_as_here(tmp_path: Path) -> None:
    """fsspec's file system in memory stands for those of other machines."""
    import fsspec

    system = fsspec.filesystem("memory")
    write_folder(tmp_path / "in", 5, bad=(1,))
    system.put(str(tmp_path / "in"), "/pictures", recursive=True)
    try:
        work = begin("memory://pictures", "memory://shards")
        embed_all(work, read_plan(work.folder))
        rows = rows_of(work)
        numbers = [int(Path(str(row["path"])).stem) for row in rows]
        assert sorted(numbers) == [0, 2, 3, 4]
        assert str(rows[0]["path"]).startswith("memory://")
        np.testing.assert_allclose([row["vector"] for row in rows], expected(numbers), atol=1e-5)
        assert finish(work).problems == 1
        work = begin("memory://pictures", tmp_path / "out")
        embed_all(work, read_plan(work.folder))
        assert [row["content"] for row in rows_of(work)] == [row["content"] for row in rows]
    finally:
        system.rm("/pictures", recursive=True)
        system.rm("/shards", recursive=True)


def test_names_that_are_no_utf_8(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with open(bytes(tmp_path / "in") + b"/\xff.png", "wb") as handle:
        handle.write(png(0))
    with open(bytes(tmp_path / "in") + b"/\xfe.png", "wb") as handle:
        handle.write(BAD)
    work = begin(tmp_path / "in", tmp_path / "out")
    embed_all(work, read_plan(work.folder))
    assert len(rows_of(work)) == 1
    finish(work)
    assert "path_base64" in problems(tmp_path / "out")[0]


def test_parts_survive_their_text() -> None:
    part = Part("table", "s3://a/b.parquet", ("x",), (1, 3), 9, 4)
    from polyglance.collection.plan import part_of

    assert part_of(part.as_json()) == part
