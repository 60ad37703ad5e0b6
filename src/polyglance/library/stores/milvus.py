"""A store in Milvus, through pymilvus: a server's collection, or a file of milvus-lite."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError, needed_by
from polyglance.library.filters import EVERYTHING, Filter
from polyglance.library.record import Record
from polyglance.library.stores.exact import ExactIndex
from polyglance.library.stores.milvus_address import Address
from polyglance.library.stores.milvus_rows import (
    KNOWN,
    LISTS,
    METADATA,
    NUMBERS,
    TEXTS,
    of_ids,
    path_of,
    stamp_of,
    to_condition,
    to_record,
    to_row,
)
from polyglance.library.stores.protocol import (
    DIGITS,
    Columns,
    Found,
    Known,
    StoreInfo,
    check_model,
    checked_vectors,
    missing_id,
    ranked,
)

MOST = 16_384
"""Largest number of results of a search, a limit of Milvus."""
EFFORT = 400
"""Least length of HNSW's candidate list."""
_PREFIX = "of_"
"""The vector field is named after its model, so that no other model's vectors fit."""
_AT_A_TIME = 1000
_SECONDS = 60.0


class MilvusStore:
    """A collection. Any number of processes may use a server's; a file allows one."""

    def __init__(self, address: str) -> None:
        self.address = Address.of(address)
        self._client: Any = _connect(self.address)
        name = self.address.collection
        with _errors(self.address):
            if not self._client.has_collection(name):
                raise PolyglanceError(
                    f"{address}: no such store; create a library with 'polyglance library create'"
                )
            self._field, self.dim = self._described()
            self.model = self._field.removeprefix(_PREFIX)
            if not self._client.list_indexes(name):  # creation was killed here
                self._client.create_index(name, _index(self._client, self._field, self.address))
            self._client.load_collection(name)
            found = self._client.describe_index(name, self._field)
            self.exact = str(found.get("index_type")) == "FLAT"

    @classmethod
    def create(cls, address: str, model: str, dim: int) -> "MilvusStore":
        """Create an empty store.

        Args:
            address: of a collection that does not exist yet.
            model: id of the model of its embeddings.
            dim: their dimension.
        """
        place = Address.of(address)
        client = _connect(place)
        with _errors(place):
            if client.has_collection(place.collection):
                raise PolyglanceError(f"{address}: a store already exists; choose another")
            field = _PREFIX + model
            client.create_collection(
                place.collection,
                schema=_schema(client, field, dim),
                consistency_level="Strong",
                num_shards=1,
            )
        return cls(address)

    def upsert(self, records: Sequence[Record], vectors: np.ndarray, model: str) -> None:
        """As `Store.upsert`."""
        check_model(self.model, model)
        checked = checked_vectors(vectors, len(records), self.dim)
        last = {record.id: row for row, record in enumerate(records)}
        rows = [{**to_row(records[row]), self._field: checked[row]} for row in last.values()]
        if rows:
            with _errors(self.address):
                self._client.upsert(self.address.collection, rows)

    def delete(self, ids: Iterable[str]) -> None:
        """As `Store.delete`."""
        for condition in _conditions(list(ids)):
            with _errors(self.address):
                self._client.delete(self.address.collection, filter=condition)

    def search(
        self, vector: np.ndarray, top: int, model: str, where: Filter = EVERYTHING
    ) -> list[Found]:
        """As `Store.search`; with 16,384 images or more, all embeddings are read and compared."""
        check_model(self.model, model)
        query = checked_vectors(np.asarray(vector)[None], 1, self.dim)[0]
        wanted = top + 8
        while wanted <= MOST:
            found = self._ask(query, wanted, where)
            # Milvus does not define which of equal results it returns: all of them are needed.
            if len(found) < wanted or found[top - 1].score > found[-1].score:
                return found[:top]
            wanted *= 2
        return self._compare_all(query, top, where)

    def count(self, where: Filter = EVERYTHING) -> int:
        """As `Store.count`."""
        with _errors(self.address):
            found = self._client.query(
                self.address.collection, filter=to_condition(where), output_fields=["count(*)"]
            )
        return int(found[0]["count(*)"])

    def info(self) -> StoreInfo:
        """As `Store.info`."""
        return StoreInfo("milvus", self.model, self.dim, self.count(), self.exact)

    def known(self) -> list[Known]:
        """As `Store.known`."""
        rows = self._all(EVERYTHING, KNOWN)
        return [Known(row["id"], path_of(row), row["content"], stamp_of(row)) for row in rows]

    def records(self, ids: Sequence[str] | None = None) -> list[Record]:
        """As `Store.records`."""
        if ids is None:
            found = (to_record(row) for row in self._all(EVERYTHING, METADATA))
            return sorted(found, key=lambda record: record.path)
        named = {row["id"]: to_record(row) for row in self._named(ids, METADATA)}
        return [named[name] for name in ids if name in named]

    def columns(self, where: Filter = EVERYTHING) -> Columns:
        """As `Store.columns`."""
        rows = self._all(where, ["id", "path", "path_hex", self._field])
        found = sorted((path_of(row), row["id"], row[self._field]) for row in rows)
        vectors = np.array([row[2] for row in found], np.float32).reshape(len(found), self.dim)
        return Columns([row[1] for row in found], [row[0] for row in found], vectors)

    def vectors(self, ids: Sequence[str]) -> np.ndarray:
        """As `Store.vectors`."""
        found = {row["id"]: row[self._field] for row in self._named(ids, ["id", self._field])}
        for name in ids:
            if name not in found:
                raise missing_id(name)
        rows = [found[name] for name in ids]
        return np.array(rows, np.float32).reshape(len(ids), self.dim)

    def optimise(self) -> None:
        """As `Store.optimise` for a file; a server does it by itself."""
        if self.address.file is not None:
            with _errors(self.address):
                self._client.flush(self.address.collection)

    def drop(self) -> None:
        """Delete the collection permanently."""
        with _errors(self.address):
            self._client.drop_collection(self.address.collection)

    def close(self) -> None:
        """As `Store.close`; afterwards another process can open the file."""
        self._client.close()
        if self.address.file is not None:
            from milvus_lite.server_manager import server_manager_instance

            server_manager_instance.release_server(self.address.uri)

    def _described(self) -> tuple[str, int]:
        """The vector field and its dimension."""
        fields = self._client.describe_collection(self.address.collection)["fields"]
        for field in fields:
            if field["name"].startswith(_PREFIX) and "dim" in field["params"]:
                return str(field["name"]), int(field["params"]["dim"])
        raise PolyglanceError(f"{self.address}: not a collection of polyglance; choose another")

    def _ask(self, query: np.ndarray, wanted: int, where: Filter) -> list[Found]:
        with _errors(self.address):
            (hits,) = self._client.search(
                self.address.collection,
                data=[query],
                anns_field=self._field,
                limit=wanted,
                filter=to_condition(where),
                output_fields=METADATA,
                search_params={"metric_type": "IP", "params": {"ef": max(EFFORT, 2 * wanted)}},
            )
        return ranked(
            (to_record(hit["entity"] | {"id": hit["id"]}), hit["distance"]) for hit in hits
        )

    def _compare_all(self, query: np.ndarray, top: int, where: Filter) -> list[Found]:
        columns = self.columns(where)
        rows, scores = ExactIndex(columns.vectors).top(query, top)
        records = self.records([columns.ids[row] for row in rows])
        scored = np.round(scores.astype(np.float64), DIGITS)
        return ranked(zip(records, scored, strict=True))

    def _all(self, where: Filter, fields: list[str]) -> Iterator[dict[str, Any]]:
        """All rows that a filter matches, as of the start of the iteration."""
        with _errors(self.address):
            pages = self._client.query_iterator(
                self.address.collection,
                filter=to_condition(where),
                output_fields=fields,
                batch_size=_AT_A_TIME,
            )
            while page := pages.next():
                yield from page
            pages.close()

    def _named(self, ids: Sequence[str], fields: list[str]) -> Iterator[dict[str, Any]]:
        for condition in _conditions(ids):
            with _errors(self.address):
                yield from self._client.query(
                    self.address.collection, filter=condition, output_fields=fields
                )


def has_collection(address: str) -> bool:
    """Whether a collection exists at an address."""
    place = Address.of(address)
    client = _connect(place)
    with _errors(place):
        return bool(client.has_collection(place.collection))


def _connect(address: Address) -> Any:
    with needed_by("a library in Milvus", "milvus"):
        from pymilvus import MilvusClient

        if address.file is not None:
            import milvus_lite  # noqa: F401
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it also logs what it raises
    logging.getLogger("milvus_lite").setLevel(logging.CRITICAL)
    with _errors(address):
        if address.file is not None:
            Path(address.file).parent.mkdir(parents=True, exist_ok=True)
        return MilvusClient(uri=address.uri, token=address.token, timeout=_SECONDS)


def _schema(client: Any, field: str, dim: int) -> Any:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    for name, most in TEXTS.items():
        schema.add_field(name, DataType.VARCHAR, max_length=most, is_primary=name == "id")
    for name in NUMBERS:
        schema.add_field(name, DataType.INT64)
    schema.add_field(LISTS, DataType.JSON)
    schema.add_field(field, DataType.FLOAT_VECTOR, dim=dim)
    return schema


def _index(client: Any, field: str, address: Address) -> Any:
    """Vectors have length one, so the inner product is the cosine similarity."""
    index = client.prepare_index_params()
    params = {} if address.exact else {"M": 16, "efConstruction": 200}
    kind = "FLAT" if address.exact else "HNSW"
    index.add_index(field, index_type=kind, metric_type="IP", params=params)
    return index


def _conditions(ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), _AT_A_TIME):
        yield of_ids(list(ids[start : start + _AT_A_TIME]))


@contextmanager
def _errors(address: Address) -> Iterator[None]:
    """Convert errors of Milvus to errors that name the store."""
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except MilvusException as error:
        said = re.sub(r"\s+", " ", str(error.message))[:300]
        if address.file is not None and "Open local milvus failed" in said:
            said = "cannot be opened; perhaps another process has it open, and only one may"
        else:
            said = f"Milvus says: {said}; {_advice(address)}"
        raise PolyglanceError(f"{address}: {said}") from error


def _advice(address: Address) -> str:
    if address.tls:
        return "check that its server is running, uses TLS and has a certificate trusted here"
    return "check that its server is running; with TLS, use milvus+tls:// instead of milvus://"
