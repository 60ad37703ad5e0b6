"""Captions of datasets among a library's folders, which may come or change later."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from polyglance.library import Caption, Library, SyncReport, sync
from polyglance.library.filters import Filter
from tests.library.fakes import FakeModel, library_of, picture, save

pytest.importorskip("lancedb")


class World:
    """A library of a dataset's folder without captions, whose first image has one of its own."""

    def __init__(self, place: Path) -> None:
        self.folder, self.model = place / "data", FakeModel()
        for number in range(3):
            save(self.folder / "images" / f"{number}.png", number)
        image = picture(5)
        exif = image.getexif()
        exif[0x010E] = "from the camera"
        image.save(self.folder / "images" / "own.jpg", exif=exif)
        save(place / "other" / "6.png", 6)
        self.library = library_of(place / "library", self.folder, place / "other", model=self.model)
        sync(self.library)
        self.model.embedded = 0

    def write(self, **captions: str) -> None:
        """Write the dataset's captions, in German."""
        names = {"own": "own.jpg"}
        lines = [
            {
                "image": names.get(name, f"{name[1:]}.png"),
                "split": "train",
                "captions": {"de": {"independent": [text]}},
            }
            for name, text in captions.items()
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.folder / "captions.jsonl").write_text(text, encoding="utf-8")

    def sync(self, **options: object) -> SyncReport:
        found = sync(self.library, **options)  # type: ignore[arg-type]
        assert self.model.embedded == 0
        return found

    def captions(self) -> dict[str, list[str]]:
        records = self.library.store.records()
        return {Path(one.path).stem: [text for _, text in one.captions] for one in records}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_captions_that_come_later(world: World) -> None:
    camera = {"own": ["from the camera"]}
    nothing = {"0": [], "1": [], "2": [], "6": []}
    assert world.captions() == nothing | camera
    world.write(_0="ein Hund", own="ein Bild")
    report = world.sync()
    assert (report.captioned, report.unchanged, report.files) == (2, 5, 2)
    both = {"own": ["ein Bild", "from the camera"]}
    assert world.captions() == nothing | both | {"0": ["ein Hund"]}
    assert world.library.store.count(Filter(language="de")) == 2
    exact = world.library.store.columns().vectors
    assert world.sync().captioned == 0
    world.write(_0="eine Katze", _1="ein Haus")
    assert world.sync(only=[str(world.folder / "captions.jsonl")]).captioned == 3
    assert world.captions() == nothing | camera | {"0": ["eine Katze"], "1": ["ein Haus"]}
    np.testing.assert_allclose(world.library.store.columns().vectors, exact, atol=1e-6)


def test_captions_are_only_read_when_they_have_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(_0="ein Hund")
    world.sync()
    monkeypatch.setattr("polyglance.library.syncing.captions.load_dataset", None)
    assert world.sync().captioned == 0
    os.remove(world.folder / "captions.jsonl")
    assert world.sync().captioned == 0
    assert world.captions()["0"] == ["ein Hund"]


def test_a_library_from_before_captions_were_updated(world: World) -> None:
    world.write(_0="ein Hund")
    world.sync()
    os.remove(world.library.folder / "captions.json")
    library = Library.open(world.library.folder, world.model)
    record = library.store.records()[0]
    assert record.captions == (Caption("de", "ein Hund"),)
    assert sync(library).captioned == 0


def test_damaged_captions_do_not_stop_a_sync(world: World) -> None:
    (world.folder / "captions.jsonl").write_text("no JSON\n", encoding="utf-8")
    save(world.folder / "images" / "7.png", 7)
    report = sync(world.library)
    assert report.added == 1
    assert [note for note in report.notes if note.startswith("captions are not updated: ")]
    world.model.embedded = 0
    world.write(_7="neu")
    assert world.sync().captioned == 1
    assert world.captions()["7"] == ["neu"]
