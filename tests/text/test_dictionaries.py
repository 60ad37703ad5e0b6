"""MUSE's dictionaries in place of a lexicon: pairs, identity, and who reads them."""

import gzip

import pytest

from polyglance.errors import PolyglanceError
from polyglance.text.dictionaries import dictionary_languages
from polyglance.text.lexicon import Lexicon, lexicon_digest, lexicon_path
from polyglance.translation import make_translator


@pytest.fixture
def folder(tmp_path):
    """As MUSE's folder of dictionaries: whole ones, parts of them, and other files."""
    found = tmp_path / "dictionaries"
    found.mkdir()
    (found / "de-en.txt").write_text("hund dog\nhund hound\nköter dog\nrot red\n")
    (found / "de-en.0-5000.txt").write_text("hund dog\n")
    (found / "en-de.5000-6500.txt.gz").write_bytes(gzip.compress(b"dog\thund\ncat katze\n"))
    (found / "fr-en.txt").write_text("chien dog\n")
    (found / "README.md").write_text("not a dictionary")
    return found


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("fr-de.0-5000.txt", ("fr", "de")),
        ("en-zh.txt", ("en", "zh")),
        ("fr-de.5000-6500.txt.gz", ("fr", "de")),
        ("lexicon.tsv.gz", None),
        ("my-notes.txt", None),
        ("fr-de.vec", None),
    ],
)
def test_a_dictionary_is_called_by_its_languages(tmp_path, name, languages):
    assert dictionary_languages(tmp_path / name) == languages


def test_a_folder_of_dictionaries_is_a_lexicon_of_their_pairs(folder):
    lexicon = Lexicon.open(lexicon_path(folder, "x"))
    assert lexicon.languages == ["de", "en", "fr"]
    # "hound" is only said of "hund", so it is the closer one.
    assert lexicon.pairs("de", "en") == [
        ("hund", "hound"),
        ("hund", "dog"),
        ("köter", "dog"),
        ("rot", "red"),
        ("katze", "cat"),
    ]
    assert lexicon.pairs("fr", "en") == [("chien", "dog")]
    assert set(lexicon.pairs("en", "de")) == {(b, a) for a, b in lexicon.pairs("de", "en")}
    assert lexicon.pairs("fr", "de") == []  # nothing is translated by way of English


def test_one_file_is_a_lexicon_of_two_languages(folder):
    lexicon = Lexicon.open(folder / "fr-en.txt")
    assert lexicon.languages == ["en", "fr"]
    with pytest.raises(PolyglanceError, match="has no language 'de'"):
        lexicon.pairs("de", "en")


def test_the_content_is_its_identity(folder):
    first, opened = lexicon_digest(folder), Lexicon.open(folder)
    (folder / "README.md").write_text("another text")
    assert lexicon_digest(folder) == first
    assert Lexicon.open(folder) is opened
    (folder / "fr-en.txt").write_text("chien hound\n")
    assert lexicon_digest(folder) != first
    assert Lexicon.open(folder).pairs("fr", "en") == [("chien", "hound")]


def test_it_translates_word_by_word(folder):
    translator = make_translator(f"lexicon:{folder}")
    assert translator.translate(["Katze rot"], "de", "en") == ["cat red"]
    assert translator.identity != make_translator(f"lexicon:{folder / 'de-en.txt'}").identity


def test_invalid_input_is_refused(tmp_path, folder):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(PolyglanceError, match=r"contains no dictionaries; name them by"):
        lexicon_path(empty, "x")
    (folder / "de-en.txt").write_text("hund a dog\n")
    with pytest.raises(PolyglanceError, match=r"de-en\.txt, line 1: expected a source and a"):
        Lexicon.open(folder)
    (tmp_path / "pairs.txt").write_text("hund dog\n")
    with pytest.raises(
        PolyglanceError, match=r"of word pairs by its languages, such as fr-de\.txt"
    ):
        Lexicon.open(tmp_path / "pairs.txt")
