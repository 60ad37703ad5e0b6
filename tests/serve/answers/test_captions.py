"""The best captions of an image, of a list."""

import base64
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from polyglance.runtime import ExportedModel
from polyglance.serve import Collection, make_app

LIST = ["red dog", "snow", "zebra", "hund", "people", "red dog"]


def test_captions_by_their_similarity_with_a_picture_of_the_collection(
    client: TestClient, collection: Collection, model: ExportedModel
) -> None:
    body = {"id": collection.ids[2], "captions": LIST}
    answer = client.post("/v1/captions", json=body).json()
    known = ["red dog", "snow", "hund", "people"]
    values = model.similarity(collection.vector(2)[None], model.encode_text(known))[0]
    order = np.argsort(-values)
    assert [one["text"] for one in answer["captions"]] == [known[i] for i in order]
    scores = [one["score"] for one in answer["captions"]]
    assert scores == pytest.approx(values[order].tolist(), abs=1e-4)
    assert {one["fits"] for one in answer["captions"]} == {None}
    assert answer["notes"] == ["left out 1 caption without a word that the model knows"]


def test_an_uploaded_picture_has_the_same_captions(
    client: TestClient, collection: Collection, pictures: Path
) -> None:
    place = collection.names.names.index("1.png")
    body = {"captions": LIST, "limit": 2}
    own = client.post("/v1/captions", json={**body, "id": collection.ids[place]}).json()
    data = base64.b64encode((pictures / "1.png").read_bytes()).decode()
    sent = client.post("/v1/captions", json={**body, "image": data}).json()
    assert len(own["captions"]) == 2
    assert [c["text"] for c in sent["captions"]] == [c["text"] for c in own["captions"]]


def test_a_caption_that_does_not_fit_is_reported(
    opened: Callable[[Path], Collection], strict_folder: Path
) -> None:
    strict = opened(strict_folder)
    client = TestClient(make_app(strict), base_url="http://localhost")
    answer = client.post("/v1/captions", json={"id": strict.ids[0], "captions": ["dog"]}).json()
    assert answer["captions"][0]["fits"] is False


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"captions": ["dog"]}, 422, "'id'"),
        ({"captions": ["dog"], "id": "x", "image": "AAAA"}, 422, "'id'"),
        ({"captions": ["dog"], "id": "none"}, 404, "id"),
        ({"captions": ["dog"], "image": "AAAA"}, 422, "the image"),
        ({"captions": []}, 422, "captions"),
        ({"captions": ["dog"] * 1001}, 422, "captions"),
        ({"captions": ["x" * 2001]}, 422, "2000"),
        ({"captions": ["zebra"]}, 422, "no word"),
        ({"captions": ["dog"], "language": "xx"}, 422, "xx"),
        ({"captions": ["dog"], "limit": 0}, 422, "limit"),
        ({"captions": ["dog"], "file": "/etc/passwd"}, 422, "file"),
    ],
)
def test_invalid_requests_are_refused(
    client: TestClient, collection: Collection, body: dict, status: int, said: str
) -> None:
    if "id" not in body and said not in ("'id'", "the image"):
        body = {**body, "id": collection.ids[0]}
    answer = client.post("/v1/captions", json=body)
    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]
