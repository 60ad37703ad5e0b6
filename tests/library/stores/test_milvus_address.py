"""Addresses of stores in Milvus, and rows as it keeps them."""

import pytest

from polyglance.errors import PolyglanceError
from polyglance.library.stores.milvus_address import Address
from polyglance.library.stores.milvus_rows import to_record, to_row
from tests.library.rows import record


@pytest.mark.parametrize(
    "text",
    [
        "milvus://localhost:19530/pictures",
        "milvus://[::1]:1/a_b?exact=yes",
        "milvus+tls://in01.example.org:443/pictures?exact=yes",
        "milvus:/tmp/a b.db?collection=images",
        "milvus:/tmp/x.db?collection=images_0123456789abcdef",
    ],
)
def test_addresses_are_read_as_they_are_written(text: str) -> None:
    assert str(Address.of(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "pictures", "http://host/a", "milvus://host", "milvus://host/a-b", "milvus://host/a/b",
     "milvus://host:port/a", "milvus://host/a?index=no", "milvus:pictures",
     "milvus+tls:/tmp/x.db", "milvus+tls:///a", "milvus+tls://host", "milvus+ssl://host/a"],
)  # fmt: skip
def test_invalid_addresses_are_refused(text: str) -> None:
    with pytest.raises(PolyglanceError, match=r"use milvus://HOST:PORT/COLLECTION"):
        Address.of(text)


def test_passwords_stay_out_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolyglanceError, match="POLYGLANCE_MILVUS_TOKEN"):
        Address.of("milvus://root:secret@host/a")
    monkeypatch.setenv("POLYGLANCE_MILVUS_TOKEN", "root:secret")
    assert Address.of("milvus://host/a").token == "root:secret"
    assert Address.of("x.db").token == ""


def test_tls_is_asked_of_pymilvus_and_kept_for_another_model() -> None:
    plain, encrypted = Address.of("milvus://host/a"), Address.of("milvus+tls://host/a")
    assert (plain.uri, encrypted.uri) == ("http://host:19530", "https://host:19530")
    assert Address.of("milvus+tls://[::1]:443/a").uri == "https://[::1]:443"
    assert encrypted.beside("0" * 64).uri == encrypted.uri
    assert plain != encrypted


def test_passwords_stay_out_of_encrypted_addresses_too() -> None:
    with pytest.raises(PolyglanceError, match="POLYGLANCE_MILVUS_TOKEN"):
        Address.of("milvus+tls://root:secret@host/a")


def test_another_model_has_a_collection_beside() -> None:
    first = Address.of("milvus://host/a")
    second = first.beside("0" * 64)
    assert second.collection == "a_0000000000000000"
    assert second.beside("1" * 64).collection == "a_1111111111111111"


def test_rows_hold_all_of_an_image() -> None:
    from polyglance.library.record import Caption

    long = tuple(Caption("de", f"{number} ein Bild " * 50) for number in range(200))
    for one in (record(0), record(1), record(2, path="/caf\udce9"), record(3, captions=long)):
        assert to_record(to_row(one)) == one
    with pytest.raises(PolyglanceError, match="16,384 bytes of 'path'"):
        to_row(record(1, path="/" + "ä" * 9000))
