"""Vectors for other programs."""

import base64
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from polyglance.runtime import ExportedModel
from polyglance.serve import Collection, make_app
from polyglance.serve.service import Service


def test_texts_as_the_model_encodes_them(client: TestClient, model: ExportedModel) -> None:
    texts = ["red dog", "hund"]
    answer = client.post("/v1/embeddings", json={"input": texts, "model": "polyglance"}).json()
    assert (answer["object"], answer["model"]) == ("list", model.id)
    assert [row["index"] for row in answer["data"]] == [0, 1]
    assert answer["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
    found = np.array([row["embedding"] for row in answer["data"]])
    np.testing.assert_allclose(found, model.encode_text(texts), atol=1e-6)


def test_one_text_in_base64_as_openai_s_client_asks(
    client: TestClient, model: ExportedModel
) -> None:
    body = {"input": "red dog", "encoding_format": "base64", "dimensions": model.dim}
    row = client.post("/v1/embeddings", json=body).json()["data"][0]["embedding"]
    found = np.frombuffer(base64.b64decode(row), "<f4")
    np.testing.assert_allclose(found, model.encode_text("red dog")[0], atol=1e-6)


def test_as_many_texts_as_openai_allows(client: TestClient, model: ExportedModel) -> None:
    texts = [f"red dog{' hund' * (number % 3)}" for number in range(2048)]
    answer = client.post("/v1/embeddings", json={"input": texts})
    assert answer.status_code == 200
    found = np.array([row["embedding"] for row in answer.json()["data"]])
    np.testing.assert_allclose(found, model.encode_text(texts[:3])[np.arange(2048) % 3], atol=1e-5)


def test_fewer_dimensions_are_the_first_ones_renormalised(
    client: TestClient, model: ExportedModel
) -> None:
    body = {"input": "red dog", "dimensions": 3}
    (row,) = client.post("/v1/embeddings", json=body).json()["data"]
    first = model.encode_text("red dog")[0][:3]
    np.testing.assert_allclose(row["embedding"], first / np.linalg.norm(first), atol=1e-6)


def test_the_names_of_the_model(client: TestClient, model: ExportedModel) -> None:
    answer = client.get("/v1/models").json()
    assert answer["object"] == "list"
    assert [one["id"] for one in answer["data"]] == ["polyglance", model.id]
    for one in answer["data"]:
        assert client.get(f"/v1/models/{one['id']}").json() == one
        assert client.post("/v1/embeddings", json={"input": "dog", "model": one["id"]}).is_success
    missing = client.get("/v1/models/gpt")
    assert missing.status_code == 404
    assert "polyglance" in missing.json()["error"]["message"]


def test_invalid_json_is_said_to_be(client: TestClient) -> None:
    answer = client.post(
        "/v1/embeddings", content=b'{"input": dog}', headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    said = answer.json()["error"]["message"]
    assert said == "the body is not valid JSON (character 10: expecting value)"


def test_many_texts_wait_in_a_queue_and_searches_do_not(collection: Collection) -> None:
    service = Service(collection)
    client = TestClient(make_app(service), base_url="http://localhost")
    service.texts._requests = 10**6
    answer = client.post("/v1/embeddings", json={"input": ["dog"] * 65})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert client.post("/v1/embeddings", json={"input": ["dog"] * 64}).status_code == 200
    assert client.get("/v1/search?q=dog").status_code == 200
    service.close()


def test_pictures_as_the_model_encodes_them(
    client: TestClient, model: ExportedModel, pictures: Path
) -> None:
    paths = [pictures / "1.png", pictures / "deep" / "5.jpg"]
    written = [base64.b64encode(path.read_bytes()).decode() for path in paths]
    body = {"input": [written[0], f"data:image/jpeg;base64,{written[1]}"]}
    answer = client.post("/v1/embeddings/images", json=body).json()
    found = np.array([row["embedding"] for row in answer["data"]])
    np.testing.assert_allclose(found, model.encode_images(paths), atol=1e-5)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"input": []}, 422, "input"),
        (
            {"input": ["dog"] * 2049},
            422,
            "'input': has 2,049 inputs; a request may have at most 2,048",
        ),
        ({"input": [[1, 2], [3]]}, 422, "'input': arrays of tokens are not supported"),
        ({"input": [1, 2, 3]}, 422, "'input': arrays of tokens are not supported"),
        ({"input": ["dog", None]}, 422, "'input': must be a text, or a list of texts"),
        ({"input": 3}, 422, "'input': must be a text"),
        ({"input": "x" * 8001}, 422, "8000"),
        ({"input": ""}, 422, "no words"),
        ({"input": "dog", "model": "gpt"}, 404, "polyglance"),
        ({"input": "dog", "dimensions": 0}, 422, "dimensions"),
        ({"input": "dog", "dimensions": 9999}, 422, "dimensions, which is the most"),
        ({"input": "dog", "language": "xx"}, 422, "xx"),
        ({}, 422, "input"),
    ],
)
def test_what_cannot_be_embedded(client: TestClient, body: dict, status: int, said: str) -> None:
    answer = client.post("/v1/embeddings", json=body)
    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("text", ["not base64!", "data:image/svg+xml,<svg/>", "AAAA", "é"])
def test_files_that_are_no_image_are_refused(client: TestClient, text: str) -> None:
    answer = client.post("/v1/embeddings/images", json={"input": text})
    assert answer.status_code == 422
    assert "image" in answer.json()["error"]["message"]
