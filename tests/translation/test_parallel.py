"""Translations that are there: files of parallel texts, a dataset's own captions."""

import gzip
import json

import pytest

from polyglance.data import CaptionedImage, save_folder
from polyglance.errors import PolyglanceError
from polyglance.translation import make_translator, translate


def test_json_lines_are_found_in_both_directions(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"en": "A dog.", "de": "Ein Hund."}\n{"en": "A cat.", "fr": "Un chat."}\n')
    translator = make_translator(f"file:{path}")
    assert translate(translator, ["A cat.", "A  dog. "], "en", "de") == [None, "Ein Hund."]
    assert translate(translator, ["Un chat."], "fr", "en") == ["A cat."]
    assert translate(translator, ["A bird."], "en", "en") == ["A bird."]


def test_a_table_has_a_language_a_column(tmp_path):
    path = tmp_path / "texts.tsv.gz"
    path.write_bytes(gzip.compress(b"en\tde\nA dog\tEin Hund\nA cat\t\n"))
    translator = make_translator(f"file:{path}")
    assert translate(translator, ["A dog", "A cat"], "en", "de") == ["Ein Hund", None]


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("a.jsonl", '{"en": 3}\n', "line 1: expected an object of texts"),
        ("a.tsv", "en\nA dog\n", "line 1: must name the language"),
        ("a.tsv", "en\tde\na\tb\tc\n", "line 2: 3 cells for 2 languages"),
        ("a.txt", "x", ".tsv or .jsonl"),
        ("a.jsonl", "", "contains no translations"),
    ],
)
def test_invalid_files_are_refused(tmp_path, name, text, part):
    (tmp_path / name).write_text(text)
    with pytest.raises(PolyglanceError, match=part.replace(".", r"\.")):
        make_translator(f"file:{tmp_path / name}")


def test_only_translations_among_captions_are_translations(tmp_path):
    captions = {
        "en": {"translation": ["A dog."], "independent": ["Fur."]},
        "de": {"translation": ["Ein Hund."], "independent": ["Fell."]},
    }
    save_folder(tmp_path, [CaptionedImage("a.jpg", "train", captions)])
    translator = make_translator(f"captions:{tmp_path}")
    assert translate(translator, ["A dog.", "Fur."], "en", "de") == ["Ein Hund.", None]
    assert translate(translator, ["Ein Hund."], "de", "en") == ["A dog."]


def test_captions_without_translations_are_refused(tmp_path):
    save_folder(tmp_path, [CaptionedImage("a.jpg", "train", {"en": {"independent": ["A dog."]}})])
    with pytest.raises(PolyglanceError, match="no image has captions of kind 'translation'"):
        make_translator(f"captions:{tmp_path}")


def test_the_error_for_an_unknown_translator_names_the_nearest():
    with pytest.raises(PolyglanceError, match="did you mean 'lexicon'"):
        make_translator("lexikon:x")
    with pytest.raises(PolyglanceError, match="write file:PATH"):
        make_translator("file")


def test_identity_follows_the_content(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps({"en": "a b", "de": "c d"}))
    before = make_translator(f"file:{path}").identity
    path.write_text(json.dumps({"en": "a b", "de": "c e"}))
    assert make_translator(f"file:{path}").identity != before


def test_machine_captions_are_used_if_requested(tmp_path):
    captions = {
        "en": {"translation": ["A dog."], "independent": ["Fur."]},
        "es": {"machine": ["Un perro."]},
        "hi": {"machine": ["Of another caption."]},
    }
    save_folder(tmp_path, [CaptionedImage("a.jpg", "train", captions)])
    with pytest.raises(PolyglanceError, match="no image has captions of kind 'translation'"):
        make_translator(f"captions:{tmp_path}")
    translator = make_translator(f"captions:{tmp_path},machine=es")
    assert translate(translator, ["A dog.", "Fur."], "en", "es") == ["Un perro.", None]
    assert translate(translator, ["A dog."], "en", "hi") == [None]
    with pytest.raises(PolyglanceError, match="no image has captions of kind 'translation'"):
        make_translator(f"captions:{tmp_path},machine=xx")


def test_captions_of_data_translate_are_translations_of_their_originals(tmp_path):
    captions = {"en": {"independent": ["A dog.", "Fur."]}, "fr": {"machine": ["Un chien."]}}
    origins = {"fr": {"machine": [{"translator": "t", "from": "en", "of": "A dog."}]}}
    entry = CaptionedImage("a.jpg", "train", captions, origins=origins)
    save_folder(tmp_path, [entry])
    translator = make_translator(f"captions:{tmp_path}")
    assert translate(translator, ["A dog.", "Fur."], "en", "fr") == ["Un chien.", None]
    assert translate(translator, ["Un chien."], "fr", "en") == ["A dog."]
