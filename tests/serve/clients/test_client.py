"""The clients, against the real service in a process of its own."""

import asyncio
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("httpx2")
from polyglance.errors import PolyglanceError
from polyglance.runtime import ExportedModel
from polyglance.serve import AsyncClient, Client
from polyglance.serve.clients.calls import ServiceError
from tests.loops import run_apart
from tests.serve.test_command import TOKEN, served
from tests.test_missing_packages import BLOCKED, ROOT


@pytest.fixture(scope="module")
def address(
    tmp_path_factory: pytest.TempPathFactory, pictures: Path, model_folder: Path
) -> Iterator[str]:
    place = tmp_path_factory.mktemp("client")
    with served(place, pictures, "--model", model_folder, POLYGLANCE_TOKEN=TOKEN) as (found, _):
        yield found


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address, TOKEN) as found:
        yield found


def test_sentences_find(client: Client) -> None:
    assert client.health().status == "ok"
    found = client.search("red dog -snow", limit=4)
    assert (len(found.hits), found.pictures, found.enough) == (4, 6, None)
    following = client.search("red dog -snow", limit=4, cursor=found.cursor)
    paths = [hit.path for hit in [*found.hits, *following.hits]]
    assert [hit.path for hit in client.hits("red dog -snow", limit=4)] == paths
    assert len(set(paths)) == 6


def test_images_find_themselves(client: Client, pictures: Path) -> None:
    path = pictures / "deep" / "5.jpg"
    for image in (path, str(path), path.read_bytes()):
        assert client.search(image=image).hits[0].path == "deep/5.jpg"
    first = client.search("dog").hits[0]
    assert first.id not in {hit.id for hit in client.search(like=first.id).hits}
    mixed = client.search("dog", image=path, like=first.id)
    assert mixed.hits != client.search(image=path).hits
    with pytest.raises(PolyglanceError, match=r"none\.jpg: cannot be read"):
        client.search(image=pictures / "none.jpg")


def test_filters_and_captions(client: Client, pictures: Path) -> None:
    found = client.search("dog", folder="deep", limit=9).hits
    assert {hit.path for hit in found} == {"deep/5.jpg", "deep/copy.png"}
    assert client.search("dog", from_="2024", tag=["a", "b"], everything=True).hits == []
    assert [(one.name, one.pictures) for one in client.facets().folders] == [("deep", 2)]
    hit = client.search(image=pictures / "3.png").hits[0]
    best = client.captions(hit, ["dog", "hund"], limit=1).captions
    other = client.captions(pictures / "3.png", ["dog", "hund"], limit=1).captions
    assert [one.text for one in best] == [one.text for one in other]
    assert best[0].score == pytest.approx(other[0].score, abs=1e-3)
    with pytest.raises(ServiceError, match="colour"):
        client.search("dog", colour="red")


def test_files_of_hits(client: Client, pictures: Path) -> None:
    hit = client.search("dog").hits[0]
    assert client.image(hit) == client.image(hit.id) == (pictures / hit.path).read_bytes()
    assert Image.open(io.BytesIO(client.thumbnail(hit))).size == (80, 64)


def test_embeddings_are_the_model_s(client: Client, model: ExportedModel, pictures: Path) -> None:
    texts = ["red dog", "hund"]
    expected = model.encode_text(texts, show_progress=False)
    found = client.embed_texts(texts)
    assert (found.dtype, found.shape) == (np.float32, (2, model.dim))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    files = [pictures / "1.png", pictures / "2.png"]
    rows = client.embed_images([files[0], files[1].read_bytes()])
    np.testing.assert_allclose(rows, model.encode_images(files, show_progress=False), atol=1e-4)


def test_refusals_are_errors_with_the_message_of_the_service(client: Client, address: str) -> None:
    with pytest.raises(ServiceError, match="no image with this id") as refused:
        client.thumbnail("none")
    assert refused.value.status == 404
    with pytest.raises(ServiceError, match="nothing to search for"):
        client.search()
    with Client(address) as other, pytest.raises(ServiceError, match="token") as closed:
        other.search("dog")
    assert closed.value.status == 401


def test_where_nothing_answers() -> None:
    with pytest.raises(PolyglanceError, match="polyglance serve"):
        Client("http://127.0.0.1:9").health()

    async def asked() -> None:
        async with AsyncClient("http://127.0.0.1:9") as other:
            await other.health()

    with pytest.raises(PolyglanceError, match="polyglance serve"):
        run_apart(asked())


def test_the_same_in_an_event_loop(client: Client, address: str, pictures: Path) -> None:
    async def ask() -> None:
        async with AsyncClient(address, TOKEN) as other:
            assert (await other.health()).status == "ok"
            texts = ["red dog", "hund", "dog -snow"]
            pages = await asyncio.gather(*(other.search(text, limit=3) for text in texts))
            assert pages == [client.search(text, limit=3) for text in texts]
            hits = [hit async for hit in other.hits("dog", limit=4)]
            assert hits == list(client.hits("dog"))
            assert await other.image(hits[0]) == client.image(hits[0])
            assert await other.thumbnail(hits[0]) == client.thumbnail(hits[0])
            image = pictures / "1.png"
            assert (await other.search(image=image)) == client.search(image=image)
            one, both = await other.embed_texts(["dog"]), client.embed_texts(["dog", "hund"])
            np.testing.assert_allclose(one[0], both[0], atol=1e-6)
            assert await other.facets() == client.facets()
            assert (await other.captions(image, ["dog"])) == client.captions(image, ["dog"])
            rows = await other.embed_images([image])
            np.testing.assert_array_equal(rows, client.embed_images([image]))
            with pytest.raises(ServiceError, match="no image"):
                await other.thumbnail("none")

    run_apart(ask())


def test_it_needs_nothing_of_the_service() -> None:
    code = BLOCKED.format(names=["torch", "fastapi", "starlette", "uvicorn", "onnxruntime"])
    code += "from polyglance.serve import Client; Client(); print(len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
