"""Collections of each kind, made of the same pictures."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

from polyglance.collection.plan import Part, extend_plan
from polyglance.collection.sources import find_parts
from polyglance.collection.work import Work
from polyglance.library.shards import SHARDS, Mark, Shard, shard_names, write_mark
from polyglance.storage.folders import Folder
from tests.library.fakes import DIM, FakeModel, picture

BAD = b"this is no image"


def png(number: int) -> bytes:
    """The bytes of a picture's file."""
    buffer = io.BytesIO()
    picture(number).save(buffer, "PNG")
    return buffer.getvalue()


def write_folder(place: Path, count: int, bad: tuple[int, ...] = ()) -> None:
    """Pictures by number, in two folders."""
    for number in range(count):
        path = place / f"{number % 2}" / f"{number:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(BAD if number in bad else png(number))


def write_tar(path: Path, count: int, bad: tuple[int, ...] = (), first: int = 0) -> None:
    """A tar as WebDataset has them, gzipped where its name says so, every picture captioned."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as tar:
        for number in range(first, first + count):
            files = {
                "png": BAD if number in bad else png(number),
                "txt": f"picture\n{number}".encode(),
                "json": b"{}",
            }
            for end, data in files.items():
                entry = tarfile.TarInfo(f"{number:03}.{end}")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))


def begin(source: Path | str, out: Path | str, rows: int = 4, kind: str = "parquet") -> Work:
    """What embeds a collection with a model that takes no time, in this process."""
    model, folder = FakeModel(), Folder(out)
    mark = Mark(model.id, "", DIM, str(source), kind, rows=rows)
    write_mark(folder, mark)
    extend_plan(folder, [], find_parts(str(source), [], rows, ""))
    return Work(folder, mark, model)


def rows_of(work: Work) -> list[dict[str, object]]:
    """All rows of all shards."""
    names = shard_names(work.folder, work.mark.kind)
    shards = [Shard(work.folder, name, work.mark.kind) for name in names]
    columns = ["id", "content", "path", "captions", "vector", "thumbnail"]
    return [row for shard in shards for row in shard.read(columns).to_pylist()]


def nothing(event: dict[str, int]) -> None:
    """Nobody asks how far the work is."""


def embed_all(
    work: Work, parts: list[Part], told: Callable[[dict[str, int]], None] = nothing
) -> None:
    """Embed parts, one after the other."""
    for part in parts:
        work(part, told)


def shard_files(work: Work) -> list[str]:
    """The names of the shards that are there."""
    return [name for name in work.folder.names(SHARDS) if not name.startswith(".")]
