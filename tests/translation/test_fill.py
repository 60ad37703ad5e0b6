"""Datasets filled to more languages, by function and by command."""

import json
from dataclasses import replace
from shutil import copyfile

import pytest
from PIL import Image
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.data.dataset import dataset_fingerprint
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.translation import Translator
from polyglance.translation.dataset import translate_dataset
from polyglance.translation.fill import fill_languages


class Upper(Translator):
    name, keeps = "upper", False

    def translate(self, texts, source, target):
        return [None if text == "Odd." else f"{target} {text.upper()}" for text in texts]


PHOTOS = [
    CaptionedImage(
        "a.jpg", "train", {"en": {"independent": ["A.", "B.", "A."], "machine": ["M."]}}
    ),
    CaptionedImage(
        "b.jpg", "val", {"en": {"translation": ["C."]}, "fr": {"translation": ["Un C."]}}
    ),
    CaptionedImage("c.jpg", "val", {"en": {"independent": ["Odd."]}, "fr": {"machine": []}}),
    CaptionedImage("d.jpg", "test", {"de": {"independent": ["D."]}}),
]


@pytest.fixture
def folder(tmp_path):
    save_folder(tmp_path / "data", PHOTOS)
    (tmp_path / "data" / "images").mkdir()
    for name in "abc":
        Image.new("RGB", (4, 4)).save(tmp_path / "data" / "images" / f"{name}.jpg")
    (tmp_path / "data" / "text-only.jsonl.gz").write_bytes(b"x")
    return tmp_path / "data"


def test_only_missing_translations_are_added_with_their_origin(folder):
    photos, filled = fill_languages(load_dataset(folder), Upper(), ["fr", "pt"])
    assert photos[0].captions["fr"] == {"machine": ["fr A.", "fr B."]}
    origin = {"translator": "upper", "from": "en"}
    wanted = [{**origin, "of": "A."}, {**origin, "of": "B."}]
    assert photos[0].origins["fr"] == {"machine": wanted}
    assert photos[1].captions["fr"] == {"translation": ["Un C."]}
    assert "fr" not in photos[1].origins
    assert photos[2].captions["fr"] == {"machine": []}
    assert photos[3] == PHOTOS[3]
    made = [(one.language, one.captions, one.images, one.kept, one.lacking) for one in filled]
    assert made == [("fr", 2, 1, 1, 1), ("pt", 3, 2, 0, 1)]


def test_how_many_and_of_which_kinds(folder):
    dataset = load_dataset(folder)
    photos, _ = fill_languages(dataset, Upper(), ["pt"], most=1)
    assert photos[0].captions["pt"] == {"machine": ["pt A."]}
    photos, _ = fill_languages(dataset, Upper(), ["pt"], kinds=["machine"])
    assert photos[0].captions["pt"] == {"machine": ["pt M."]}
    assert "pt" not in photos[1].captions
    with pytest.raises(PolyglanceError, match="no captions in language 'xx'"):
        fill_languages(dataset, Upper(), ["pt"], source="xx")
    with pytest.raises(PolyglanceError, match="cannot be translated to itself"):
        fill_languages(dataset, Upper(), ["en"])


def test_machines_may_speak_beside_people(folder):
    photos, filled = fill_languages(load_dataset(folder), Upper(), ["fr"], beside=True)
    assert photos[1].captions["fr"] == {"translation": ["Un C."], "machine": ["fr C."]}
    assert photos[1].origins["fr"]["machine"][0]["of"] == "C."
    assert (filled[0].captions, filled[0].kept) == (3, 0)
    again, filled = fill_languages(
        replace(load_dataset(folder), images=photos), Upper(), ["fr"], beside=True
    )
    assert (again, filled[0].captions) == (photos, 0)


def test_translations_from_several_languages_stand_beside_each_other(folder):
    """As SMALR's Table 4: translations to English from each of the other languages."""
    dataset = load_dataset(folder)
    both = {"de": {"independent": ["D."]}, "fr": {"translation": ["F."]}}
    dataset = replace(dataset, images=[CaptionedImage("x.jpg", "train", both)])
    for source in ("de", "fr", "fr"):
        images, _ = fill_languages(dataset, Upper(), ["en"], source, beside=True)
        dataset = replace(dataset, images=images)
    assert dataset.images[0].captions["en"] == {"machine": ["en D.", "en F."]}
    origins = dataset.images[0].origins["en"]["machine"]
    assert [(one["from"], one["of"]) for one in origins] == [("de", "D."), ("fr", "F.")]


def test_origins_are_read_again_and_are_no_part_of_the_content(folder, tmp_path):
    photos, _ = fill_languages(load_dataset(folder), Upper(), ["fr"])
    save_folder(tmp_path / "new", photos)
    again = load_dataset(tmp_path / "new")
    assert [photo.origins for photo in again.images] == [photo.origins for photo in photos]
    save_folder(tmp_path / "bare", [CaptionedImage(p.image, p.split, p.captions) for p in photos])
    assert dataset_fingerprint(again) == dataset_fingerprint(load_dataset(tmp_path / "bare"))


@pytest.mark.parametrize(
    ("origins", "message"),
    [
        ({"en": {"independent": [{"translator": "x"}, {}]}}, "has 2 entries for 1 captions"),
        ({"en": {"independent": ["x"]}}, "field 'origins' must be"),
        ([], "field 'origins' must be"),
    ],
)
def test_origins_that_do_not_fit_are_refused(tmp_path, origins, message):
    line = {"image": "a", "split": "s", "captions": {"en": {"independent": ["A."]}}}
    (tmp_path / "captions.jsonl").write_text(json.dumps({**line, "origins": origins}))
    with pytest.raises(PolyglanceError, match=f"line 1: .*{message}"):
        load_dataset(tmp_path)


def run(*arguments):
    result = CliRunner().invoke(app, ["data", "translate", *map(str, arguments)])
    if isinstance(result.exception, PolyglanceError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def options(tmp_path):
    rows = [{"en": "A.", "fr": "Un A."}, {"en": "B.", "fr": "Un B."}]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "--to", "fr", "--translator", f"file:{path}"


def test_the_command_writes_a_folder_with_links(folder, tmp_path, options):
    out = tmp_path / "out"
    text = run(folder, *options, "--out", out)
    assert (
        "en → fr: 2 captions translated for 1 images, 1 had captions, 1 without a translation"
        in text
    )
    filled = load_dataset(out)
    assert filled.images[0].captions["fr"] == {"machine": ["Un A.", "Un B."]}
    assert filled.images[0].origins["fr"]["machine"][1]["translator"] == "file:t.jsonl"
    assert (out / "images" / "a.jpg").is_symlink()
    assert (out / "text-only.jsonl.gz").read_bytes() == b"x"
    with pytest.raises(PolyglanceError, match="exists and is not empty"):
        run(folder, *options, "--out", out)
    run(folder, *options, "--out", out, "--force")


def test_the_command_translates_from_several_languages(tmp_path):
    captions = {"de": {"independent": ["D."]}, "fr": {"translation": ["F."]}}
    save_folder(tmp_path / "data", [CaptionedImage("a.jpg", "train", captions)])
    (tmp_path / "t.jsonl").write_text('{"de": "D.", "en": "A."}\n{"fr": "F.", "en": "B."}\n')
    options = ["--translator", f"file:{tmp_path / 't.jsonl'}", "--out", tmp_path / "out"]
    text = run(tmp_path / "data", "--from", "de,fr", "--to", "en", "--beside", *options)
    assert "fr → en: 1 captions translated for 1 images" in text
    found = load_dataset(tmp_path / "out").images[0]
    assert found.captions["en"] == {"machine": ["A.", "B."]}


def test_the_command_never_writes_into_its_source(folder, options):
    before = (folder / "captions.jsonl.gz").read_bytes()
    with pytest.raises(PolyglanceError, match="is the dataset itself"):
        run(folder, *options, "--out", folder, "--force")
    assert (folder / "captions.jsonl.gz").read_bytes() == before


def test_a_table_becomes_a_folder(tmp_path, options):
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "pictures" / "a.png")
    (tmp_path / "t.csv").write_text("path,caption,language\npictures/a.png,A.,en\n")
    run(tmp_path / "t.csv", *options, "--out", tmp_path / "out")
    photo = load_dataset(tmp_path / "out").images[0]
    assert photo.captions["fr"] == {"machine": ["Un A."]}
    assert (tmp_path / "out" / "images" / photo.image).is_file()


def test_nothing_to_translate_is_an_error(folder, tmp_path, options):
    with pytest.raises(PolyglanceError, match="no translation of any caption"):
        run(folder, *options, "--out", tmp_path / "out", "--kinds", "machine")
    assert not (tmp_path / "out").exists()


def test_a_folder_is_written_completely_or_not_at_all(folder, tmp_path, options, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("polyglance.data.convert.write.shutil.copyfile", full)
        with pytest.raises(OSError, match="disk full"):
            translate_dataset(folder, out, options[3], ["fr"], images="copy")
    assert not out.exists()
    made = translate_dataset(folder, out, options[3], ["fr"], images="copy")
    assert (made.images, made.filled[0].captions) == (len(load_dataset(folder).images), 2)
    assert not (out / "text-only.jsonl.gz").is_symlink()
    assert (out / "text-only.jsonl.gz").read_bytes() == b"x"
    with pytest.raises(ArgumentError, match="choose another folder, or `force`"):
        translate_dataset(folder, out, options[3], ["fr"])


def full(source, target):
    if source.name == "text-only.jsonl.gz":
        raise OSError("disk full")
    return copyfile(source, target)
