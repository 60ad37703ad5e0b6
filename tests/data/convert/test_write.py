import os
from pathlib import Path

import numpy as np
import pytest

from polyglance.data import CaptionedImage, load_folder
from polyglance.data.convert import (
    CONVERTERS,
    Conversion,
    ImportedFeatures,
    drop_missing,
    parse_options,
    write_folder,
)
from polyglance.data.convert.common import find_images
from polyglance.data.convert.table import convert_table
from polyglance.data.convert.write import ImageMode
from polyglance.errors import PolyglanceError


@pytest.fixture
def conversion(tmp_path: Path) -> Conversion:
    pictures = tmp_path / "pictures"
    (pictures / "deep").mkdir(parents=True)
    (pictures / "a.jpg").write_bytes(b"a")
    (pictures / "deep" / "b.jpg").write_bytes(b"b")
    photos = [CaptionedImage(f"{x}.jpg", "train", {"en": {"independent": [x]}}) for x in "abc"]
    sources, notes = find_images([photo.image for photo in photos], pictures)
    return Conversion(photos, sources, [], notes)


@pytest.mark.parametrize("mode", ["symlink", "link", "copy"])
def test_pictures_arrive(tmp_path: Path, conversion: Conversion, mode: ImageMode) -> None:
    out = tmp_path / "out"
    write_folder(out, conversion, mode)
    dataset = load_folder(out)
    assert dataset.images == conversion.images
    assert [path.is_file() for path in dataset.paths()] == [True, True, False]
    file = out / "images" / "b.jpg"
    source = tmp_path / "pictures" / "deep" / "b.jpg"
    assert file.read_bytes() == b"b"
    assert file.is_symlink() == (mode == "symlink")
    assert os.path.samefile(file, source) == (mode != "copy")
    assert conversion.notes == [
        f"1 images are not in {tmp_path / 'pictures'} (the first is 'c.jpg')"
    ]


def test_dataset_without_pictures_has_no_images_folder(tmp_path: Path) -> None:
    photos = [CaptionedImage("a", "train", {"en": {"independent": ["x"]}})]
    write_folder(tmp_path / "out", Conversion(photos))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["captions.jsonl.gz"]


def test_only_empty_targets_unless_forced(tmp_path: Path, conversion: Conversion) -> None:
    out = tmp_path / "out"
    out.mkdir()
    write_folder(out, conversion)
    with pytest.raises(PolyglanceError, match=r"exists and is not empty.*--force"):
        write_folder(out, conversion)
    (out / "images" / "a.jpg").unlink()
    (out / "images" / "a.jpg").write_bytes(b"mine")
    write_folder(out, Conversion(conversion.images[:2], conversion.sources), force=True)
    assert len(load_folder(out)) == 2
    assert (out / "images" / "a.jpg").read_bytes() == b"mine"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("dear")
    with pytest.raises(PolyglanceError, match="choose another folder"):
        write_folder(tmp_path / "other", conversion, force=True)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


def test_nothing_half_written(tmp_path: Path, conversion: Conversion) -> None:
    def fail(folder: Path, features: ImportedFeatures) -> None:
        (folder / "vectors.f16").write_bytes(b"half")
        raise PolyglanceError("broken")

    conversion.features.append(
        ImportedFeatures("f", 2, "global", 1, lambda: iter([("a", np.ones((1, 2)))]))
    )
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(PolyglanceError, match="broken"):
        write_folder(tmp_path / "out", conversion, write_store=fail)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    bad = Conversion([CaptionedImage("../a.jpg", "train", {})])
    with pytest.raises(PolyglanceError, match="not a name below images/"):
        write_folder(tmp_path / "out", bad)
    assert not (tmp_path / "out").exists()


def test_skip_missing(conversion: Conversion) -> None:
    kept = drop_missing(conversion)
    assert [photo.image for photo in kept.images] == ["a.jpg", "b.jpg"]
    assert kept.notes[-1] == "1 images without a file were left out"


def test_flickr_numbers_find_flickr8k_names(tmp_path: Path) -> None:
    (tmp_path / "1000268201_693b08cb0e.jpg").write_bytes(b"x")
    found, notes = find_images(["1000268201.jpg"], tmp_path)
    assert found == {"1000268201.jpg": tmp_path / "1000268201_693b08cb0e.jpg"}
    assert notes == []
    with pytest.raises(PolyglanceError, match=r"contains none of the 1 images .*'z\.jpg'"):
        find_images(["z.jpg"], tmp_path)
    with pytest.raises(PolyglanceError, match="no such folder of images"):
        find_images(["z.jpg"], tmp_path / "none")


def test_table_to_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "far.jpg").write_bytes(b"far")
    (tmp_path / "in" / "near.jpg").write_bytes(b"near")
    (tmp_path / "in" / "t.csv").write_text(
        "path,caption,split\nnear.jpg,Hund,train\n../far.jpg,Katze,test\ngone.jpg,Maus,val\n"
    )
    result = convert_table(tmp_path / "in" / "t.csv", language="de")
    names = [photo.image for photo in result.images]
    assert names[0] == "near.jpg"
    assert names[1].endswith("_far.jpg")
    assert "/" not in names[1]
    assert "1 image files of the table do not exist" in result.notes[0]
    write_folder(tmp_path / "out", result)
    dataset = load_folder(tmp_path / "out")
    assert [p.read_bytes() for p in dataset.paths()[:2]] == [b"near", b"far"]
    assert dataset.images[1].captions == {"de": {"independent": ["Katze"]}}


def test_options() -> None:
    multi30k, precomp = CONVERTERS.get("multi30k"), CONVERTERS.get("precomp")
    assert parse_options(multi30k, "multi30k", ["text=tok"]) == {"text": "tok"}
    assert parse_options(precomp, "precomp", ["captions-per-image=5"]) == {"captions_per_image": 5}
    with pytest.raises(PolyglanceError, match=r"no option 'txt' \(did you mean 'text'\?\)"):
        parse_options(multi30k, "multi30k", ["txt=tok"])
    with pytest.raises(PolyglanceError, match="must have the form name=value"):
        parse_options(multi30k, "multi30k", ["tok"])
    with pytest.raises(PolyglanceError, match="captions_per_image must be a number, not 'five'"):
        parse_options(precomp, "precomp", ["captions_per_image=five"])
