"""Searches over HTTP, beside what the package itself finds."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from polyglance.gallery import search
from polyglance.runtime import ExportedModel
from polyglance.runtime.match_probability import MatchProbability
from polyglance.serve import Collection, make_app


def names(answer: dict) -> list[str]:
    return [hit["path"] for hit in answer["hits"]]


def found(client: TestClient, **parts: object) -> dict:
    answer = client.get("/v1/search", params=parts)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_sentence_finds_what_the_search_finds(
    client: TestClient, model: ExportedModel, pictures: Path, tmp_path: Path
) -> None:
    answer = found(client, q="red dog")
    hits = search(model, pictures, "red dog", cache=tmp_path, show_progress=False)[0].hits
    assert names(answer) == [str(hit.path.relative_to(pictures)) for hit in hits]
    assert [hit["score"] for hit in answer["hits"]] == pytest.approx(
        [h.score for h in hits], abs=1e-5
    )
    assert answer["pictures"] == len(answer["hits"]) == 6
    assert (answer["enough"], answer["cursor"], answer["notes"]) == (None, None, [])
    assert {(hit["width"], hit["height"]) for hit in answer["hits"]} == {(80, 64)}


def test_embeddings_of_a_folder_are_widened_once(collection: Collection) -> None:
    assert collection.gallery.embeddings.dtype == np.float32


def test_excluded_terms_count_as_in_the_search(
    client: TestClient, model: ExportedModel, pictures: Path, tmp_path: Path
) -> None:
    answer = found(client, q="red dog -people -snow")
    hits = search(
        model, pictures, "red dog", without=["people", "snow"], cache=tmp_path, show_progress=False
    )[0].hits
    assert [hit["score"] for hit in answer["hits"]] == pytest.approx(
        [h.score for h in hits], abs=1e-4
    )
    assert names(answer) == [str(hit.path.relative_to(pictures)) for hit in hits]
    assert names(answer) != names(found(client, q="red dog"))


def test_pages_join_to_the_whole(client: TestClient) -> None:
    whole, cursor, joined = names(found(client, q="dog")), None, []
    for size in (4, 2):
        page = found(client, q="dog", limit=4, **({"cursor": cursor} if cursor else {}))
        assert len(page["hits"]) == size
        joined += names(page)
        cursor = page["cursor"]
    assert joined == whole
    assert cursor is None


def test_a_cursor_of_another_search_is_refused(client: TestClient) -> None:
    cursor = found(client, q="dog", limit=2)["cursor"]
    for parts in ({"q": "hund"}, {"q": "dog", "everything": True}):
        answer = client.get("/v1/search", params={**parts, "cursor": cursor})
        assert answer.status_code == 400
        assert "another search" in answer.json()["error"]["message"]
    for cursor in ("x", "WzIwXQ==", "é", "W1tbW1tb", "bnVsbA=="):
        assert client.get("/v1/search", params={"q": "dog", "cursor": cursor}).status_code == 400


def test_an_image_id_finds_the_others_by_cosine(client: TestClient, collection: Collection) -> None:
    first = found(client, q="dog")["hits"][0]
    answer = found(client, like=first["id"])
    vectors = np.asarray(collection.gallery.embeddings, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors[collection.firsts[collection.place(first["id"])]]
    others = {
        collection.ids[place]: cosines[row]
        for place, row in enumerate(collection.firsts)
        if collection.ids[place] != first["id"]
    }
    assert [hit["id"] for hit in answer["hits"]] == sorted(others, key=lambda one: -others[one])
    assert [hit["score"] for hit in answer["hits"]] == pytest.approx(
        sorted(others.values(), reverse=True), abs=1e-4
    )


def test_an_uploaded_picture_finds_itself(client: TestClient, pictures: Path) -> None:
    data = (pictures / "3.png").read_bytes()
    answer = client.post("/v1/search", content=data, headers={"content-type": "image/png"})
    assert answer.status_code == 200
    hits = answer.json()["hits"]
    assert hits[0]["path"] == "3.png"
    assert hits[0]["score"] == pytest.approx(1, abs=1e-3)
    mixed = client.post(
        "/v1/search", params={"q": "dog -snow"}, content=data, headers={"content-type": "image/png"}
    )
    assert [h["score"] for h in mixed.json()["hits"]] != [h["score"] for h in hits]


def test_nothing_like_that_is_an_answer(
    opened: Callable[[Path], Collection], strict_folder: Path
) -> None:
    client = TestClient(make_app(opened(strict_folder)), base_url="http://localhost")
    answer = found(client, q="dog")
    assert (answer["hits"], answer["enough"]) == ([], False)
    assert answer["message"] == "nothing here looks like that"
    assert answer["reason"] == "no_match"
    assert len(found(client, q="dog", everything=True)["hits"]) == 6


def test_words_that_are_hardly_known_are_said_to_be(
    opened: Callable[[Path], Collection], strict_folder: Path
) -> None:
    collection = opened(strict_folder)
    dim, own = collection.model.dim, collection.scorer.background
    assert own is not None
    chance = MatchProbability(0.8, np.r_[np.zeros(dim), -90.0], np.r_[np.zeros(dim + 1), -3.0])
    collection.scorer.background = replace(own, cutoff=0.5, chance=chance)
    client = TestClient(make_app(collection), base_url="http://localhost")
    answer = found(client, q="dog")
    assert answer["message"] == (
        "nothing here looks like that; the model hardly knows these words; try others, or "
        "another language"
    )
    assert answer["reason"] == "hardly_known"
    assert found(client, q="dog", everything=True)["enough"] is False


def test_filters_that_leave_no_image_are_said_to_be_why(
    opened: Callable[[Path], Collection], strict_folder: Path, client: TestClient
) -> None:
    strict = TestClient(make_app(opened(strict_folder)), base_url="http://localhost")
    for asked in (client, strict):
        answer = found(asked, q="dog", folder="none")
        assert (answer["hits"], answer["enough"], answer["pictures"]) == ([], False, 0)
        assert answer["message"] == "the filters leave no image to search"
        assert answer["reason"] == "filtered"


def test_thumbnails_and_images_by_id(client: TestClient, pictures: Path) -> None:
    hits = found(client, q="dog")["hits"]
    assert len(hits) == 6
    for hit in hits:
        small = client.get(hit["thumbnail"])
        assert small.headers["content-type"] in ("image/webp", "image/jpeg")
        assert Image.open(io.BytesIO(small.content)).size == (80, 64)
        whole = client.get(hit["image"])
        assert whole.content == (pictures / hit["path"]).read_bytes()
        kind = "jpeg" if hit["path"].endswith("jpg") else "png"
        assert whole.headers["content-type"] == f"image/{kind}"


def test_unknown_words_are_reported(client: TestClient) -> None:
    assert "zebra" in found(client, q="red zebra")["notes"][0]
    answer = client.get("/v1/search", params={"q": "zebra"})
    assert answer.status_code == 422
    assert "knows none of the words" in answer.json()["error"]["message"]
