"""The web page and the OpenAPI document."""

import json
import re

from starlette.testclient import TestClient

from polyglance.serve.routes.page import FILES as PAGE_FILES
from polyglance.serve.shapes import Found

SCRIPTS = "".join(path.read_text(encoding="utf-8") for path in PAGE_FILES.glob("*.js"))
LANGUAGES = [
    "ar",
    "cs",
    "de",
    "en",
    "es",
    "fr",
    "hi",
    "it",
    "ja",
    "ko",
    "nl",
    "pt",
    "tr",
    "uk",
    "zh",
]


def test_every_language_has_every_word_that_the_page_uses() -> None:
    words = json.loads((PAGE_FILES / "words.json").read_text(encoding="utf-8"))
    page = (PAGE_FILES / "index.html").read_text(encoding="utf-8")
    used = set(re.findall(r'word\("(\w+)"\)', SCRIPTS)) | set(
        re.findall(r'data-word="(\w+)"', page)
    )
    assert sorted(words) == LANGUAGES
    for code, own in words.items():
        assert set(own) == used, code
        assert "{n}" in own["found"], code
        same = [name for name, text in own.items() if text == words["en"][name]]
        assert code == "en" or len(same) <= 2, (code, same)


def test_the_page_loads_nothing_from_other_hosts(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert named == ["/page/icon.svg", "/page/page.css", "/page/page.js"]
    named += [f"/page/{one}" for one in re.findall(r'from "\./(\w+\.js)"', SCRIPTS)]
    assert {client.get(one).status_code for one in named} == {200}
    for path in PAGE_FILES.iterdir():
        text = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"(https?:)?//\w", text), path
    assert "style=" not in page.text
    assert "<script>" not in page.text


def test_heads_and_the_icon(client: TestClient) -> None:
    head = client.head("/")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len(client.get("/").content)
    icon = client.get("/favicon.ico")
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")
    assert icon.content.startswith(b"<svg")


def test_elements_that_the_script_names_exist() -> None:
    page = (PAGE_FILES / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'\$\("(\w+)"\)', SCRIPTS)) <= set(re.findall(r'id="(\w+)"', page))


def test_the_document_has_examples_that_are_valid(client: TestClient) -> None:
    document = client.get("/v1/openapi.json").json()
    assert set(document["paths"]) == {
        "/v1/health",
        "/v1/search",
        "/v1/ready",
        "/v1/facets",
        "/v1/captions",
        "/v1/suggestions",
        "/v1/images/{name}/heat",
        "/v1/thumbnails/{name}",
        "/v1/images/{name}",
        "/v1/images/{name}/info",
        "/v1/embeddings",
        "/v1/embeddings/images",
        "/v1/models",
        "/v1/models/{name}",
    }
    (example,) = document["components"]["schemas"]["Found"]["examples"]
    assert Found(**example).hits[0].path == "2024/beach.jpg"
    (body,) = document["components"]["schemas"]["EmbeddingRequest"]["examples"]
    body["input"] = "dog"
    assert client.post("/v1/embeddings", json=body).status_code == 200
    assert client.get("/docs").status_code == 404
