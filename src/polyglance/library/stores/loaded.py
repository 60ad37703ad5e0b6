"""Rows and embeddings in memory: every search compares all of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyglance.library.filters import Filter
from polyglance.library.record import Record
from polyglance.library.stores.exact import ExactIndex
from polyglance.library.stores.protocol import Columns, Found, missing_id, ranked

if TYPE_CHECKING:
    import pyarrow as pa


class Loaded:
    """A table of images in the order of their paths, with their embeddings.

    Args:
        vectors: float32 [N, D], normalised.
        table: N rows with the columns of `columns.METADATA`.
        order: [N], original position of each row before sorting; None if not needed.
    """

    def __init__(
        self, vectors: np.ndarray, table: "pa.Table", order: np.ndarray | None = None
    ) -> None:
        self.index, self.table, self._order = ExactIndex(vectors), table, order

    def search(self, query: np.ndarray, top: int, where: Filter) -> list[Found]:
        """The best rows for a query.

        Args:
            query: [D], normalised.
            top: largest number of rows.
            where: restricts the search.
        """
        from polyglance.library.stores.columns import to_records
        from polyglance.library.stores.conditions import to_mask

        rows, scores = self.index.top(query, top, to_mask(where, self.table))
        return ranked(zip(to_records(self.table.take(rows)), scores, strict=True))

    def count(self, where: Filter) -> int:
        """Number of rows that a filter matches."""
        from polyglance.library.stores.conditions import to_mask

        mask = to_mask(where, self.table)
        return len(self.table) if mask is None else int(mask.sum())

    def columns(self, where: Filter) -> Columns:
        """Ids, paths and embeddings of the rows that a filter matches."""
        from polyglance.library.stores.columns import exact_path
        from polyglance.library.stores.conditions import to_mask

        mask = to_mask(where, self.table)
        vectors = self.index.vectors if mask is None else self.index.vectors[mask]
        table = self.table if mask is None else self.table.filter(mask)
        both = zip(table["path"].to_pylist(), table["path_bytes"].to_pylist(), strict=True)
        return Columns(table["id"].to_pylist(), [exact_path(*path) for path in both], vectors)

    def records(self, ids: Sequence[str] | None = None) -> list[Record]:
        """All rows, or those of the ids that exist, in the order of the ids."""
        from polyglance.library.stores.columns import to_records

        if ids is None:
            return list(to_records(self.table))
        rows = [row for row in self._rows(ids) if row is not None]
        return list(to_records(self.table.take(rows))) if rows else []

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """Embeddings in the order of the ids; an unknown id is an error."""
        rows = self._rows(ids)
        for name, row in zip(ids, rows, strict=True):
            if row is None:
                raise missing_id(name)
        return self.index.vectors[np.array(rows, np.int64)]

    def place(self, content: str) -> int | None:
        """Original position of the first row with this content, before sorting."""
        import pyarrow.compute as pc

        row = pc.index(self.table["content"], content).as_py()
        if row < 0:
            return None
        return int(row if self._order is None else self._order[row])

    def _rows(self, ids: Sequence[str]) -> list[int | None]:
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(list(ids), pa.string())
        hits = np.flatnonzero(pc.is_in(self.table["id"], value_set=wanted).to_numpy())
        there = dict(zip(self.table["id"].take(hits).to_pylist(), hits.tolist(), strict=True))
        return [there.get(name) for name in ids]
