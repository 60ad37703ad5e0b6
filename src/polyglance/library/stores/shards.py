"""A read-only store over the shards of `polyglance embed`, which stay in place."""

import threading
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError, needed_by
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.media.thumbnails import Thumbnails
from polyglance.library.record import Record
from polyglance.library.shards import Shard, read_mark, shard_names
from polyglance.library.stores.lance import EXACT_BELOW, LanceStore
from polyglance.library.stores.loaded import Loaded
from polyglance.library.stores.protocol import (
    Columns,
    Found,
    Known,
    StoreInfo,
    check_model,
    checked_vectors,
)
from polyglance.storage.files import has_file, read_json, write_json
from polyglance.storage.folders import Folder

INDEXED = "indexed.json"
"""File in the index folder that lists the indexed shards."""
TOGETHER = 20_000
"""Rows indexed at a time."""


class ShardStore:
    """Read-only images of shards; new shards are seen when it is opened again.

    All embeddings are compared in memory. Beyond `exact_below` images, `optimise` builds an index
    in a folder of the library, which is used from then on.

    Args:
        place: folder of the shards, local or remote.
        index: folder of the index.
        exact_below: number of images from which an index is built.
    """

    def __init__(self, place: str, index: Path, exact_below: int = EXACT_BELOW) -> None:
        with needed_by("a library of shards", "library"):
            import lancedb  # noqa: F401
            import pyarrow  # noqa: F401
        self.folder = Folder(place)
        mark = read_mark(self.folder)
        self.model, self.dim, self.kind = mark.model, mark.dim, mark.kind
        self.exact_below, self._place = exact_below, index
        names = shard_names(self.folder, self.kind)
        self.shards = [Shard(self.folder, name, self.kind) for name in names]
        self._ends = list(accumulate(map(len, self.shards)))
        self._lock = threading.Lock()
        self._kept: Loaded | None = None
        self._index = self._open_index()

    def upsert(self, records: Sequence[Record], vectors: np.ndarray, model: str) -> None:
        """Raise: shards are read-only."""
        raise self.fixed()

    def delete(self, ids: Iterable[str]) -> None:
        """Raise: shards are read-only."""
        raise self.fixed()

    def search(
        self, vector: np.ndarray, top: int, model: str, where: Filter = EVERYTHING
    ) -> list[Found]:
        """As `Store.search`."""
        check_model(self.model, model)
        if self._index is not None:
            return self._index.search(vector, top, model, where)
        query = checked_vectors(np.asarray(vector)[None], 1, self.dim)[0]
        return self._loaded().search(query, top, where)

    def count(self, where: Filter = EVERYTHING) -> int:
        """As `Store.count`."""
        if where == EVERYTHING:
            return self._ends[-1] if self._ends else 0
        return self._loaded().count(where)

    def info(self) -> StoreInfo:
        """As `Store.info`."""
        exact = self._index is None
        return StoreInfo(f"{self.kind} shards", self.model, self.dim, self.count(), exact)

    def known(self) -> list[Known]:
        """As `Store.known`."""
        return [Known(row.id, row.path, row.content, row.stamp) for row in self.records()]

    def records(self, ids: Sequence[str] | None = None) -> list[Record]:
        """As `Store.records`."""
        if self._index is not None and ids is not None:
            return self._index.records(ids)
        return self._loaded().records(ids)

    def columns(self, where: Filter = EVERYTHING) -> Columns:
        """As `Store.columns`."""
        return self._loaded().columns(where)

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """As `Store.vectors`."""
        if self._index is not None:
            return self._index.vectors(ids)
        return self._loaded().vectors(ids)

    def optimise(self) -> None:
        """Index the embeddings if there are many; after a kill, a second call resumes."""
        if self.count() < self.exact_below:
            return
        there = has_file(self._place / "store.json")
        index = (
            LanceStore(self._place, 1)
            if there
            else LanceStore.create(self._place, self.model, self.dim, 1)
        )
        names = self._indexed()
        for group in self._waiting(set(names)):
            records, vectors = _rows(group)
            index.upsert(records, vectors, self.model)
            names += [shard.name for shard in group]
            write_json(self._place / INDEXED, names)
        index.optimise()
        self._index, self._kept = index, None

    def drop(self) -> None:
        """Raise: shards are read-only."""
        raise self.fixed()

    def close(self) -> None:
        """Nothing to do."""

    def thumbnail(self, key: str) -> bytes | None:
        """The thumbnail for a content digest, if the shards have it."""
        place = self._loaded().place(key)
        if place is None:
            return None
        shard = bisect_right(self._ends, place)
        first = self._ends[shard - 1] if shard else 0
        return self.shards[shard].thumbnail(place - first)

    def _open_index(self) -> LanceStore | None:
        """The index, if all shards are in it."""
        names = {shard.name for shard in self.shards}
        complete = bool(names) and names <= set(self._indexed())
        if not complete or self.count() < self.exact_below:
            return None
        found = LanceStore(self._place, 1)
        return found if found.model == self.model else None

    def _indexed(self) -> list[str]:
        path = self._place / INDEXED
        return list(read_json(path)) if has_file(path) else []

    def _waiting(self, indexed: set[str]) -> Iterator[list[Shard]]:
        """Shards that are not indexed yet, in groups."""
        group: list[Shard] = []
        for shard in self.shards:
            if shard.name not in indexed:
                group.append(shard)
            if sum(map(len, group)) >= TOGETHER:
                yield group
                group = []
        if group:
            yield group

    def _loaded(self) -> Loaded:
        """All rows and vectors in memory, in the order of their paths."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from polyglance.library.stores.columns import METADATA, schema, vectors_of

        with self._lock:
            if self._kept is None:
                tables = [shard.read(METADATA) for shard in self.shards]
                table = pa.concat_tables(tables) if tables else schema().empty_table()
                order = pc.sort_indices(table["path"]).to_numpy()
                place = np.empty(len(order), np.int64)
                place[order] = np.arange(len(order))
                vectors = np.empty((len(order), self.dim), np.float32)
                start = 0
                for shard in self.shards:  # one at a time, to avoid a second copy
                    own = vectors_of(shard.read(["vector"]))
                    vectors[place[start : start + len(own)]] = own
                    start += len(own)
                self._kept = Loaded(vectors, table.take(order).combine_chunks(), order)
            return self._kept

    def fixed(self) -> PolyglanceError:
        """The error for attempts to change it."""
        return PolyglanceError(
            f"{self.folder.place}: a library of shards is read-only; add images to their source "
            "and call 'polyglance embed' again"
        )


def _rows(group: list[Shard]) -> tuple[list[Record], np.ndarray]:
    from polyglance.library.stores.columns import METADATA, to_records, vectors_of

    tables: list[Any] = [shard.read([*METADATA, "vector"]) for shard in group]
    records = [record for table in tables for record in to_records(table)]
    return records, np.concatenate([vectors_of(table) for table in tables])


class ShardThumbnails(Thumbnails):
    """Read-only thumbnails of shards."""

    def __init__(self, store: ShardStore) -> None:
        self._store = store

    def put(self, thumbnails: Mapping[str, bytes]) -> None:
        """Raise: shards are read-only."""
        raise self._store.fixed()

    def keep(self, keys: Collection[str]) -> int:
        """Keep all."""
        return 0

    def get(self, key: str) -> bytes | None:
        """A thumbnail, if it exists."""
        return self._store.thumbnail(key)

    def close(self) -> None:
        """Nothing to do."""
