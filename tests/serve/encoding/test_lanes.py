"""The line that requests with images wait in."""

import asyncio
import threading

import pytest
from starlette.testclient import TestClient

from polyglance.serve import Collection, make_app
from polyglance.serve.encoding.lanes import Lane
from polyglance.serve.problems import Problem
from polyglance.serve.service import Service
from tests.loops import run_apart


async def hold(lane: Lane, sizes: list[int], then: threading.Event) -> list[bool]:
    """Fill a lane with requests that wait for an event, and see the next one turned away."""
    held = [asyncio.ensure_future(lane.run(size, then.wait, 60)) for size in sizes]
    await asyncio.sleep(0)
    with pytest.raises(Problem, match="too many") as problem:
        await lane.run(1, int)
    assert (problem.value.status, problem.value.headers["retry-after"]) == (503, "5")
    then.set()
    return await asyncio.gather(*held)


@pytest.mark.parametrize(("sizes", "memory"), [([1, 1, 1], 100), ([60, 40], 100)])
def test_more_than_may_wait_are_turned_away(sizes: list[int], memory: int) -> None:
    lane = Lane(1, 3, memory)
    assert run_apart(hold(lane, sizes, threading.Event())) == [True] * len(sizes)
    assert run_apart(lane.run(memory + 1, int)) == 0  # one that is alone may have more
    lane.close()


def test_a_place_is_given_back_after_an_error() -> None:
    lane = Lane(1, 1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            run_apart(lane.run(1, divmod, 1, 0))
    lane.close()


def test_a_full_line_turns_pictures_away_and_no_sentence(collection: Collection) -> None:
    service = Service(collection)
    client = TestClient(make_app(service), base_url="http://localhost")
    service.images._requests = service.batches._requests = 10**6
    png = {"content-type": "image/png"}
    for answer in (
        client.post("/v1/search", content=b"none", headers=png),
        client.post("/v1/embeddings/images", json={"input": ["bm9uZQ=="]}),
        client.post("/v1/captions", json={"image": "bm9uZQ==", "captions": ["dog"]}),
    ):
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert "too many images" in answer.json()["error"]["message"]
    assert client.get("/v1/search?q=dog").status_code == 200
    caption = {"id": collection.ids[0], "captions": ["dog"]}
    assert client.post("/v1/captions", json=caption).status_code == 200
    service.close()
