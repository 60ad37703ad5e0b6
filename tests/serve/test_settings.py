"""Settings by the environment, and the files that use them."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("pydantic_settings")
from polyglance.data.photographs import PHOTOGRAPHS, gather, photographs
from polyglance.errors import PolyglanceError
from polyglance.serve.settings import PREFIX, ServeSettings, serve_settings
from tests.serve.test_command import TOKEN, get, refusal, served
from tests.test_missing_packages import ROOT

ELSEWHERE = {"CACHE", "MODEL", "SCREENSHOTS"}
"""Variables that other commands know as well."""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ServeSettings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)


def test_the_command_line_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert serve_settings().model_dump() == {
        "place": None,
        "host": "127.0.0.1",
        "port": 8000,
        "token": None,
        "token_file": None,
        "rate": None,
        "allow_origin": (),
        "log_queries": False,
        "reload": True,
        "watch": False,
    }
    monkeypatch.setenv("POLYGLANCE_PORT", "81")
    monkeypatch.setenv("POLYGLANCE_HOST", "::1")
    monkeypatch.setenv("POLYGLANCE_PLACE", "/somewhere")
    assert serve_settings(port=None).port == 81
    found = serve_settings(port=0, place=Path("here"))
    assert (found.port, found.host, found.place) == (0, "::1", Path("here"))
    monkeypatch.setenv("POLYGLANCE_PORT", "")
    assert serve_settings().port == 8000


def test_lists_and_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    origins = ("https://a.example", "http://localhost:3000")
    monkeypatch.setenv("POLYGLANCE_ALLOW_ORIGIN", " ".join(origins))
    monkeypatch.setenv("POLYGLANCE_LOG_QUERIES", "yes")
    monkeypatch.setenv("POLYGLANCE_RELOAD", "0")
    monkeypatch.setenv("POLYGLANCE_RATE", "60")
    found = serve_settings()
    assert (found.allow_origin, found.rate) == (origins, 60)
    assert (found.log_queries, found.reload) == (True, False)
    given = serve_settings(allow_origin=["https://b.example"], reload=True, log_queries=False)
    assert (given.allow_origin, given.reload) == (("https://b.example",), True)
    assert not given.log_queries


def test_a_token_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("POLYGLANCE_TOKEN_FILE", str(tmp_path / "token"))
    assert serve_settings().token == TOKEN
    assert serve_settings(token="another").token == "another"
    monkeypatch.setenv("POLYGLANCE_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(PolyglanceError, match="token cannot be read"):
        serve_settings()


@pytest.mark.parametrize("value", ["70000", "eighty"])
def test_a_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("POLYGLANCE_PORT", value)
    with pytest.raises(PolyglanceError, match=r"^POLYGLANCE_PORT: input should be"):
        serve_settings()


def test_the_command_reads_them(tmp_path: Path, pictures: Path, model_folder: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    own = {"POLYGLANCE_PLACE": str(pictures), "POLYGLANCE_TOKEN_FILE": str(tmp_path / "token")}
    with served(tmp_path, POLYGLANCE_MODEL=str(model_folder), **own) as (address, _):
        assert get(f"{address}v1/search?q=dog")[0] == 401
        assert json.loads(get(f"{address}v1/search?q=dog", TOKEN)[1])["pictures"] == 6
    said = refusal(tmp_path, pictures, POLYGLANCE_HOST="0.0.0.0")  # type: ignore[arg-type]
    assert "token" in said


def test_the_demo_s_photographs(tmp_path: Path) -> None:
    pytest.importorskip("skimage")
    folder = gather(tmp_path / "new" / "photographs")
    assert gather(folder) == folder
    found = {path.stem: path.read_bytes() for path in folder.iterdir()}
    assert found == {one.name: path.read_bytes() for path, one in photographs().items()}
    assert set(found) <= {one.name for one in PHOTOGRAPHS}


@pytest.mark.parametrize("file", ["Containerfile", "deploy/polyglance.service", "docs/serving.md"])
def test_variables_that_files_name_are_known(file: str) -> None:
    known = {name.upper() for name in ServeSettings.model_fields} | ELSEWHERE
    named = set(re.findall(rf"{PREFIX}([A-Z_]+)", (ROOT / file).read_text(encoding="utf-8")))
    assert named
    assert named - known == set()


def test_all_variables_are_documented() -> None:
    text = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    for name in ServeSettings.model_fields:
        assert f"| `{PREFIX}{name.upper()}` |" in text
