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
        given = self.server.answers.pop(0) if self.server.answers else (200, None)
        status, answer, *headers = given
        if answer is None:
            answer = {"translatedText": [f"{body['target']}:{text}" for text in body["q"]]}
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers:
            self.send_header(name, value)
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


@pytest.fixture
def waits(monkeypatch):
    """The seconds that a translator would have slept."""
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    return slept


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


def test_requests_to_a_busy_server_are_repeated(server):
    server.answers = [(503, {"error": "busy"}), (429, {"error": "slow down"})]
    translator = HttpTranslator(server.url, first_wait=0)
    assert translator.translate(["a"], "en", "de") == ["de:a"]
    assert len(server.asked) == 3


def test_requests_are_not_repeated_for_ever(server):
    server.answers = [(503, {"error": "busy"})] * 9
    with pytest.raises(PolyglanceError, match="answers 503: busy"):
        HttpTranslator(server.url, retries=2, first_wait=0).translate(["a"], "en", "de")
    assert len(server.asked) == 3


def test_waits_double_from_one_second(server, waits):
    server.answers = [(503, {"error": "busy"})] * 9
    with pytest.raises(PolyglanceError, match="answers 503: busy"):
        HttpTranslator(server.url).translate(["a"], "en", "de")
    assert waits == [1, 2, 4, 8]
    assert len(server.asked) == 5


def test_no_wait_is_longer_than_a_minute(server, waits):
    server.answers = [(500, {"error": "?"})] * 3
    HttpTranslator(server.url, first_wait=29).translate(["a"], "en", "de")
    assert waits == [29, 58, 60]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("7", [7, 14]),
        ("1", [1, 2]),
        ("60", [60, 60]),
        ("61", [60, 60]),
        ("3600", [60, 60]),
        ("0", [3, 6]),
        ("soon", [3, 6]),
        ("-5", [3, 6]),
        ("\xb2", [3, 6]),
        ("Wed, 21 Oct 2026 07:28:00 GMT", [3, 6]),
    ],
)
def test_the_server_may_ask_for_a_wait(server, waits, asked, expected):
    """In seconds; its next wait is twice as long where it asks for none."""
    server.answers = [(429, {"error": "slow"}, ("Retry-After", asked)), (429, {"error": "slow"})]
    found = HttpTranslator(server.url, first_wait=3).translate(["a"], "en", "de")
    assert found == ["de:a"]
    assert waits == expected


def test_the_last_requested_wait_counts(server, waits):
    seconds = ["5", "2", "9"]
    server.answers = [(503, {"error": "busy"}, ("Retry-After", s)) for s in seconds]
    HttpTranslator(server.url).translate(["a"], "en", "de")
    assert waits == [5, 2, 9]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_temporary_failures_are_retried(server, waits, status):
    server.answers = [(status, {"error": "later"})]
    assert HttpTranslator(server.url).translate(["a"], "en", "de") == ["de:a"]
    assert waits == [1]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 501])
def test_permanent_failures_are_not_retried(server, waits, status):
    server.answers = [(status, {"error": "no"}, ("Retry-After", "1"))]
    with pytest.raises(PolyglanceError, match=f"answers {status}: no"):
        HttpTranslator(server.url).translate(["a"], "en", "de")
    assert waits == []


def test_client_errors_are_not_retried(server):
    server.answers = [(400, {"error": "xx is not supported"})]
    with pytest.raises(PolyglanceError, match="answers 400: xx is not supported"):
        HttpTranslator(server.url).translate(["a"], "xx", "de")
    assert len(server.asked) == 1


@pytest.mark.parametrize("answer", [b"<html>", {"text": "x"}, {"translatedText": "x"}])
def test_a_server_of_another_kind_is_refused(server, answer):
    server.answers = [(200, answer)]
    with pytest.raises(PolyglanceError, match=r"JSON; is the address|is it a LibreTranslate"):
        HttpTranslator(server.url).translate(["a"], "en", "de")


def test_an_unreachable_server_is_an_error(server):
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
