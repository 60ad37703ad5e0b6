"""A LanceDB store on disk: exact search in memory while it is small, an index once it is large."""

import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError, needed_by
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.locks import writing
from polyglance.library.record import Record, Stamp
from polyglance.library.stores.loaded import Loaded
from polyglance.library.stores.protocol import (
    Columns,
    Found,
    Known,
    StoreInfo,
    check_model,
    checked_vectors,
    missing_id,
    ranked,
)
from polyglance.storage.files import has_file, read_json, write_json

EXACT_BELOW = 500_000
"""Number of images below which a search compares all of them; above, it uses an index."""
TABLE, MARK = "images", "store.json"
KEPT = timedelta(minutes=10)
"""How long older versions are kept for processes that are reading them."""
INDEX = "IvfSq"
"""Type of index: partitioned vectors with one byte per dimension. IVF_HNSW_SQ takes many times as
long to build and, with the search settings used before, had a lower recall."""
PARTITION = 8192
"""Approximate number of vectors per partition; the size to which LanceDB's `optimize` splits and
joins partitions."""
PROBES, REFINE, ALL = 3, 10, 1_000_000
"""Partitions that a search probes, as a multiple of the square root of their number; candidates
compared exactly, as a multiple of `top`; more partitions than any index has."""
_KNOWN = ["id", "path", "path_bytes", "content", "size", "mtime_ns", "inode"]
_IDS_AT_A_TIME = 2000


def partitions(count: int) -> int:
    """Number of partitions of an index of `count` vectors."""
    return max(1, count // PARTITION)


def probes(count: int, filtered: bool) -> int:
    """Number of partitions that a search probes, those with the nearest centroids first.

    Args:
        count: vectors in the store.
        filtered: whether the search has a filter. Its matches can be in any partition, and the
            fewer they are, the less there is to compare, so all partitions are probed.

    >>> [(partitions(count), probes(count, False)) for count in (10**4, 10**6, 10**8)]
    [(1, 1), (122, 33), (12207, 331)]
    """
    number = partitions(count)
    return ALL if filtered else min(number, round(PROBES * number**0.5))


class LanceStore:
    """A folder with a LanceDB table, which several processes can read and write at once."""

    def __init__(self, folder: Path, exact_below: int = EXACT_BELOW) -> None:
        with needed_by("a library", "library"):
            import lancedb
        if not has_file(folder / MARK):
            raise PolyglanceError(
                f"{folder}: no such store; create a library with 'polyglance library create'"
            )
        mark = read_json(folder / MARK)
        self.folder, self.exact_below = folder, exact_below
        self.model, self.dim = str(mark["model"]), int(mark["dim"])
        self._table: Any = lancedb.connect(str(folder)).open_table(TABLE)
        self._lock = threading.Lock()
        self._loaded: tuple[int, Loaded] | None = None

    @classmethod
    def create(
        cls, folder: Path, model: str, dim: int, exact_below: int = EXACT_BELOW
    ) -> "LanceStore":
        """Create an empty store.

        Args:
            folder: of the store; it must not contain one yet.
            model: the id of the model of its embeddings.
            dim: their dimension.
            exact_below: number of images below which all embeddings are compared.
        """
        with needed_by("a library", "library"):
            import lancedb

            from polyglance.library.stores.columns import schema
        if has_file(folder / MARK):
            raise PolyglanceError(f"{folder}: a store already exists; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        database: Any = lancedb.connect(str(folder))
        database.drop_table(TABLE, ignore_missing=True)  # left by a process killed here
        database.create_table(TABLE, schema=schema(dim))
        write_json(folder / MARK, {"kind": "lance", "model": model, "dim": dim})
        return cls(folder, exact_below)

    def upsert(self, records: Sequence[Record], vectors: np.ndarray, model: str) -> None:
        """As `Store.upsert`."""
        from polyglance.library.stores.columns import to_table

        check_model(self.model, model)
        checked = checked_vectors(vectors, len(records), self.dim)
        last = {record.id: row for row, record in enumerate(records)}
        if not last:
            return
        rows = list(last.values())
        table = to_table([records[row] for row in rows], checked[rows])
        with writing(self.folder):
            self._latest()
            merge = self._table.merge_insert("id")
            merge.when_matched_update_all().when_not_matched_insert_all().execute(table)

    def delete(self, ids: Iterable[str]) -> None:
        """As `Store.delete`."""
        for condition in _of_ids(list(ids)):
            with writing(self.folder):
                self._latest().delete(condition)

    def search(
        self, vector: np.ndarray, top: int, model: str, where: Filter = EVERYTHING
    ) -> list[Found]:
        """As `Store.search`."""
        check_model(self.model, model)
        query = checked_vectors(np.asarray(vector)[None], 1, self.dim)[0]
        if self._is_exact():
            return self._in_memory().search(query, top, where)
        return self._search_index(query, top, where)

    def count(self, where: Filter = EVERYTHING) -> int:
        """As `Store.count`."""
        from polyglance.library.stores.conditions import to_sql

        return int(self._latest().count_rows(to_sql(where)))

    def info(self) -> StoreInfo:
        """As `Store.info`."""
        return StoreInfo("lance", self.model, self.dim, self.count(), self._is_exact())

    def known(self) -> list[Known]:
        """As `Store.known`."""
        from polyglance.library.stores.columns import exact_path

        table = self._latest().search().select(_KNOWN).to_arrow()
        columns = [table[name].to_pylist() for name in _KNOWN]
        return [
            Known(name, exact_path(text, exact), content, Stamp(size, mtime, inode))
            for name, text, exact, content, size, mtime, inode in zip(*columns, strict=True)
        ]

    def records(self, ids: Sequence[str] | None = None) -> list[Record]:
        """As `Store.records`."""
        from polyglance.library.stores.columns import METADATA, to_records

        found = [r for table in self._tables(ids, METADATA) for r in to_records(table)]
        if ids is None:
            return sorted(found, key=lambda record: record.path)
        named = {record.id: record for record in found}
        return [named[name] for name in ids if name in named]

    def columns(self, where: Filter = EVERYTHING) -> Columns:
        """As `Store.columns`."""
        return self._in_memory().columns(where)

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """As `Store.vectors`."""
        from polyglance.library.stores.columns import vectors_of

        found: dict[str, np.ndarray] = {}
        for table in self._tables(ids, ["id", "vector"]):
            found.update(zip(table["id"].to_pylist(), vectors_of(table), strict=True))
        result = np.empty((len(ids), self.dim), np.float32)
        for row, name in enumerate(ids):
            if name not in found:
                raise missing_id(name)
            result[row] = found[name]
        return result

    def optimise(self) -> None:
        """As `Store.optimise`; other processes can continue to read."""
        with writing(self.folder):
            table = self._latest()
            table.optimize(cleanup_older_than=KEPT)
            if not self._is_exact() and INDEX not in (i.index_type for i in table.list_indices()):
                from lancedb.index import IvfSq

                number = partitions(table.count_rows())
                config = IvfSq(distance_type="cosine", num_partitions=number)
                table.create_index("vector", config=config)  # replaces one of another kind

    def drop(self) -> None:
        """As `Store.drop`."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """Nothing to do."""

    def _latest(self) -> Any:
        try:
            self._table.checkout_latest()
        except RuntimeError as error:
            if (self.folder / MARK).is_file():
                raise
            raise PolyglanceError(
                f"{self.folder}: the store is gone, as after 'polyglance library reembed'; "
                "open the library again"
            ) from error
        return self._table

    def _is_exact(self) -> bool:
        return bool(self._latest().count_rows() < self.exact_below)

    def _tables(self, ids: Sequence[str] | None, columns: list[str]) -> Iterator[Any]:
        table = self._latest()
        if ids is None:
            yield table.search().select(columns).to_arrow()
            return
        for condition in _of_ids(ids):
            yield table.search().where(condition).select(columns).to_arrow()

    def _in_memory(self) -> Loaded:
        """All rows and vectors of the latest version, reloaded when it has changed."""
        from polyglance.library.stores.columns import METADATA, gather

        with self._lock:
            version = self._latest().version
            if self._loaded is None or self._loaded[0] != version:
                self._loaded = None  # frees the old one first
                count = self._table.count_rows()
                batches = self._table.search().select([*METADATA, "vector"]).to_batches()
                self._loaded = version, Loaded(*gather(batches, count, self.dim))
            return self._loaded[1]

    def _search_index(self, query: np.ndarray, top: int, where: Filter) -> list[Found]:
        from polyglance.library.stores.columns import METADATA, to_records
        from polyglance.library.stores.conditions import to_sql

        table, condition = self._latest(), to_sql(where)
        search = table.search(query).distance_type("cosine")
        search = search.select([*METADATA, "_distance"]).limit(top).refine_factor(REFINE)
        search = search.nprobes(probes(table.count_rows(), condition is not None))
        if condition is not None:
            search = search.where(condition, prefilter=True)
        found = search.to_arrow()
        scores = 1.0 - found["_distance"].to_numpy()
        return ranked(zip(to_records(found), scores, strict=True))


def _of_ids(ids: Sequence[str]) -> Iterator[str]:
    from polyglance.library.stores.conditions import quote

    for start in range(0, len(ids), _IDS_AT_A_TIME):
        yield f"id IN ({', '.join(map(quote, ids[start : start + _IDS_AT_A_TIME]))})"
