"""One way to name data: what names nothing, and where what is made is put."""

from pathlib import Path

import pytest

from polyglance.data import load_dataset
from polyglance.errors import PolyglanceError


@pytest.mark.parametrize("nothing", ["", "  "])
def test_an_empty_name_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "captions.jsonl").write_text('{"image": "a.jpg", "split": "train"}\n')
    with pytest.raises(PolyglanceError, match="is not a folder"):
        load_dataset(nothing)


def test_a_generated_world_is_put_into_the_cache_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGLANCE_CACHE", str(tmp_path / "usual"))
    dataset = load_dataset("generated:photos=3", tmp_path / "named")
    assert (tmp_path / "named" / "generated").is_dir()
    assert all(path.is_relative_to(tmp_path / "named") for path in dataset.paths())
    assert not (tmp_path / "usual").exists()
