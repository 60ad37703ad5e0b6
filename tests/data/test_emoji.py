"""Emoji with their names as a dataset."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.data.emoji import EmojiOptions, write_emoji
from polyglance.data.emoji.dataset import split_of
from polyglance.data.emoji.images import compose
from polyglance.data.emoji.names import read_names
from polyglance.data.emoji.sequences import concept, sequence_of_file
from polyglance.data.merge import merge_datasets
from polyglance.errors import PolyglanceError
from polyglance.evaluation import evaluate

NAMES = {
    "en": {"🍎": "red apple", "🐈": "cat", "🚗": "automobile", "☂": "umbrella", "🏽": "medium"},
    "de": {"🍎": "roter Apfel", "🐈": "Katze", "🚗": "Auto", "☂️": "Regenschirm", "↔": "↔"},
    "de-CH": {"🐈": "Büsi"},
    "ff": {},
}
FILES = ("1f34e", "1f408", "1f697", "2602-fe0f", "1f44d-1f3fd", "sheet", "1f9ff")


@pytest.fixture
def cldr(tmp_path: Path) -> Path:
    for language, names in NAMES.items():
        folder = tmp_path / "cldr" / "annotations" / language
        folder.mkdir(parents=True)
        entries = {key: {"default": ["x"], "tts": [name]} for key, name in names.items()}
        text = json.dumps({"annotations": {"identity": {}, "annotations": entries}})
        (folder / "annotations.json").write_text(text, "utf-8")
    return tmp_path / "cldr"


@pytest.fixture
def sets(tmp_path: Path) -> dict[str, Path]:
    """Noto as PNGs and Fluent as WebPs, each with a transparent border."""
    found = {}
    for style, suffix in (("noto", "png"), ("fluent", "webp")):
        found[style] = tmp_path / style / "img"
        found[style].mkdir(parents=True)
        for number, name in enumerate(FILES):
            image = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
            image.paste((10 * number, 0, 200, 255), (5, 5, 15, 15))
            image.save(found[style] / f"{name}.{suffix}", lossless=True)
    return found


def test_files_are_called_by_code_points_in_several_ways() -> None:
    plain = ("1f34e.png", "emoji_u1f34e.png", "U+1F34E.webp", "2602-fe0f.png")
    names = (*plain, "emoji_u1f9d1_200d_1f692.png")
    assert [sequence_of_file(Path(n)) for n in names] == ["🍎", "🍎", "🍎", "☂", "🧑‍🚒"]
    assert sequence_of_file(Path("sheet.png")) is None
    assert sequence_of_file(Path("ffffff.png")) is None


def test_a_concept_is_what_remains_without_persons_genders_and_tones() -> None:
    assert len({concept(text) for text in ("👩‍🚒", "👨🏽‍🚒", "🧑‍🚒", "🚒")}) == 1
    assert len({concept(text) for text in ("🏃", "🏃‍♀️", "🏃🏿‍♂️")}) == 1
    assert len({concept(text) for text in ("👨", "👩", "🧑", "🍎")}) == 4


def test_names_of_cldr_without_regions_tones_and_bare_signs(cldr: Path) -> None:
    found = read_names(cldr)
    assert list(found) == ["de", "en"]
    assert found["de"] == {"🍎": "roter Apfel", "🐈": "Katze", "🚗": "Auto", "☂": "Regenschirm"}
    assert "🏽" not in found["en"]
    assert read_names(cldr, ["de-CH"]) == {"de-CH": {"🐈": "Büsi"}}
    with pytest.raises(PolyglanceError, match="no names in language 'fr'"):
        read_names(cldr, ["fr"])


def test_names_of_the_package_emoji(tmp_path: Path) -> None:
    (tmp_path / "emoji.json").write_text(json.dumps({"🍎": {"en": ":red_apple:", "E": 0.6}}))
    (tmp_path / "emoji_de.json").write_text(json.dumps({"🍎": ":roter_apfel:"}))
    assert read_names(tmp_path) == {"de": {"🍎": "roter apfel"}, "en": {"🍎": "red apple"}}


@pytest.mark.parametrize("text", ["[]", "{}", '{"annotations": {"annotations": []}}', "{"])
def test_a_file_that_has_no_names_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "annotations.json").write_text(text)
    with pytest.raises(PolyglanceError, match=r"de/annotations\.json"):
        read_names(tmp_path)


def test_a_listing_that_is_none_is_named(cldr: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    listing = tmp_path / "emoji.json"
    for text in ("{}", "[1]", '[{"unified": "x", "category": "Objects"}]'):
        listing.write_text(text)
        with pytest.raises(PolyglanceError, match=r"emoji\.json: not the list"):
            write_emoji(tmp_path / "out", cldr, sets, EmojiOptions(listing=listing))
    assert not (tmp_path / "out").exists()


def test_an_unreadable_picture_is_named_and_nothing_is_written(
    cldr: Path, sets: dict[str, Path], tmp_path: Path
) -> None:
    (sets["noto"] / "1f408.png").write_bytes(b"no picture")
    with pytest.raises(PolyglanceError, match=r"1f408\.png"):
        write_emoji(tmp_path / "out", cldr, sets)
    assert not (tmp_path / "out").exists()


def test_a_folder_without_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match="contains no names of emoji"):
        read_names(tmp_path)


def test_emoji_stand_in_the_middle_of_the_background(sets: dict[str, Path]) -> None:
    image = compose(sets["noto"] / "1f408.png", "#00ff00")
    assert (image.size, image.mode) == ((26, 26), "RGB")
    assert image.getpixel((0, 0)) == image.getpixel((7, 13)) == (0, 255, 0)
    assert image.getpixel((8, 8)) == image.getpixel((17, 17)) == (10, 0, 200)
    with pytest.raises(PolyglanceError, match="is not a colour"):
        compose(sets["noto"] / "1f408.png", "whitish")


def test_the_command_writes_a_dataset(cldr: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    given = [f"--pictures={style}={folder}" for style, folder in sets.items()]
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["data", "emoji", str(out), f"--names={cldr}", *given])
    assert done.exit_code == 0, done.output
    dataset = load_dataset(out)
    assert sorted(entry.image for entry in dataset.images) == sorted(
        f"{style}/u{name}.png"
        for style in sets
        for name in ("1f34e", "1f408", "1f697", "2602")  # no tone, no name: left out
    )
    cat = next(entry for entry in dataset.images if entry.image == "fluent/u1f408.png")
    assert cat.captions == {"de": {"name": ["Katze"]}, "en": {"name": ["cat"]}}
    assert all(Image.open(path).size == (26, 26) for path in dataset.paths())
    assert "8 images" in done.output
    assert "16 names, 2 languages" in done.output


def test_a_concept_is_in_one_split_and_its_names_not_in_train(
    cldr: Path, sets: dict[str, Path], tmp_path: Path
) -> None:
    path = cldr / "annotations" / "en" / "annotations.json"
    value = json.loads(path.read_text("utf-8"))
    splits = {key: split_of(concept(key), 0.6) for key in ("🍎", "🐈", "🚗", "☂")}
    assert set(splits.values()) == {"train", "test"}  # what the hash gives
    trained = next(key for key, split in splits.items() if split == "train")
    held = next(key for key, split in splits.items() if split == "test")
    entries = value["annotations"]["annotations"]
    entries[trained]["tts"] = [entries[held]["tts"][0].upper()]
    path.write_text(json.dumps(value), "utf-8")
    written = write_emoji(tmp_path / "out", cldr, sets, EmojiOptions(held_out=0.6))
    assert written.dropped == 1
    texts: dict[str, set[str]] = {"train": set(), "val": set(), "test": set()}
    for entry in written.images:
        texts[entry.split] |= {k["name"][0].casefold() for k in entry.captions.values()}
        sequence = sequence_of_file(Path(entry.image))
        assert entry.split == splits[sequence or ""]
    assert not texts["train"] & (texts["val"] | texts["test"])


def test_emoji_are_no_images_of_coco_in_a_merge(
    cldr: Path, sets: dict[str, Path], tmp_path: Path
) -> None:
    write_emoji(tmp_path / "emoji", cldr, sets)
    (tmp_path / "coco").mkdir()
    captions = {"en": {"independent": ["a man"]}}
    save_folder(tmp_path / "coco", [CaptionedImage("000000002602.jpg", "train", captions)])
    merged = merge_datasets([load_dataset(tmp_path / "coco"), load_dataset(tmp_path / "emoji")])
    assert len(merged.images) == 9
    assert merged.images[0].captions == captions


def test_about_the_share_that_is_held_out() -> None:
    found = [split_of(f"{point:x}", 0.25) for point in range(0x1F300, 0x1F700)]
    assert 0.10 < found.count("val") / len(found) < 0.15
    assert 0.10 < found.count("test") / len(found) < 0.15


def test_categories_of_a_listing(cldr: Path, sets: dict[str, Path], tmp_path: Path) -> None:
    listing = tmp_path / "emoji.json"
    rows = [("1F34E", "Food & Drink"), ("1F408", "Animals"), ("2602-FE0F", "Symbols")]
    listing.write_text(json.dumps([{"unified": u, "category": c} for u, c in rows]))
    every = write_emoji(tmp_path / "a", cldr, sets, EmojiOptions(listing=listing))
    assert {entry.image[-9:] for entry in every.images} == {"1f34e.png", "1f408.png"}
    chosen = EmojiOptions(listing=listing, categories=["Symbols"])
    assert {e.image[-8:] for e in write_emoji(tmp_path / "b", cldr, sets, chosen).images} == {
        "2602.png"
    }
    wrong = EmojiOptions(listing=listing, categories=["Animal"])
    with pytest.raises(PolyglanceError, match="no category 'Animal'"):
        write_emoji(tmp_path / "c", cldr, sets, wrong)
    assert not (tmp_path / "c").exists()


class ByColour:
    """Texts and images as unit vectors: the second set's pictures come first for every name."""

    languages = ("de", "en")
    axes = {"red apple": 0, "roter Apfel": 0, "cat": 1, "Katze": 2}  # noqa: RUF012

    def encode_dataset(self, dataset, cache=None, show_progress=None):
        found = np.zeros((len(dataset), 3), np.float32)
        for row, entry in enumerate(dataset.images):
            found[row, 0 if "1f34e" in entry.image else 1] = 1.0 + ("fluent" in entry.image)
        return found

    def encode_text(self, texts, language=None, show_progress=None):
        return np.eye(3, dtype=np.float32)[[self.axes[text] for text in texts]]

    similarity_name = "dot"


def test_every_picture_of_a_concept_is_right_for_its_name(
    cldr: Path, sets: dict[str, Path], tmp_path: Path
) -> None:
    listing = tmp_path / "emoji.json"
    listing.write_text(
        json.dumps([{"unified": u, "category": "Objects"} for u in ("1F34E", "1F408")])
    )
    options = EmojiOptions(listing=listing, held_out=0.0)
    write_emoji(tmp_path / "out", cldr, sets, options)
    dataset = load_dataset(tmp_path / "out")
    found = {
        same: {
            result.language: result.metrics.text_to_image
            for result in evaluate(
                ByColour(), dataset, "train", same_text=same, bootstrap=0
            ).results
        }
        for same in (False, True)
    }
    # Each of the two pictures of an apple is asked for: the other set's is always first for one.
    assert found[False]["en"].r1 == 50.0
    assert found[True]["en"].r1 == 100.0
    assert found[True]["de"].r1 == 50.0  # "Katze" is on no picture
