"""A conversion that is killed leaves the dataset as it was, or as it shall be."""

import os
from pathlib import Path

import pytest

from polyglance.data import CaptionedImage, load_folder
from polyglance.data.convert import Conversion, write_folder
from polyglance.data.convert.write import ImageMode
from polyglance.storage.staging import staged, sweep
from tests.kills import every_kill, killed_at

SIZE = 20_000
NAMES = ["a.jpg", "b.jpg", "c.jpg"]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def conversion(pictures: Path, names: list[str], word: str) -> Conversion:
    pictures.mkdir(exist_ok=True)
    for index, name in enumerate(names):
        if not (pictures / name).exists():
            (pictures / name).write_bytes(bytes([index + 1]) * SIZE)
    entries = [CaptionedImage(n, "train", {"en": {"independent": [word]}}) for n in names]
    return Conversion(entries, {name: pictures / name for name in names})


@pytest.mark.parametrize("mode", ["copy", "link", "symlink"])
def test_killed_at_any_step(tmp_path: Path, mode: ImageMode) -> None:
    out, pictures = tmp_path / "out", tmp_path / "pictures"
    write_folder(out, conversion(pictures, NAMES[:1], "old"), mode)
    (out / "features" / "mine").mkdir(parents=True)
    (out / "features" / "mine" / "meta.json").write_text("{}")
    old = contents(out)
    again = conversion(pictures, NAMES, "new")
    whole = {f"images/{name}": (pictures / name).read_bytes() for name in NAMES}

    def check() -> None:
        found = contents(out)
        assert found == old or load_folder(out).images == again.images
        if found != old:
            assert {name: found[name] for name in whole} == whole

    steps = every_kill(lambda: write_folder(out, again, mode, force=True), check)
    assert steps > 10
    found = contents(out)
    assert found == {**old, **whole, "captions.jsonl.gz": found["captions.jsonl.gz"]}
    assert load_folder(out).images == again.images
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pictures"]


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_killed_during_a_copy(tmp_path: Path, share: float) -> None:
    out, pictures = tmp_path / "out", tmp_path / "pictures"
    write_folder(out, conversion(pictures, NAMES[:1], "old"), "copy")
    old = contents(out)
    again = conversion(pictures, NAMES, "new")
    assert killed_at(
        10**9, lambda: write_folder(out, again, "copy", force=True), round(share * SIZE)
    )
    assert contents(out) == old
    write_folder(out, again, "copy", force=True)
    assert [path.read_bytes() for path in load_folder(out).paths()] == [
        (pictures / name).read_bytes() for name in NAMES
    ]


def test_what_version_0_1_0_left_half_copied_is_copied_again(tmp_path: Path) -> None:
    out, again = tmp_path / "out", conversion(tmp_path / "pictures", NAMES, "new")
    write_folder(out, again, "copy")
    (out / "images" / "a.jpg").write_bytes(bytes([1]) * 100)  # the beginning of the source
    (out / "images" / "b.jpg").write_bytes(b"mine")  # not a piece of it
    write_folder(out, again, "copy", force=True)
    assert (out / "images" / "a.jpg").stat().st_size == SIZE
    assert (out / "images" / "b.jpg").read_bytes() == b"mine"


def test_a_folder_where_nothing_can_take_its_place_is_filled_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, again = tmp_path / "out", conversion(tmp_path / "pictures", NAMES, "new")
    write_folder(out, conversion(tmp_path / "pictures", NAMES[:1], "old"), "copy")
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    assert killed_at(10**9, lambda: write_folder(out, again, "copy", force=True), SIZE // 2)
    assert not (out / "images" / "b.jpg").exists()
    write_folder(out, again, "copy", force=True)
    assert (out / "images" / "b.jpg").stat().st_size == SIZE
    assert [path.name for path in (out / "images").iterdir() if path.name.startswith(".")] == []


def test_leftovers_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def work() -> None:
        with staged(target) as staging:
            (staging / "half").write_text("half")
            os._exit(9)

    assert killed_at(10**9, work)
    assert len(list(tmp_path.iterdir())) == 1
    hidden = tmp_path / ".out.mine_own"  # of the user, though it looks alike
    hidden.mkdir()
    (hidden / "thesis.txt").write_text("dear")
    with staged(target) as living:
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            [hidden.name, living.parent.name]
        )
        sweep(target)
        assert living.exists()
    assert (hidden / "thesis.txt").exists()


def test_a_folder_between_two_renames_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a system cannot exchange folders."""
    monkeypatch.setattr("polyglance.storage.staging._exchange", lambda first, second: False)
    target = tmp_path / "out"
    target.mkdir()
    (target / "old").write_text("old")

    def work() -> None:
        with staged(target) as staging:
            (staging / "new").write_text("new")

    def check() -> None:
        sweep(target)
        assert sorted(contents(target)) in (["old"], ["new"])
        if contents(target) == {"new": b"new"}:
            (target / "new").rename(target / "old")

    assert every_kill(work, check) > 4
