"""The work on a part: its images become shards, each written as a whole or not at all."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from polyglance.collection.items import Item, read_items
from polyglance.collection.plan import NUMBERS, PARTS, Damaged, Part
from polyglance.collection.prepare import Prepared, ahead, prepare, threads_for
from polyglance.library.media.embedding import BATCH, Encoder
from polyglance.library.shards import SHARDS, THUMBNAIL, Mark, Shard, write_shard
from polyglance.library.stores.protocol import checked_vectors
from polyglance.storage.folders import Folder

PROBLEMS = "problems"
CRASHED = "decoding it crashes the process"
Notify = Callable[[dict[str, int]], None]


@dataclass(frozen=True, slots=True)
class Counts:
    """Images embedded and not embedded of a part."""

    images: int
    problems: int
    damage: str = ""
    """What is wrong with the tar or table itself, if the rest of it cannot be read."""


class Work:
    """Embeds the parts of one collection.

    Args:
        folder: of shards.
        mark: its properties, such as rows per shard and the column with the images.
        model: embeds the images.
    """

    def __init__(self, folder: Folder, mark: Mark, model: Encoder) -> None:
        self.folder, self.mark, self.model = folder, mark, model

    def __call__(
        self, part: Part, notify: Notify, crashed: Collection[int] = (), careful: bool = False
    ) -> Counts:
        """Embed a part and mark it as done; existing shards are kept.

        Args:
            part: of the plan.
            notify: called with {"done": n} after images and, if careful, {"at": index} before each.
            crashed: indices of images that crashed the process before.
            careful: decode one image at a time.
        """
        is_done = lru_cache(4)(lambda chunk: self._is_done(part, chunk))
        rows = self.mark.rows
        items = read_items(part, self.mark.column, lambda number: not is_done(number // rows))
        images = problems = 0
        damage: list[str] = []
        for chunk, group in groupby(_whole(items, damage), lambda item: item.number // rows):
            if is_done(chunk):
                count = self._skip(part, chunk, group, notify)
            else:
                count = self._embed(part, chunk, group, notify, crashed, careful)
            images, problems = images + count[0], problems + count[1]
        counts = Counts(images, problems, "".join(damage))
        self.folder.write(f"{PARTS}/{part.name}.json", json.dumps(asdict(counts)).encode())
        return counts

    def _is_done(self, part: Part, chunk: int) -> bool:
        return self.folder.exists(f"{SHARDS}/{_name(part, chunk)}.{self.mark.kind}")

    def _skip(
        self, part: Part, chunk: int, group: Iterator[Item], notify: Notify
    ) -> tuple[int, int]:
        """Count the images that an earlier run embedded."""
        name = _name(part, chunk)
        images = len(Shard(self.folder, name, self.mark.kind))
        file = f"{PROBLEMS}/{name}.jsonl"
        lines = self.folder.read(file).splitlines() if self.folder.exists(file) else []
        for _ in group:
            pass
        notify({"done": images + len(lines)})
        return images, len(lines)

    def _embed(
        self,
        part: Part,
        chunk: int,
        group: Iterator[Item],
        notify: Notify,
        crashed: Collection[int],
        careful: bool,
    ) -> tuple[int, int]:
        """Embed the images of a shard and write it; problems first, as a shard means all done."""
        preprocessing, thumbnails = self.model.images.preprocessing, self.mark.thumbnails

        def work(item: Item) -> Prepared:
            if item.number in crashed:
                return Prepared(item, None, b"", None, CRASHED)
            return prepare(item, preprocessing, part.number * NUMBERS, thumbnails)

        threads = threads_for(part.kind, part.place)
        found = _one_by_one(group, work, notify) if careful else ahead(group, work, threads)
        good: list[Prepared] = []
        vectors: list[np.ndarray] = []
        bad: list[Prepared] = []
        for batch in _batches(found):
            bad += [one for one in batch if one.pixels is None]
            fit = [one for one in batch if one.pixels is not None]
            for one, vector in zip(fit, self._vectors(fit), strict=True):
                if vector is None:
                    bad.append(one._replace(reason="the model returned no embedding"))
                else:
                    good.append(one._replace(pixels=None))
                    vectors.append(vector)
            notify({"done": len(batch)})
        self._write(_name(part, chunk), good, vectors, bad)
        return len(good), len(bad)

    def _vectors(self, batch: list[Prepared]) -> list[np.ndarray | None]:
        if not batch:
            return []
        pixels = np.stack([one.pixels for one in batch if one.pixels is not None])
        found = self.model.images.embed_pixels(pixels)
        usable = (row is not None and np.isfinite(row).all() and row.any() for row in found)
        return [row if good else None for row, good in zip(found, usable, strict=True)]

    def _write(
        self, name: str, good: list[Prepared], vectors: list[np.ndarray], bad: list[Prepared]
    ) -> None:
        import pyarrow as pa

        from polyglance.library.stores.columns import to_table

        bad = sorted(bad, key=lambda one: one.item.number)
        if bad:
            lines = (_problem(one.item.path, one.reason) for one in bad)
            self.folder.write(f"{PROBLEMS}/{name}.jsonl", "".join(lines).encode())
        if not good:
            return
        checked = checked_vectors(np.stack(vectors), len(good), self.model.dim)
        table = to_table([one.record for one in good if one.record is not None], checked)
        thumbnails = pa.array([one.thumbnail or None for one in good], pa.binary())
        table = table.append_column(THUMBNAIL, thumbnails)
        write_shard(self.folder, name, table, self.mark.kind)


def _whole(items: Iterator[Item], damage: list[str]) -> Iterator[Item]:
    """Items up to the damage in the tar or table, if any, which is added to `damage`."""
    try:
        yield from items
    except Damaged as error:
        damage.append(str(error))


def _name(part: Part, chunk: int) -> str:
    return f"{part.name}-{chunk:06}"


def _problem(path: str, reason: str) -> str:
    from pathlib import PurePath

    from polyglance.core.terminal import path_fields

    fields: dict[str, Any] = {"path": path}
    if "://" not in path:
        fields = path_fields(PurePath(path))  # type: ignore[arg-type]
    return json.dumps({**fields, "reason": reason}) + "\n"


def _batches(found: Iterator[Prepared]) -> Iterator[list[Prepared]]:
    """Batches of `BATCH` images for the network, or of as many bad ones."""
    batch: list[Prepared] = []
    for one in found:
        batch.append(one)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _one_by_one(
    group: Iterator[Item], work: Callable[[Item], Prepared], notify: Notify
) -> Iterator[Prepared]:
    for item in group:
        notify({"at": item.number})
        yield work(item)
