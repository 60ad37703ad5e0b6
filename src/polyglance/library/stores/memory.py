"""A store in memory with exhaustive search: the reference for the others."""

from collections.abc import Iterable, Sequence

import numpy as np

from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.record import Record
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


class MemoryStore:
    """Nothing is persisted.

    >>> MemoryStore("a model's id", 8).count()
    0
    """

    def __init__(self, model: str, dim: int) -> None:
        self.model, self.dim = model, dim
        self._rows: dict[str, tuple[Record, np.ndarray]] = {}

    def upsert(self, records: Sequence[Record], vectors: np.ndarray, model: str) -> None:
        """As `Store.upsert`."""
        check_model(self.model, model)
        checked = checked_vectors(vectors, len(records), self.dim)
        for record, vector in zip(records, checked, strict=True):
            self._rows[record.id] = record, vector

    def delete(self, ids: Iterable[str]) -> None:
        """As `Store.delete`."""
        for name in ids:
            self._rows.pop(name, None)

    def search(
        self, vector: np.ndarray, top: int, model: str, where: Filter = EVERYTHING
    ) -> list[Found]:
        """As `Store.search`."""
        check_model(self.model, model)
        query = checked_vectors(np.asarray(vector)[None], 1, self.dim)[0]
        rows = (row for row in self._rows.values() if where.matches(row[0]))
        return ranked((record, float(own @ query)) for record, own in rows)[:top]

    def count(self, where: Filter = EVERYTHING) -> int:
        """As `Store.count`."""
        return sum(where.matches(record) for record, _ in self._rows.values())

    def info(self) -> StoreInfo:
        """As `Store.info`."""
        return StoreInfo("memory", self.model, self.dim, self.count(), exact=True)

    def known(self) -> list[Known]:
        """As `Store.known`."""
        rows = (record for record, _ in self._rows.values())
        return [Known(row.id, row.path, row.content, row.stamp) for row in rows]

    def records(self, ids: Sequence[str] | None = None) -> list[Record]:
        """As `Store.records`."""
        if ids is None:
            return sorted((record for record, _ in self._rows.values()), key=lambda row: row.path)
        return [self._rows[name][0] for name in ids if name in self._rows]

    def columns(self, where: Filter = EVERYTHING) -> Columns:
        """As `Store.columns`."""
        rows = [record for record in self.records() if where.matches(record)]
        ids = [record.id for record in rows]
        return Columns(ids, [record.path for record in rows], self.vectors(ids))

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """As `Store.vectors`."""
        for name in ids:
            if name not in self._rows:
                raise missing_id(name)
        rows = [self._rows[name][1] for name in ids]
        return np.array(rows, np.float32).reshape(len(ids), self.dim)

    def optimise(self) -> None:
        """Nothing to do."""

    def drop(self) -> None:
        """As `Store.drop`."""
        self._rows.clear()

    def close(self) -> None:
        """Nothing to do."""
