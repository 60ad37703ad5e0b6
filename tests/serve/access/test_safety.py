"""Who may ask, how much, and what an answer never holds."""

import base64
import io
import json
import logging
import zipfile
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from polyglance.errors import PolyglanceError
from polyglance.serve import Collection, make_app
from polyglance.serve.access.guard import HEADERS, Access
from polyglance.serve.queries.uploads import LARGEST_BODY
from polyglance.serve.run import check_access

TOKEN = "a-token-of-32-characters-or-such"
PNG = {"content-type": "image/png"}


def message(answer) -> str:
    """The one sentence of an error."""
    assert list(answer.json()) == ["error"]
    said = answer.json()["error"]["message"]
    assert "Traceback" not in said
    assert "\n" not in said
    return said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(PolyglanceError, match="--token"):
        check_access(host, None)
    check_access(host, TOKEN)
    with pytest.raises(PolyglanceError, match="16 or more"):
        check_access(host, "short")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_this_machine_needs_none(host: str) -> None:
    check_access(host, None)


def test_the_service_answers_to_the_address_that_it_listens_on(collection: Collection) -> None:
    for listening, header in (
        ("127.0.0.2", "127.0.0.2:8000"),
        ("0:0:0:0:0:0:0:1", "[::1]:8000"),
        ("0:0:0:0:0:0:0:1", "[0:0:0:0:0:0:0:1]"),
    ):
        check_access(listening, None)
        client = TestClient(make_app(collection, access=Access(host=listening)))
        assert client.get("/v1/health", headers={"host": header}).status_code == 200
        assert client.get("/v1/health", headers={"host": "localhost"}).status_code == 200
        refused = client.get("/v1/health", headers={"host": "127.0.0.3"})
        assert refused.status_code == 421
        assert listening in message(refused)


def test_with_a_token_nothing_but_health_and_the_page_is_open(collection: Collection) -> None:
    client = TestClient(make_app(collection, TOKEN), base_url="http://photos.example")
    name = collection.ids[0]
    shut = ["/v1/search?q=dog", f"/v1/images/{name}", f"/v1/thumbnails/{name}", "/v1/openapi.json"]
    for address in shut:
        for given in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN}):
            answer = client.get(address, headers=given)
            assert answer.status_code == 401
            assert "token" in message(answer)
        assert client.get(address, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for address in ("/v1/health", "/", "/page/page.js"):
        assert client.get(address).status_code == 200


def test_without_a_token_other_names_of_the_machine_are_refused(client: TestClient) -> None:
    for host in ("evil.example", "localhost.evil.example", "", "[::1].evil"):
        answer = client.get("/v1/health", headers={"host": host})
        assert answer.status_code == 421
        assert "localhost" in message(answer)
    for host in ("127.0.0.1:8000", "[::1]:8000", "LOCALHOST"):
        assert client.get("/v1/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "0.png", "%00", "a" * 101, "deadbeef", "é"],
)
def test_no_path_is_taken_from_a_request(client: TestClient, name: str) -> None:
    for room in ("images", "thumbnails"):
        answer = client.get(f"/v1/{room}/{name}")
        assert answer.status_code in (404, 422)
        message(answer)


def test_the_query_is_no_path(client: TestClient, pictures: Path) -> None:
    answer = client.get("/v1/search", params={"q": str(pictures / "0.png")})
    assert answer.status_code == 422
    assert "words" in message(answer)


@pytest.mark.parametrize(
    "text", ["x" * 501, "a\x00b", "dog \x1b[2J", "", "   ", "-dog", "dog" + 9 * " -snow"]
)
def test_queries_are_bounded(client: TestClient, text: str) -> None:
    answer = client.get("/v1/search", params={"q": text})
    assert answer.status_code == 422
    message(answer)


@pytest.mark.parametrize("parts", ["limit=0", "limit=201", "limit=x", "language=xx", "like=none"])
def test_parameters_are_bounded(client: TestClient, parts: str) -> None:
    answer = client.get(f"/v1/search?q=dog&{parts}")
    assert answer.status_code == (404 if parts == "like=none" else 422)
    message(answer)


def test_halves_of_characters_are_refused(client: TestClient) -> None:
    body = b'{"input": ["dog \\ud800"]}'
    answer = client.post(
        "/v1/embeddings", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert "surrogates" in message(answer)


def test_every_answer_has_the_headers(client: TestClient, collection: Collection) -> None:
    addresses = ["/", "/v1/health", "/none", "/v1/search", f"/v1/thumbnails/{collection.ids[0]}"]
    for address in addresses:
        answer = client.get(address, headers={"origin": "https://evil.example"})
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "set-cookie" not in answer.headers
    ahead = client.options("/v1/embeddings", headers={"access-control-request-method": "POST"})
    assert ahead.status_code == 405
    message(ahead)


def test_types_of_bodies_are_strict(client: TestClient) -> None:
    for address, kind in [
        ("/v1/search", "text/plain"),
        ("/v1/search", "multipart/form-data; boundary=x"),
        ("/v1/search", "image/svg+xml"),
        ("/v1/embeddings", "text/plain"),
        ("/v1/embeddings", "application/x-www-form-urlencoded"),
    ]:
        answer = client.post(address, content=b'{"input": "dog"}', headers={"content-type": kind})
        assert answer.status_code == 415, (address, kind)
        message(answer)


HOSTILE = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "zip": b"PK\x03\x04" + bytes(40),
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n",
    "empty": b"",
    "cut": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x02",
    "html": b"<!DOCTYPE html><script>alert(1)</script>",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_uploads_that_are_no_image_are_refused(client: TestClient, kind: str) -> None:
    answer = client.post("/v1/search", content=HOSTILE[kind], headers=PNG)
    assert answer.status_code == 422
    assert message(answer).startswith("the image cannot be read")


@pytest.mark.parametrize("kind", ["zip", "html", "svg"])
def test_of_an_image_with_something_behind_it_only_the_pixels_count(
    client: TestClient, pictures: Path, kind: str
) -> None:
    for name in ("deep/5.jpg", "1.png"):
        clean = (pictures / name).read_bytes()
        behind = archive() if kind == "zip" else HOSTILE[kind]
        answers = [
            client.post("/v1/search", params={"everything": True}, content=data, headers=PNG)
            for data in (clean, clean + behind)
        ]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json()["hits"] == answers[1].json()["hits"]
        data = clean + behind
        body = {"input": [base64.b64encode(one).decode() for one in (clean, data)]}
        first, second = client.post("/v1/embeddings/images", json=body).json()["data"]
        assert first["embedding"] == pytest.approx(second["embedding"], abs=1e-6)
    # An archive that begins as one is none, even if an image follows.
    answer = client.post("/v1/search", content=behind + clean, headers=PNG)
    assert answer.status_code == 422


def archive() -> bytes:
    """A zip archive with a script."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("run.sh", "#!/bin/sh\nreboot\n")
    return buffer.getvalue()


def test_bombs_are_refused_before_they_are_decoded(client: TestClient) -> None:
    import struct
    import zlib

    def chunk(name: bytes, data: bytes) -> bytes:
        total = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + total

    for side, status in ((8000, 413), (60_000, 422)):
        head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        bomb = (
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
        )
        answer = client.post("/v1/search", content=bomb, headers=PNG)
        assert answer.status_code == status
        assert "pixels" in message(answer)


def test_large_bodies_are_refused_with_or_without_a_length(client: TestClient) -> None:
    told = client.post("/v1/search", content=bytes(LARGEST_BODY + 1), headers=PNG)
    untold = client.post(
        "/v1/search",
        content=(bytes(1_000_000) for _ in range(LARGEST_BODY // 10**6 + 1)),
        headers=PNG,
    )
    for answer in (told, untold):
        assert answer.status_code == 413
        assert "too large" in message(answer)


def test_the_log_has_no_queries(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "polyglance.serve"):
        client.get("/v1/search", params={"q": "red dog"})
        client.get("/v1/search", params={"q": "zebra"})
    lines = [json.loads(one.message) for one in caplog.records if one.name == "polyglance.serve"]
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/v1/search", 200),
        ("/v1/search", 422),
    ]
    assert "dog" not in caplog.text
    assert "zebra" not in caplog.text


def test_a_fault_of_the_service_is_one_sentence(
    client: TestClient,
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(collection, "scorer", fail)
    answer = client.get("/v1/search", params={"q": "dog"})
    assert answer.status_code == 500
    assert "secret" not in message(answer) + caplog.text
    assert answer.headers["x-content-type-options"] == "nosniff"
