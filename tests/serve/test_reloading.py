"""A library that changes while it is served."""

import gc
import json
import os
import weakref
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from polyglance.library import Library, sync
from polyglance.serve import make_app, open_collection, reloading
from polyglance.serve.reloading import Reloader, mark_of
from polyglance.serve.service import Service
from tests.everyday.conftest import write_picture

pytest.importorskip("lancedb")


class Kept:
    """A library of some images, served, and what looks after it."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.pictures = folder / "pictures"
        for number in range(4):
            write_picture(self.pictures / f"{number}.png", number)
        self.library = Library.create(folder / "mine", model)
        self.library.change(folders=[str(self.pictures)])
        sync(self.library, show_progress=False)
        seen = mark_of(self.library.folder)
        self.service = Service(open_collection(self.library.folder, None, folder))
        self.client = TestClient(make_app(self.service), base_url="http://localhost")
        self.reloader = Reloader(self.service, self.library.folder, None, folder, seen=seen)

    def found(self, **parts: object) -> dict:
        answer = self.client.get("/v1/search", params={"q": "red dog", **parts})
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def kept(tmp_path: Path, model_folder: Path) -> Kept:
    return Kept(tmp_path, model_folder)


def names(answer: dict) -> list[str]:
    return [hit["path"] for hit in answer["hits"]]


def test_changes_are_read_and_cursors_go_on(kept: Kept) -> None:
    assert not kept.reloader.look()
    before = names(kept.found())
    page = kept.found(limit=2)
    write_picture(kept.pictures / "more" / "4.png", 4)
    os.remove(kept.pictures / before[3])
    sync(kept.library, show_progress=False)
    assert kept.found()["pictures"] == 4
    assert kept.reloader.look()
    assert not kept.reloader.look()
    now = names(kept.found())
    assert set(now) == {*before[:3], "more/4.png"}
    rest = names(kept.found(limit=50, cursor=page["cursor"]))
    assert rest == now[now.index(before[1]) + 1 :]
    assert names(kept.found(folder="more")) == ["more/4.png"]
    assert kept.client.get("/v1/facets").json()["pictures"] == 4
    assert "polyglance_reloads_total 1.0" in kept.client.get("/metrics").text


def test_a_cursor_continues_if_its_image_is_gone(kept: Kept) -> None:
    before = names(kept.found())
    cursor = kept.found(limit=2)["cursor"]
    os.remove(kept.pictures / before[1])
    sync(kept.library, show_progress=False)
    assert kept.reloader.look()
    assert names(kept.found(limit=50, cursor=cursor)) == before[2:]


def test_a_library_without_any_picture_left_finds_none(kept: Kept) -> None:
    picture = kept.found()["hits"][0]
    kept.library.store.delete([row.id for row in kept.library.store.known()])
    assert kept.reloader.look()
    answer = kept.found(tag="sea", folder="x", to="2020")
    assert (answer["hits"], answer["pictures"], answer["enough"]) == ([], 0, False)
    assert (answer["reason"], answer["message"]) == ("empty", "there are no images to search")
    assert kept.client.get("/v1/facets").json()["folders"] == []
    assert kept.client.get(picture["image"]).status_code == 404


def test_a_failed_reload_keeps_the_current_images(kept: Kept) -> None:
    settings = kept.library.folder / "library.json"
    settings.write_text("{}", encoding="utf-8")
    assert not kept.reloader.look()
    assert kept.found()["pictures"] == 4
    assert "polyglance_failed_reloads_total 1.0" in kept.client.get("/metrics").text


def test_changes_are_awaited_until_none_follows(kept: Kept, monkeypatch) -> None:
    marks = iter(["a", "b", "b", "b"])
    monkeypatch.setattr(reloading, "mark_of", lambda _: next(marks))
    assert [kept.reloader.look(patient=True) for _ in range(4)] == [False, False, True, False]
    monkeypatch.setattr(reloading, "LONGEST", 0.0)  # it has been changing for too long
    monkeypatch.setattr(reloading, "mark_of", lambda _: "c")
    assert kept.reloader.look(patient=True)


def test_a_sync_without_changes_is_none(kept: Kept) -> None:
    sync(kept.library, show_progress=False)
    assert not kept.reloader.look()


def test_a_sync_of_a_store_that_is_elsewhere_is_noticed_by_the_settings(tmp_path: Path) -> None:
    for address, noticed in (("milvus://localhost/pictures", True), ("", False)):
        file = tmp_path / "library.json"
        file.write_text(json.dumps({"address": address}), encoding="utf-8")
        before = mark_of(tmp_path)
        os.utime(file, (1, 1))
        assert (mark_of(tmp_path) != before) is noticed


def test_a_replaced_collection_is_freed_at_once(kept: Kept) -> None:
    name = kept.found()["hits"][0]["id"]
    for path in ("thumbnails", "images"):
        assert kept.client.get(f"/v1/{path}/{name}").status_code == 200
    before = weakref.ref(kept.service.now.collection)
    gc.collect()
    gc.disable()
    try:
        write_picture(kept.pictures / "4.png", 4)
        sync(kept.library, show_progress=False)
        assert kept.reloader.look()
        assert before() is None
    finally:
        gc.enable()


def test_a_folder_without_a_library_is_read_again(tmp_path: Path, model_folder: Path) -> None:
    folder = tmp_path / "pictures"
    write_picture(folder / "0.png", 0)
    seen = mark_of(folder)
    service = Service(open_collection(folder, model_folder, tmp_path / "cache", False))
    reloader = Reloader(service, folder, model_folder, tmp_path / "cache", seen=seen)
    assert not reloader.look()
    write_picture(folder / "1.png", 1)
    assert reloader.look()
    assert len(service.now.collection) == 2
