"""From images to texts: sources of captions, ranks against brute force, the sheet."""

import numpy as np
import pytest
from PIL import Image

from polyglance.data.dataset import CaptionedImage, load_folder, save_folder
from polyglance.errors import PolyglanceError, PolyglanceWarning
from polyglance.gallery import open_captions, search_captions
from polyglance.gallery.captions.hit import CaptionHit, ImageResult
from polyglance.gallery.captions.sheet import WRONG, draw_caption_sheet, row_height
from polyglance.gallery.sheets.sheet import CELL, MARGIN, RIGHT

TEXTS = ["a red dog", "dog", "roter hund", "red a", "hund a"]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "captions.txt"
    path.write_text("\n".join([*TEXTS, "", "dog"]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path, pictures):
    """Three of the pictures as a dataset, with two captions each."""
    root = tmp_path / "dataset"
    root.mkdir()
    (root / "images").symlink_to(pictures[0].parent.parent)
    names = [path.relative_to(tmp_path / "pictures").as_posix() for path in pictures[:3]]
    captions = [("a red dog", "dog"), ("red a", "dog"), ("hund a", "roter hund")]
    entries = [
        CaptionedImage(name, split, {"de" if "hund" in own[0] else "en": {"independent": [*own]}})
        for name, split, own in zip(names, ["train", "test", "test"], captions, strict=True)
    ]
    save_folder(root, entries)
    return root


def test_captions_are_ranked_as_by_brute_force(model, pictures, lines):
    found = search_captions(model, pictures[:4], lines, top=3)
    assert (len(found), found.captions) == (4, 5)
    vectors = np.stack([model.encode_text(text)[0] for text in TEXTS])
    for path, result in zip(pictures[:4], found, strict=True):
        image = search_captions(model, path, lines, top=5)[0]
        assert (result.path, result.hits) == (path, image.hits[:3])
        gallery = search_captions(model, [path], lines).gallery.embeddings
        scores = (gallery @ vectors.T)[0]
        wanted = sorted(range(5), key=lambda i: (-round(float(scores[i]), 6), i))
        assert [hit.text for hit in image.hits] == [TEXTS[i] for i in wanted]
        np.testing.assert_allclose([h.score for h in image.hits], scores[wanted], atol=1e-5)
        assert {hit.correct for hit in image.hits} == {None}


def test_images_stay_in_the_order_they_were_given(model, pictures, lines):
    given = [pictures[5], pictures[1], pictures[5], pictures[3]]
    found = search_captions(model, given, lines, top=1)
    assert [one.path for one in found] == [pictures[5], pictures[1], pictures[3]]
    assert len(search_captions(model, pictures[0].parent.parent, lines)) == 12


def test_a_dataset_decides_which_captions_are_right(model, pictures, folder):
    listed = open_captions(folder, split="test")
    assert listed.texts == ["red a", "dog", "hund a", "roter hund"]
    assert open_captions(folder, "de").texts == ["hund a", "roter hund"]
    second = load_folder(folder).images[1].image
    found = search_captions(model, second, folder, top=4, split="test")[0]
    assert {hit.text: hit.correct for hit in found.hits} == {
        "red a": True,
        "dog": True,
        "hund a": False,
        "roter hund": False,
    }
    # A file that is not the dataset's has no right captions.
    other = search_captions(model, pictures[5], folder, top=4, split="test")[0]
    assert {hit.correct for hit in other.hits} == {None}


def test_a_caption_of_two_images_is_right_for_both(model, folder):
    for name in (entry.image for entry in load_folder(folder).images[:2]):
        hits = search_captions(model, name, folder, top=9)[0].hits
        assert [hit.correct for hit in hits if hit.text == "dog"] == [True]


def test_tables_need_no_column_but_caption(tmp_path, model, pictures):
    table = tmp_path / "texts.csv"
    table.write_text("text,lang\na red dog,en\nroter hund,de\nchien rouge,fr\n")
    with pytest.warns(PolyglanceWarning, match="left out 1 caption in languages"):
        found = search_captions(model, pictures[0], table)
    assert sorted(hit.text for hit in found[0].hits) == ["a red dog", "roter hund"]
    assert open_captions(table, "de").texts == ["roter hund"]
    named = tmp_path / "named.csv"
    inside = pictures[0].relative_to(tmp_path)
    named.write_text(f"path,caption,language\n{inside},dog,en\nother.png,red a,en\n")
    hits = search_captions(model, pictures[0], named)[0].hits
    assert {hit.text: hit.correct for hit in hits} == {"dog": True, "red a": False}


def test_unreadable_files_are_left_out_and_reported(tmp_path, model, pictures):
    path = tmp_path / "captions.txt"
    path.write_text("dog\nxyzzy plugh\n...\n")
    with pytest.warns(PolyglanceWarning, match="left out 2 captions without a word"):
        found = search_captions(model, pictures[0], path)
    assert [hit.text for hit in found[0].hits] == ["dog"]
    path.write_text("xyzzy\n")
    with pytest.raises(PolyglanceError, match="no caption can be read"):
        search_captions(model, pictures[0], path)
    path.write_text("\n")
    with pytest.raises(PolyglanceError, match="has no captions"):
        search_captions(model, pictures[0], path)
    with pytest.raises(PolyglanceError, match=r"missing\.txt: no such file"):
        search_captions(model, pictures[0], tmp_path / "missing.txt")
    path.write_text("dog\n")
    with pytest.raises(PolyglanceError, match=r"missing\.png: no such image"):
        search_captions(model, tmp_path / "missing.png", path)
    with pytest.raises(PolyglanceError, match="`split` test: needs a dataset"):
        open_captions(path, split="test")


def test_the_sheet_marks_right_and_wrong_captions(tmp_path, pictures):
    hits = [CaptionHit("a dog", "en", 0.5, 1, True), CaptionHit("a cat", "en", 0.4, 2, False)]
    sheet = draw_caption_sheet([ImageResult(pictures[0], hits)] * 2)
    assert sheet.height == 2 * MARGIN + 2 * row_height(2)
    rgb = sheet.getcolors(1 << 20)
    colours = {f"#{r:02x}{g:02x}{b:02x}" for _, (r, g, b) in rgb}
    assert {RIGHT, WRONG} <= colours
    left = sheet.crop((MARGIN, MARGIN, MARGIN + CELL, MARGIN + CELL + 28))
    colour = Image.open(pictures[0]).getpixel((0, 0))
    assert colour in {pixel for _, pixel in left.getcolors(1 << 20)}
    unmarked = draw_caption_sheet([ImageResult(pictures[0], [CaptionHit("x", None, 0.1, 1)])])
    found = {f"#{r:02x}{g:02x}{b:02x}" for _, (r, g, b) in unmarked.getcolors(1 << 20)}
    assert not {RIGHT, WRONG} & found
