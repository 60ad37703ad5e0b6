"""How images found by a search are printed."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.cli import search_hits
from polyglance.cli.search_hits import print_hits
from polyglance.gallery import Gallery, Hit, Query, QueryResult, SearchResults


def found(*texts: str) -> SearchResults:
    """The same frames of a video and an image for each text."""
    hits = [
        Hit(Path("v.mp4"), 0.9, 1, (Path("copy.mp4"),), second=70.25),
        Hit(Path("v.mp4"), 0.8, 2, second=0.0),
        Hit(Path("a.jpg"), 0.7, 3),
    ]
    gallery = Gallery([], np.empty((0, 1)), [])
    results = [QueryResult(Query(text, None, (), ()), hits) for text in texts]
    return SearchResults(results, gallery, [])


def test_frames_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_hits(found("dog"))
    assert capsys.readouterr().out.splitlines() == [
        "0.9000\tv.mp4\t70.25",
        "0.8000\tv.mp4\t0",
        "0.7000\ta.jpg",
    ]
    print_hits(found("dog", "cat"))
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "0.8000\tv.mp4\tdog\t0",
        "0.7000\ta.jpg\tdog",
    ]


def test_frames_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_hits.sys.stdout, "isatty", lambda: True)
    print_hits(found("dog"))
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in ("1 0.9000 v.mp4 (1:10)", "+1 copy: copy.mp4 (1:10)", "2 0.8000 v.mp4 (0:00)"):
        assert line in printed
    assert "3 0.7000 a.jpg" in printed


def test_frames_as_json() -> None:
    first, second, third = found("dog").as_dict()["queries"][0]["hits"]
    assert (first["second"], second["second"]) == (70.25, 0.0)
    assert "second" not in third
