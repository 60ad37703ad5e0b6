"""The real command, end to end, where torch cannot be imported."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from polyglance.library import Library, sync
from tests.everyday.conftest import write_picture
from tests.library.read_only import read_only
from tests.test_missing_packages import BLOCKED, ROOT

TORCH = ["torch", "onnx", "matplotlib", "nltk", "scipy", "tensorboard", "transformers"]
TOKEN = "a-token-of-32-characters-or-such"


def start(
    tmp_path: Path,
    *words: object,
    blocked: list[str] = TORCH,
    drive: Path | None = None,
    **variables: str,
) -> subprocess.Popen:
    """A service; `drive` is a folder that is read-only for it."""
    code = BLOCKED.format(names=blocked) + "from polyglance.cli import main; main()"
    own = {"PYTHONPATH": str(ROOT / "src"), "POLYGLANCE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code, "serve", *map(str, words)]
    return subprocess.Popen(
        command if drive is None else read_only(drive, *command),
        env={**os.environ, **own, "OMP_NUM_THREADS": "1", **variables},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def served(
    tmp_path: Path, *words: object, drive: Path | None = None, **variables: str
) -> Iterator[tuple[str, list[str]]]:
    """The address of a service that runs, and its log, which is whole when it has ended."""
    process, logged = start(tmp_path, *words, "--port", 0, drive=drive, **variables), list[str]()
    assert process.stdout is not None
    assert process.stderr is not None
    # A pipe that nobody reads is full after some 64 kB, and a service that logs would wait.
    reading = threading.Thread(target=logged.extend, args=[process.stderr], daemon=True)
    reading.start()
    try:
        line = process.stdout.readline()
        address = re.search(r"http://[^ ]+", line)
        if address is None:
            reading.join(60)
            pytest.fail(line + "".join(logged))
        yield address[0], logged
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        reading.join(60)
    finally:
        process.kill()


def get(address: str, token: str | None = None) -> tuple[int, bytes]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_folder_is_served(tmp_path: Path, pictures: Path, model_folder: Path) -> None:
    with served(tmp_path, pictures, "--model", model_folder) as (address, logged):
        assert json.loads(get(f"{address}v1/health")[1])["status"] == "ok"
        status, body = get(f"{address}v1/search?q={quote('red dog -snow')}&limit=2")
        found = json.loads(body)
        assert (status, len(found["hits"]), found["pictures"]) == (200, 2, 6)
        assert get(address + found["hits"][0]["thumbnail"][1:])[0] == 200
        assert b"<title>Polyglance</title>" in get(address)[1]
        assert get(f"{address}v1/images/..%2f..%2fetc%2fpasswd")[0] == 404
    lines = [json.loads(line) for line in logged if line.startswith("{")]
    assert [line["status"] for line in lines] == [200, 200, 200, 200, 404]
    assert "dog" not in "".join(logged)
    assert "Traceback" not in "".join(logged)


def test_a_library_is_served_with_its_thumbnails_and_a_token(
    tmp_path: Path, pictures: Path, model_folder: Path
) -> None:
    pytest.importorskip("lancedb")
    library = Library.create(tmp_path / "mine", model_folder)
    library.change(folders=[str(pictures)])
    sync(library, show_progress=False)
    kept = {row.path: library.thumbnail(row.id) for row in library.store.known()}
    with served(tmp_path, "mine", "--host", "0.0.0.0", POLYGLANCE_TOKEN=TOKEN) as (address, _):
        address = address.replace("0.0.0.0", "127.0.0.1")
        assert get(f"{address}v1/search?q=dog")[0] == 401
        hits = json.loads(get(f"{address}v1/search?q=dog", TOKEN)[1])["hits"]
        assert {hit["path"] for hit in hits} == {
            *(f"{number}.png" for number in range(5)),
            "deep/5.jpg",
        }
        for hit in hits:
            small = get(address + hit["thumbnail"][1:], TOKEN)[1]
            assert small == kept[str(pictures / hit["path"])]


def test_a_library_on_a_read_only_drive(tmp_path: Path, pictures: Path, model_folder: Path) -> None:
    pytest.importorskip("lancedb")
    drive = tmp_path / "drive"
    drive.mkdir()
    library = Library.create(drive / "mine", model_folder)
    library.change(folders=[str(pictures)])
    sync(library, show_progress=False)
    kept = {library.thumbnail(row.id) for row in library.store.known()}
    library.close()
    with served(tmp_path, "drive/mine", drive=drive) as (address, logged):
        hits = json.loads(get(f"{address}v1/search?q=dog")[1])["hits"]
        small = {get(address + hit["thumbnail"][1:])[1] for hit in hits}
        assert small == kept
    assert "Traceback" not in "".join(logged)


def test_current_requests_are_answered_when_the_service_stops(
    tmp_path: Path, pictures: Path, model_folder: Path
) -> None:
    process = start(tmp_path, pictures, "--model", model_folder, "--port", 0)
    try:
        assert process.stdout is not None
        port = int(re.search(r":([0-9]+)/", process.stdout.readline())[1])  # type: ignore[index]
        data = b'{"input": ["red dog", "hund"]}'
        head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}"
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(f"{head}\r\nContent-Type: application/json\r\n\r\n".encode())
            connection.sendall(data[:20])
            assert get(f"http://127.0.0.1:{port}/v1/health")[0] == 200  # it has read that
            process.send_signal(signal.SIGTERM)
            connection.sendall(data[20:])
            answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"index":1' in answer
        assert "Traceback" not in process.communicate(timeout=60)[1]
    finally:
        process.kill()


def test_the_port_is_open_while_a_folder_is_indexed(tmp_path: Path, model_folder: Path) -> None:
    folder, count = tmp_path / "pictures", 150
    for number in range(count):
        write_picture(folder / f"{number}.png", number)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = start(tmp_path, folder, "--model", model_folder, "--port", port)
    address = f"http://127.0.0.1:{port}/v1"
    try:
        before = answer_of(process, f"{address}/ready")
        assert before[0] == 503
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"{count} images at ")
        assert json.loads(get(f"{address}/search?q=dog")[1])["pictures"] == count
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    finally:
        process.kill()


def answer_of(process: subprocess.Popen, address: str) -> tuple[int, bytes]:
    """The first answer of a service that starts."""
    while process.poll() is None:
        try:
            return get(address)
        except urllib.error.URLError:
            time.sleep(0.02)
    pytest.fail(process.stderr.read() if process.stderr else "")


def refusal(tmp_path: Path, *words: object, **options: list[str]) -> str:
    process = start(tmp_path, *words, **options)  # type: ignore[arg-type]
    out, error = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert "Traceback" not in error
    return error.splitlines()[-1]


def test_invalid_options_are_refused_at_the_start(
    tmp_path: Path, pictures: Path, model_folder: Path
) -> None:
    assert "--token" in refusal(tmp_path, pictures, "--host", "0.0.0.0")
    assert "no such folder" in refusal(tmp_path, tmp_path / "none")
    assert "there is no library yet" in refusal(tmp_path)
    (tmp_path / "empty").mkdir()
    said = refusal(tmp_path, tmp_path / "empty", "--model", model_folder, "--port", 0)
    assert "there are no images in this folder" in said
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal(tmp_path, pictures, "--model", model_folder, "--port", port)
        assert f"cannot listen on 127.0.0.1, port {port}" in said


def test_without_its_packages_the_extra_is_named(tmp_path: Path, pictures: Path) -> None:
    said = refusal(tmp_path, pictures, blocked=["uvicorn"])
    assert "pip install 'polyglance[serve]'" in said
