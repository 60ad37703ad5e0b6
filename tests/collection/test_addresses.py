"""Tables of addresses: images that come from web servers, and those that do not."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import polyglance.collection.items as items
from polyglance.collection.plan import read_plan
from polyglance.collection.run import EmbedReport, _summarise
from polyglance.collection.tables import locate
from polyglance.storage.folders import absolute, is_remote
from tests.collection.sources import begin, embed_all, png, rows_of

pytest.importorskip("lancedb")
ASKED: Counter[str] = Counter()


class Handler(BaseHTTPRequestHandler):
    """Good pictures, some that are not there, and one that comes at the second attempt."""

    def do_GET(self) -> None:
        ASKED[self.path] += 1
        codes = {"/none.png": 404, "/down.png": 503, "/secret.png": 403, "/away.png": 302}
        code = codes.get(self.path, 200)
        if self.path == "/later.png" and ASKED[self.path] == 1:
            code = 503
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "file:///etc/passwd")
        self.end_headers()
        if code == 200:
            self.wfile.write(png(3) * (100 if self.path == "/large.png" else 1))

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    ASKED.clear()
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


def test_a_table_of_addresses(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "PAUSE", 0)
    monkeypatch.setattr(items, "LARGEST", 20_000)
    names = ("a", "none", "down", "secret", "later", "away", "large")
    urls = [*(f"{server}/{name}.png" for name in names), "gopher://a/b", "http://[bad", " "]
    parquet.write_table(pa.table({"url": urls}), tmp_path / "t.parquet")
    work = begin(tmp_path / "t.parquet", tmp_path / "out", rows=20)
    embed_all(work, read_plan(work.folder))
    assert [row["path"] for row in rows_of(work)] == [f"{server}/a.png", f"{server}/later.png"]
    _summarise(work.folder, read_plan(work.folder), EmbedReport())
    lines = (tmp_path / "out" / "problems.jsonl").read_text().splitlines()
    reasons = [json.loads(line)["reason"] for line in lines]
    parts = ["404", "503", "403", "302", "larger than", "gopher", "", "nothing in this row"]
    assert [part in reason for part, reason in zip(parts, reasons, strict=True)] == [True] * 8
    assert (ASKED["/none.png"], ASKED["/down.png"], ASKED["/later.png"]) == (1, 3, 2)


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ("s3://a/t.parquet", "/etc/passwd"),
        ("s3://a/t.parquet", "file:///etc/passwd"),
        ("s3://a/t.parquet", "../../b"),
        ("/a/t.parquet", "github://a:b@/c"),
        ("/a/t.parquet", "simplecache::s3://a/b"),
    ],
)
def test_addresses_that_a_table_may_not_have(table: str, place: str) -> None:
    with pytest.raises(ValueError, match=r"a local file|is not one of|combine file"):
        locate(table, place)


def test_addresses_that_it_may() -> None:
    assert locate("s3://a/b/t.parquet", "c.jpg") == "s3://a/b/c.jpg"
    assert locate("/a/t.parquet", "file:///b/c.jpg") == "/b/c.jpg"
    assert locate("/a/t.parquet", "s3://b/c.jpg") == "s3://b/c.jpg"
    assert is_remote("s3://a")
    assert not is_remote("file:///a")
    assert absolute("file:///a/b/") == "/a/b"
