"""File names that an attacker chose: escaped for people, exact for programs."""

import base64
import json
import os
import sys

import pytest
from PIL import Image

from polyglance.cli import search as command
from polyglance.cli import search_hits
from polyglance.errors import PolyglanceError
from tests.cli.test_search import save_model

NAMES = [b"plain.png", b"caf\xe9.png", b"two\nlines.png", b"\x1b]0;owned\x07.png"]

pytestmark = [
    pytest.mark.usefixtures("thumbnails"),
    pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8"),
]


@pytest.fixture
def folder(tmp_path):
    place = os.fsencode(tmp_path / "pictures")
    os.mkdir(place)
    for number, name in enumerate(NAMES):
        Image.new("RGB", (30, 20), (number, 50 * number, 0)).save(tmp_path / "a.png")
        os.rename(tmp_path / "a.png", os.path.join(place, name))
    with open(os.path.join(place, b"\x1b[2Jbroken.jpg"), "wb") as file:
        file.write(b"no picture")
    return tmp_path / "pictures"


@pytest.fixture
def model(tmp_path):
    return save_model(tmp_path / "model")


def test_null_gives_the_exact_bytes(run, model, folder):
    result = run("search", model, folder, "dog", "--null")
    paths = result.stdout_bytes.split(b"\0")
    assert paths.pop() == b""
    assert sorted(paths) == sorted(os.path.join(os.fsencode(folder), name) for name in NAMES)
    assert all(os.path.exists(path) for path in paths)


def test_json_gives_the_exact_bytes(run, model, folder):
    hits = json.loads(run("search", model, folder, "dog", "--json", "-").stdout)["queries"][0]
    found = {
        base64.b64decode(hit["path_base64"]) if "path_base64" in hit else hit["path"].encode()
        for hit in hits["hits"]
    }
    assert found == {os.path.join(os.fsencode(folder), name) for name in NAMES}


def test_a_line_of_a_pipe_is_one_file(run, model, folder):
    result = run("search", model, folder, "dog")
    lines = [line.split(b"\t")[1] for line in result.stdout_bytes.splitlines()]
    ends = {line.removeprefix(os.fsencode(folder) + b"/") for line in lines}
    assert ends == {b"plain.png", b"caf\xe9.png", rb"two\nlines.png", rb"\x1b]0;owned\x07.png"}
    assert b"\x1b" not in result.stderr_bytes
    assert rb"\x1b[2Jbroken.jpg: not an image" in result.stderr_bytes


def test_a_table_on_a_terminal_is_escaped(model, folder, monkeypatch, capsys):
    monkeypatch.setattr(search_hits.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    command.search_command(str(model), [str(folder), "dog"], top=9)
    shown = capsys.readouterr().out
    assert "\x1b]" not in shown
    for name in (r"caf\xe9.png", r"two\nlines.png", r"\x1b]0;owned\x07.png"):
        assert name in shown


def test_features_names_what_it_skips_escaped(run, folder):
    result = run("features", folder, "--feature", "x/global")
    assert rb"\x1b[2Jbroken.jpg" in result.stderr_bytes
    assert b"\x1b[2J" not in result.stderr_bytes


def test_an_error_is_escaped(shell, tmp_path):
    done = shell("search", "\x1b[2Jnothing", tmp_path, "dog")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert r"\x1b[2Jnothing: no such folder" in done.stderr


def test_null_and_json_do_not_share_stdout(run, model, folder):
    with pytest.raises(PolyglanceError, match="leave out one"):
        run("search", model, folder, "dog", "--null", "--json", "-")
