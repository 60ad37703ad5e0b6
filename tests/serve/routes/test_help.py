"""Other spellings, and which part of an image matched, over HTTP."""

import pytest
from starlette.testclient import TestClient

from polyglance.serve.shapes import Heat


def first(client: TestClient) -> str:
    return client.get("/v1/search?q=dog&limit=1").json()["hits"][0]["id"]


@pytest.mark.parametrize(
    ("text", "meant"), [("dogg", None), ("snwo", "snow"), ("red snwo -poeple", "red snow -poeple")]
)
def test_words_that_no_vocabulary_knows(client: TestClient, text: str, meant: str | None) -> None:
    answer = client.get("/v1/suggestions", params={"q": text})
    assert answer.json() == {"suggestion": meant}
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("text", ["", "snow", "red dog", "xxxxx", "-snwo"])
def test_nothing_is_suggested(client: TestClient, text: str) -> None:
    assert client.get("/v1/suggestions", params={"q": text}).json() == {"suggestion": None}


def test_a_map_of_a_picture(client: TestClient) -> None:
    name = first(client)
    found = Heat(**client.get(f"/v1/images/{name}/heat?q=dog").json())
    assert (len(found.cells), len(found.cells[0])) == (found.rows, found.columns)
    assert found.columns > found.rows  # the images are 80 × 64
    values = [value for row in found.cells for value in row]
    assert (min(values), max(values)) == (0, 1)
    other = Heat(**client.get(f"/v1/images/{name}/heat", params={"like": name}).json())
    assert other.cells != found.cells
    both = client.get(f"/v1/images/{name}/heat", params={"like": name, "q": "dog"}).json()
    assert both["cells"] not in (found.cells, other.cells)


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("{}/heat", 422),
        ("{}/heat?q=xyz", 422),
        ("{}/heat?q=dog&language=xx", 422),
        ("{}/heat?q=dog&like=0000", 404),
        ("0000/heat?q=dog", 404),
        ("..%2f..%2fetc/heat?q=dog", 404),
    ],
)
def test_requests_without_a_heat_map_are_refused(
    client: TestClient, address: str, status: int
) -> None:
    answer = client.get(f"/v1/images/{address.format(first(client))}")
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
