"""Readiness, metrics, rates, other sites, the log of queries, and what is known of images."""

import json
import logging
import threading
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from polyglance.core.progress import Bar, track
from polyglance.errors import PolyglanceError
from polyglance.serve import Collection, make_app
from polyglance.serve.access.guard import Access
from polyglance.serve.access.origins import check_origins
from polyglance.serve.access.rates import CLIENTS, Rates
from polyglance.serve.service import Service

TOKEN = "a-token-of-32-characters-or-such"
SITE = "https://site.example"


def client_of(collection: Collection | Service, **access: object) -> TestClient:
    return TestClient(
        make_app(collection, access=Access(**access)),  # type: ignore[arg-type]
        base_url="http://localhost",
    )


def metrics_of(client: TestClient) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(client.get("/metrics").text)
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_service_is_ready_when_it_is_warm(collection: Collection) -> None:
    service = Service(collection)
    client = client_of(service, token=TOKEN)
    answer = client.get("/v1/ready")
    progress = {"indexed": None, "to_index": None}
    assert (answer.status_code, answer.json()) == (503, {"ready": False, **progress})
    service.warm()
    answer = client.get("/v1/ready")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, **progress})
    service.close()


def test_requests_before_the_images_are_indexed(collection: Collection) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def opened() -> Collection:
        with Bar("indexing", 1200, show=False) as bar:
            bar.advance(1100)
            begun.set()
            assert go_on.wait(60)
        return collection

    service = Service(opened)
    with client_of(service) as client:
        assert begun.wait(60)
        assert client.get("/v1/health").status_code == 200
        assert client.get("/").status_code == 200
        assert client.get("/metrics").status_code == 200
        answer = client.get("/v1/ready")
        expected = {"ready": False, "indexed": 1100, "to_index": 1200}
        assert (answer.status_code, answer.json()) == (503, expected)
        for address in ("/v1/search?q=dog", "/v1/facets", "/v1/models", "/v1/images/a"):
            answer = client.get(address)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            said = answer.json()["error"]["message"]
            assert said.startswith("the images are still being indexed (1,100 of 1,200)")
        go_on.set()
        while client.get("/v1/ready").status_code == 503:
            pass
        assert client.get("/v1/search?q=dog").status_code == 200


def test_a_service_that_ends_stops_indexing(collection: Collection) -> None:
    begun = threading.Event()

    def opened() -> Collection:
        for _ in track(range(10**6), "indexing", 10**6, show=False):
            begun.set()
            time.sleep(0.01)
        return collection

    service = Service(opened)
    with client_of(service):
        assert begun.wait(60)
    assert not service.opened.is_set()


def test_a_stopped_service_is_reported(collection: Collection) -> None:
    service = Service(collection)
    client = client_of(service)
    service.close()
    answer = client.get("/v1/search?q=dog")
    assert answer.status_code == 503
    assert "shutting down" in answer.json()["error"]["message"]


def test_the_application_warms_itself(collection: Collection) -> None:
    with client_of(collection) as client:
        while client.get("/v1/ready").status_code == 503:
            pass
        assert client.get("/v1/search?q=dog").status_code == 200


def test_metrics_count_responses_and_batches_without_queries(
    collection: Collection,
) -> None:
    client = client_of(collection)
    for _ in range(3):
        client.get("/v1/search?q=red+dog")
    client.get("/v1/search?q=zebra")
    client.get("/nowhere/secret")
    client.request("SECRET", "/v1/health")
    found = metrics_of(client)
    assert found["polyglance_requests_total", "GET", "/v1/search", "200"] == 3
    assert found["polyglance_requests_total", "GET", "/v1/search", "422"] == 1
    assert found["polyglance_requests_total", "GET", "none", "404"] == 1
    assert found["polyglance_request_seconds_count", "/v1/search"] == 4
    assert found["polyglance_batch_size_count", "texts"] == 3
    assert found["polyglance_pictures",] == 6
    assert found["polyglance_requests_under_way",] == 1
    assert found["process_resident_memory_bytes",] > 1e6
    text = client.get("/metrics").text.lower()
    assert "dog" not in text
    assert "secret" not in text


def test_metrics_need_the_token(collection: Collection) -> None:
    client = client_of(collection, token=TOKEN)
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_client_that_asks_too_often_has_to_wait(collection: Collection) -> None:
    client = client_of(collection, rate=2)
    answers = [client.get("/v1/facets") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[2].headers["retry-after"]) <= 30
    assert "2 requests per minute" in answers[2].json()["error"]["message"]
    assert client.get("/v1/health").status_code == 200


def test_rates_fill_up_again_and_forget() -> None:
    now = [0.0]
    rates = Rates(60, clock=lambda: now[0])
    assert [rates.wait("a") for _ in range(60)] == [0.0] * 60
    assert rates.wait("a") == pytest.approx(1)
    now[0] = 1.5
    assert rates.wait("a") == 0
    assert rates.wait("a") == pytest.approx(0.5)
    for number in range(CLIENTS):
        rates.wait(str(number))
    assert len(rates._buckets) == CLIENTS
    assert rates.wait("a") == 0


def test_other_sites_pages_may_not_read_unless_they_were_named(collection: Collection) -> None:
    ask = {"origin": SITE, "access-control-request-method": "GET"}
    shut = client_of(collection)
    assert shut.options("/v1/search", headers=ask).status_code == 405
    assert "access-control-allow-origin" not in shut.get("/v1/health", headers=ask).headers
    client = client_of(collection, origins=(SITE,), token=TOKEN)
    before = client.options("/v1/search", headers=ask)
    assert (before.status_code, before.content) == (204, b"")
    assert before.headers["access-control-allow-origin"] == SITE
    assert "authorization" in before.headers["access-control-allow-headers"]
    mine = {**ask, "authorization": f"Bearer {TOKEN}"}
    for answer in (client.get("/v1/facets", headers=mine), client.get("/v1/facets", headers=ask)):
        assert answer.headers["access-control-allow-origin"] == SITE
        assert answer.headers["vary"] == "Origin"
    assert client.get("/v1/facets", headers=ask).status_code == 401
    for other in ("https://evil.example", f"{SITE}.evil", "null"):
        theirs = {**mine, "origin": other}
        assert client.options("/v1/search", headers=theirs).status_code == 403
        answer = client.get("/v1/facets", headers=theirs)
        assert "access-control-allow-origin" not in answer.headers


def test_origins_are_hosts_and_never_all() -> None:
    assert check_origins([SITE, "http://localhost:3000"]) == (SITE, "http://localhost:3000")
    for bad in ("*", "example.org", "https://example.org/", "https://*.example.org", "null", ""):
        with pytest.raises(PolyglanceError, match="--allow-origin"):
            check_origins([bad])


def test_queries_are_logged_on_request_alone(
    collection: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    client = client_of(collection, log_queries=True)
    with caplog.at_level(logging.INFO, "polyglance.serve"):
        client.get("/v1/search", params={"q": "red dog"})
    (line,) = [json.loads(one.message) for one in caplog.records if one.name == "polyglance.serve"]
    assert line["query"] == "q=red+dog"


def test_details_of_an_image(client: TestClient, collection: Collection, pictures: Path) -> None:
    place = next(p for p in range(len(collection)) if len(collection.places[p]) == 2)
    answer = client.get(f"/v1/images/{collection.ids[place]}/info")
    assert answer.status_code == 200
    assert answer.json() == {
        "id": collection.ids[place],
        "paths": ["0.png", "deep/copy.png"],
        **{"width": 80, "height": 64, "taken": None, "latitude": None, "longitude": None},
        **{"tags": [], "captions": [], "second": None},
    }
    assert client.get("/v1/images/none/info").status_code == 404


def test_messages_name_parameters_and_no_options(
    client: TestClient, collection: Collection
) -> None:
    for parts in ({"q": "zebra"}, {"q": "red zebra"}, {"q": "dog", "language": "xx"}):
        answer = client.get("/v1/search", params=parts)
        assert "--" not in answer.text
