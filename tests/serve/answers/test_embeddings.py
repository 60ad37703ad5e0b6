"""Vectors for other programs."""

import base64
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from polyglance.runtime import ExportedModel


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
        ({"input": ["dog"] * 257}, 422, "input"),
        ({"input": "x" * 8001}, 422, "8000"),
        ({"input": ""}, 422, "no words"),
        ({"input": "dog", "model": "gpt"}, 404, "polyglance"),
        ({"input": "dog", "dimensions": 3}, 422, "dimensions"),
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
