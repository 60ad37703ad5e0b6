"""A translator behind a real local server."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from polyglance.errors import PolyglanceError
from polyglance.translation import make_translator, translate
from polyglance.translation.http import KEY, HttpTranslator


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        status, answer = self.server.answers.pop(0) if self.server.answers else (200, None)
        if answer is None:
            answer = {"translatedText": [f"{body['target']}:{text}" for text in body["q"]]}
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as found:
        found.asked, found.answers = [], []
        found.url = f"http://127.0.0.1:{found.server_port}"
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


def test_texts_are_posted_together_and_kept(server, tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    translator = make_translator(server.url + "/")
    for _ in range(2):
        found = translate(translator, ["a dog", "a cat"], "en", "de", tmp_path)
        assert found == ["de:a dog", "de:a cat"]
    path, body = server.asked[0]
    assert (len(server.asked), path) == (1, "/translate")
    wanted = {"q": ["a dog", "a cat"], "source": "en", "target": "de", "format": "text"}
    assert body == {**wanted, "api_key": "secret"}
    assert translator.name == server.url


def test_a_server_that_is_busy_is_asked_again(server):
    server.answers = [(503, {"error": "busy"}), (429, {"error": "slow down"})]
    translator = HttpTranslator(server.url, first_wait=0)
    assert translator.translate(["a"], "en", "de") == ["de:a"]
    assert len(server.asked) == 3


def test_it_is_not_asked_for_ever(server):
    server.answers = [(503, {"error": "busy"})] * 9
    with pytest.raises(PolyglanceError, match="answers 503: busy"):
        HttpTranslator(server.url, retries=2, first_wait=0).translate(["a"], "en", "de")
    assert len(server.asked) == 3


def test_a_mistake_is_told_at_once(server):
    server.answers = [(400, {"error": "xx is not supported"})]
    with pytest.raises(PolyglanceError, match="answers 400: xx is not supported"):
        HttpTranslator(server.url).translate(["a"], "xx", "de")
    assert len(server.asked) == 1


@pytest.mark.parametrize("answer", [b"<html>", {"text": "x"}, {"translatedText": "x"}])
def test_another_kind_of_server_is_told(server, answer):
    server.answers = [(200, answer)]
    with pytest.raises(PolyglanceError, match=r"JSON; is the address|is it a LibreTranslate"):
        HttpTranslator(server.url).translate(["a"], "en", "de")


def test_nobody_there_is_told(server):
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(PolyglanceError, match="cannot be reached"):
        HttpTranslator(url, retries=1, first_wait=0).translate(["a"], "en", "de")


@pytest.mark.parametrize("url", ["http://", "https://me:password@host"])
def test_other_addresses_are_refused(url):
    with pytest.raises(PolyglanceError, match=f"not the address.*{KEY}"):
        make_translator(url)
    assert make_translator("https://host/mt/translate").name == "https://host/mt"
