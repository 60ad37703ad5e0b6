"""A search through a library's index finds what comparing all embeddings finds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyglance.errors import PolyglanceError
from polyglance.gallery import SearchResults, exact, search
from polyglance.library import Library
from polyglance.library.locks import writing
from polyglance.library.record import Record, Stamp, make_id
from polyglance.library.registered import register
from polyglance.library.stores.lance import LanceStore
from polyglance.runtime import ExportedModel, add_background, calibrate, load
from tests.everyday.conftest import write_model, write_picture
from tests.vision.networks.test_backbones import needs

pytest.importorskip("lancedb")
COUNT, CENTRES = 4000, 40
Store = Callable[[Path, str, str], LanceStore]


def around(centres: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Vectors [count, D] around centres, of different closeness."""
    generator = np.random.default_rng(seed)
    noise = generator.normal(size=(count, centres.shape[1]))
    return centres[np.arange(count) % len(centres)] + generator.uniform(0.2, 1, (count, 1)) * noise


@pytest.fixture(scope="module", params=[True, False], ids=["background", "none"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    mark = needs("efficientnet-lite0")
    if mark.args[0]:
        pytest.skip(mark.kwargs["reason"])
    folder = tmp_path_factory.mktemp("model")
    made = load(write_model(folder / "model", folder / "networks"))
    if not request.param:
        return made
    centres = np.random.default_rng(7).normal(size=(8, made.dim))
    background = calibrate(
        around(centres, 160, 1), around(centres, 160, 2), np.arange(160), made.similarity_name, 0
    )
    add_background(folder / "model", background)
    return load(folder / "model")


@pytest.fixture(scope="module")
def library(model: ExportedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library of made-up embeddings, with copies and frames of videos."""
    folder = tmp_path_factory.mktemp("library")
    words = model.encode_text(["dog", "red", "people"], "en", show_progress=False)
    other = np.random.default_rng(0).normal(size=(CENTRES, model.dim))
    other *= np.linalg.norm(words[0]) / np.linalg.norm(other, axis=1, keepdims=True)
    vectors = around(np.concatenate([words, other]), COUNT, 3).astype(np.float32)
    records = []
    for number in range(COUNT):
        second = 2.5 * (number % 3) if number % 10 == 0 else None
        path = folder / "pictures" / f"{number % 7}" / f"{number:05}.jpg"
        stamp = Stamp(1, number, number)
        content = f"{number:032x}"
        records.append(
            Record(make_id(content, 0, second), content, str(path), stamp, 9, 9, second=second)
        )
    for number in range(1, COUNT, 9):
        copied, path = records[number], folder / "pictures" / "6" / f"copy{number}.jpg"
        name = make_id(copied.content, 1, copied.second)
        records.append(
            Record(name, copied.content, str(path), copied.stamp, 9, 9, second=copied.second)
        )
        vectors = np.concatenate([vectors, vectors[number : number + 1]])
    made = Library.create(folder / "mine", model)
    (folder / "pictures" / "3").mkdir(parents=True)
    made.change(folders=[str(folder / "pictures")])
    made.store.upsert(records, vectors, model.id)
    made.close()
    store = LanceStore(made.folder / made.settings.store, 1)
    store.optimise()
    assert store.info().exact is False
    assert store._table.list_indices()
    return made.folder


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lowers the size from which the index is used, and refuses to load all embeddings."""

    def refused(*arguments: object) -> None:
        raise AssertionError("all embeddings are loaded")

    def lower() -> None:
        def opened(folder: Path, name: str, address: str = "") -> LanceStore:
            return LanceStore(folder / name, 1)

        monkeypatch.setattr("polyglance.library.library.open_store", opened)
        monkeypatch.setattr(LanceStore, "columns", refused)

    return lower


def check_equal(found: SearchResults, whole: SearchResults) -> None:
    """They differ at most in the last digit of scores, and in what an index does not count."""
    one, other = found.as_dict(), whole.as_dict()
    assert (one["pictures"], found.notes) == (other["pictures"], whole.notes)
    for query, expected in zip(one["queries"], other["queries"], strict=True):
        for count in ("hidden", "matches"):
            assert count not in query
            expected.pop(count, None)
        for part in ("hits", "closest"):
            assert _scores(query, part) == pytest.approx(_scores(expected, part), abs=2e-6)
        assert query == expected


def _scores(query: dict[str, Any], part: str) -> list[float]:
    """The scores of a query's images, which are removed from it."""
    hits, names = query.get(part, []), ("score", "similarity")
    return [hit.pop(name) for hit in hits for name in names if name in hit]


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("top", [1, 10, 60])
def test_results_are_those_of_comparing_all(
    model: ExportedModel, library: Path, low: Callable[[], None], top: int, everything: bool
) -> None:
    words = ["dog", "red", "people red", "snow"]
    options = {"top": top, "language": "en", "everything": everything}
    whole = search(model, library, words, **options)
    low()
    found = search(model, library, words, **options)
    check_equal(found, whole)
    hits = [hit for result in whole for hit in result.hits]
    assert len(hits) == len(words) * top or not everything
    assert top < 60 or any(hit.copies for hit in hits)
    assert top < 60 or any(hit.second is not None for hit in hits)


def test_a_folder_of_the_library(
    model: ExportedModel, library: Path, low: Callable[[], None]
) -> None:
    register(library)
    folder, empty = library.parent / "pictures" / "3", library.parent / "pictures" / "empty"
    empty.mkdir(exist_ok=True)
    with writing(library, name="sync.lock"):  # the files do not exist, and must not be missed
        whole = search(model, folder, "dog", language="en", everything=True)
        low()
        found = search(model, folder, "dog", language="en", everything=True)
        with pytest.raises(PolyglanceError, match="there are no images in this folder"):
            search(model, empty, "dog", language="en")
    check_equal(found, whole)
    assert all(hit.path.parent == folder for hit in found[0].hits)
    assert 0 < found.as_dict()["pictures"] < COUNT / 5


def test_images_as_queries(
    model: ExportedModel, library: Path, low: Callable[[], None], tmp_path: Path
) -> None:
    query = tmp_path / "query.png"
    write_picture(query, 0)
    whole = search(model, library, query)
    low()
    check_equal(search(model, library, query), whole)


def test_more_candidates_are_scored_while_another_could_be_better(
    model: ExportedModel, library: Path, low: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["dog", "red", "people red", "snow"]
    whole = search(model, library, words, language="en", everything=True)
    low()
    monkeypatch.setattr(exact, "CANDIDATES", 1)
    monkeypatch.setattr(exact, "MORE", 2)
    check_equal(search(model, library, words, language="en", everything=True), whole)
    monkeypatch.setattr(exact, "_is_complete", lambda *_: True)
    fewer = search(model, library, words, language="en", everything=True)
    same = [
        [hit.path for hit in found.hits] == [hit.path for hit in expected.hits]
        for found, expected in zip(fewer, whole, strict=True)
    ]
    assert all(same) == (model.background is None)


def test_combined_queries_compare_all(model: ExportedModel, library: Path, low: Any) -> None:
    low()
    with pytest.raises(AssertionError, match="all embeddings are loaded"):
        search(model, library, "dog", without="red", language="en")
