"""The real commands, end to end, where torch cannot be imported."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polyglance.library import Library
from polyglance.runtime import load
from tests.library.exported import write_model
from tests.library.fakes import save
from tests.test_missing_packages import BLOCKED, MAIN
from tests.vision.networks.test_backbones import needs

pytest.importorskip("lancedb")
pytestmark = needs("efficientnet-lite0")
ROOT = Path(__file__).parents[2]
TORCH = ["torch", "onnx", "matplotlib", "nltk", "scipy", "tensorboard", "transformers"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"))


def environment(tmp_path: Path) -> dict[str, str]:
    cache = str(tmp_path / "cache")
    settings = {"PYTHONPATH": str(ROOT / "src"), "POLYGLANCE_CACHE": cache}
    return {**os.environ, **settings, "POLYGLANCE_MODEL": "/none"}


def run(
    tmp_path: Path,
    *words: object,
    blocked: list[str] = TORCH,
    code: int = 0,
    told: bool = False,
) -> str:
    """What a command prints, whose exit code must be as said; of a failure, its stderr.

    Args:
        tmp_path: where it is run.
        words: of the command.
        blocked: packages that it cannot import.
        code: its exit code.
        told: give its stderr, also of a success.
    """
    given = ", ".join(repr(str(word)) for word in words)
    script = BLOCKED.format(names=blocked) + MAIN.format(given)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 and not told else done.stderr


def stderr(tmp_path: Path, *words: object) -> str:
    return run(tmp_path, *words, told=True)


def test_a_library_from_its_making_to_its_end(tmp_path: Path, model: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for number in range(5):
        save(first / f"{number}.png", number)
    save(second / "5.jpg", 5)
    (first / "bad.jpg").write_bytes(b"none")
    words = ("library", "create", "mine", first, "--model", model)
    assert run(tmp_path, *words) == f"library: {tmp_path / 'mine'}\n5 added\n"
    assert run(tmp_path, "library", "add", "mine", second) == "1 added, 5 unchanged\n"
    (first / "0.png").rename(first / "moved.png")
    (first / "1.png").unlink()
    printed = run(tmp_path, "library", "sync", "mine")
    assert printed == "1 moved, 1 removed, 4 unchanged\n"
    found = json.loads(run(tmp_path, "library", "info", "mine", "--json"))
    assert (found["images"], found["dim"], found["unreadable"]) == (5, 16, 1)
    assert (found["folders"], found["model"]) == ([str(first), str(second)], load(model).id)
    assert "images: 5 (lance, exhaustive search" in run(tmp_path, "library", "info", "mine")
    assert run(tmp_path, "library", "remove", "mine", second, first / "2.png") == (
        "2 removed, 3 unchanged\n"
    )
    assert run(tmp_path, "library", "sync", "mine") == "3 unchanged\n"
    library = Library.open(tmp_path / "mine")
    records = library.store.records()
    assert [Path(record.path).name for record in records] == ["3.png", "4.png", "moved.png"]
    expected = load(model).encode_images([record.path for record in records])
    vectors = library.store.vectors([record.id for record in records])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    match = library.search(first / "3.png")[0]
    assert (Path(match.record.path).name, round(match.score, 4)) == ("3.png", 1.0)
    assert len(library.search("a dog", top=2, language="en")) == 2


def test_unreadable_files_are_listed_again_only_by_a_sync(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "pictures"
    for number in range(2):
        save(folder / f"{number}.png", number)
    (folder / "bad.jpg").write_bytes(b"none")
    run(tmp_path, "library", "create", "mine", folder, "--model", model)
    assert "skipped" in stderr(tmp_path, "library", "sync", "mine")
    assert "skipped" not in stderr(tmp_path, "library", "remove", "mine", folder / "0.png")


def test_mistakes(tmp_path: Path, model: Path) -> None:
    save(tmp_path / "pictures" / "a.png", 0)
    wrong = ("library", "create", "mine", "none", "--model", model)
    assert run(tmp_path, *wrong, code=2) == "error: none: no such folder or file\n"
    assert not (tmp_path / "mine").exists()
    assert "POLYGLANCE_MODEL=/none: no such folder" in run(
        tmp_path, "library", "create", "mine", code=2
    )
    assert "not a library" in run(tmp_path, "library", "sync", "pictures", code=2)
    right = ("library", "create", "mine", "pictures", "--model", model)
    run(tmp_path, *right)
    assert "a library already exists" in run(tmp_path, *right, code=2)
    words = ("library", "create", "pictures", "--model", model)
    assert "must be a new or an empty folder" in run(tmp_path, *words, code=2)
    assert "not in this library" in run(tmp_path, "library", "remove", "mine", "/none", code=2)
    missing = run(tmp_path, "library", "sync", "mine", blocked=["lancedb"], code=2)
    assert "pip install 'polyglance[library]'" in missing


def test_a_model_that_was_moved(tmp_path: Path, model: Path) -> None:
    save(tmp_path / "pictures" / "a.png", 0)
    (tmp_path / "model").symlink_to(model)
    run(tmp_path, "library", "create", "mine", "pictures", "--model", "model")
    (tmp_path / "model").unlink()
    save(tmp_path / "pictures" / "b.png", 1)
    told = run(tmp_path, "library", "sync", "mine", code=2)
    assert "no longer exists" in told
    assert run(tmp_path, "library", "sync", "mine", "--model", model) == "1 added, 1 unchanged\n"
    save(tmp_path / "pictures" / "c.png", 2)
    assert run(tmp_path, "library", "sync", "mine") == "1 added, 2 unchanged\n"


def found(printed: str) -> list[str]:
    """Names of files in what a search prints, best first."""
    return [Path(line.split("\t")[1]).name for line in printed.splitlines()]


def test_a_search_uses_the_library(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "pictures"
    for number in range(4):
        save(folder / f"{number % 2}" / f"{number}.png", number)
    run(tmp_path, "library", "create", "mine", folder, "--model", model)
    index = tmp_path / "cache" / "index"
    query = save(tmp_path / "queries" / "3.png", 3)
    assert found(run(tmp_path, "search", "pictures", query))[0] == "3.png"
    assert "3.png" not in found(run(tmp_path, "search", "pictures", folder / "1" / "3.png"))
    printed = run(tmp_path, "search", "pictures", "dog", "--language", "en")
    assert sorted(found(printed)) == ["0.png", "1.png", "2.png", "3.png"]
    assert {line.split("\t")[1].split("/")[0] for line in printed.splitlines()} == {"pictures"}
    assert sorted(found(run(tmp_path, "search", folder / "1", "dog"))) == ["1.png", "3.png"]
    assert not index.exists()
    other = tmp_path / "other"
    run(tmp_path, "search", folder / "1", "dog", "--cache", other)
    assert not (other / "index").exists(), "the library is found with any --cache"
    save(folder / "1" / "5.png", 5)
    new = save(tmp_path / "queries" / "5.png", 5)
    assert found(run(tmp_path, "search", "mine", new))[0] != "5.png", "as it was synced"
    assert found(run(tmp_path, "search", folder / "1", new))[0] == "5.png"
    assert found(run(tmp_path, "search", "mine", new, "--top", 1)) == ["5.png"]
    assert not index.exists()


def test_a_search_with_another_model(tmp_path: Path, model: Path) -> None:
    save(tmp_path / "pictures" / "a.png", 0)
    run(tmp_path, "library", "create", "mine", "pictures", "--model", model)
    other = write_model(tmp_path / "other", 8)
    asked = ("dog", "--model", other)
    assert found(run(tmp_path, "search", "pictures", *asked)) == ["a.png"]
    assert (tmp_path / "cache" / "index").is_dir()
    told = run(tmp_path, "search", "mine", *asked, code=2)
    assert "library reembed" in told
    assert run(tmp_path, "library", "reembed", "mine", "--model", other) == "1 changed\n"
    assert found(run(tmp_path, "search", "mine", *asked)) == ["a.png"]


def test_duplicates_and_export(tmp_path: Path, model: Path) -> None:
    first = save(tmp_path / "pictures" / "a.png", 0)
    (tmp_path / "pictures" / "b.png").write_bytes(first.read_bytes())
    run(tmp_path, "library", "create", "mine", "pictures", "--model", model)
    printed = run(tmp_path, "library", "duplicates", "mine", "--exact")
    assert printed == f"1\tequal\t{first}\n1\tequal\t{first.with_name('b.png')}\n"
    run(tmp_path, "library", "export", "mine", "out.jsonl", "--vectors", "out.npy")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["path"] for line in lines] == [str(first), str(first)[:-5] + "b.png"]
    assert np.load(tmp_path / "out.npy").shape == (2, 16)


def test_watch_until_it_is_interrupted(tmp_path: Path, model: Path) -> None:
    pytest.importorskip("watchfiles")
    save(tmp_path / "pictures" / "a.png", 0)
    (tmp_path / "pictures" / "bad.jpg").write_bytes(b"none")
    run(tmp_path, "library", "create", "mine", "pictures", "--model", model)
    process = subprocess.Popen(
        [sys.executable, "-m", "polyglance", "library", "watch", "mine"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().endswith("1 unchanged\n")
        save(tmp_path / "b.png", 1).rename(tmp_path / "pictures" / "b.png")
        assert process.stdout.readline().endswith("1 added\n")
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    first, second, third, *rest = told.splitlines()
    assert first == f"watching: {tmp_path / 'pictures'}"
    assert second.startswith(f"skipped {tmp_path / 'pictures' / 'bad.jpg'}")
    assert third == "(1 of them was skipped before)"
    assert rest[-1] == "interrupted"
    assert "skipped" not in "".join(rest)
