"""Words of a lexicon as text-only tuples."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.data.text_only import read_tuples
from polyglance.errors import PolyglanceError
from polyglance.text.lexicon import Lexicon
from polyglance.text.word_tuples import visible_nouns, word_tuples

WORDNET = """\
  1 This software and database is being provided to you
00000001 03 n 01 thing 0 000 | all there is
00000010 05 n 02 dog 0 domestic_dog 0 000 | a canid
00000011 06 n 01 car 0 000 | wheels
00000012 09 n 01 idea 0 000 | thought
00000013 05 n 01 aardwolf 0 000 | a rare animal
"""
LEXICON = """\
00000001-n\ten\tthing
00000001-n\tfi\tasia
00000001-n\tel\tπράγμα
00000010-n\tde\tHund
00000010-n\tel\tσκύλος|σκυλί|κύων
00000010-n\ten\tdog|domestic_dog|hound
00000011-n\tde\tAuto
00000011-n\tel\tαυτοκίνητο
00000011-n\tfi\tauto
00000012-n\tde\tIdee
00000012-n\ten\tidea
00000012-n\tfi\tidea
00000013-n\ten\taardwolf
00000013-n\tfi\tmaasusi
00000020-v\tde\tlaufen
00000020-v\ten\trun|4
00000020-v\tfi\tjuosta
00000021-r\tde\tgern
00000021-r\ten\tgladly
00000021-r\tfi\tmielellään
00000022-a\tde\trot
00000022-a\ten\tred
00000022-a\tel\t4
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "data.noun").write_text(WORDNET, encoding="utf-8")
    (tmp_path / "lexicon.tsv").write_text(LEXICON, encoding="utf-8")
    return tmp_path / "data.noun", tmp_path / "lexicon.tsv"


def test_only_nouns_that_an_image_can_show(files: tuple[Path, Path]) -> None:
    assert visible_nouns(files[0]) == {"00000010-n", "00000011-n", "00000013-n"}


def test_tuples_have_an_english_word_and_enough_languages(files: tuple[Path, Path]) -> None:
    found = word_tuples(Lexicon.open(files[1]), visible_nouns(files[0]), spread=3)
    # The car has no English word, the idea cannot be seen, the aardwolf has two languages.
    assert found == {
        "00000010-n": {
            "de": ["Hund"],
            "el": ["σκύλος", "σκυλί"],
            "en": ["dog", "domestic dog"],
        },
        "00000020-v": {"de": ["laufen"], "en": ["run"], "fi": ["juosta"]},
        "00000022-a": {"de": ["rot"], "en": ["red"]},
    }


def test_languages_left_out_count_for_the_spread(files: tuple[Path, Path]) -> None:
    nouns = visible_nouns(files[0])
    found = word_tuples(Lexicon.open(files[1]), nouns, spread=3, without=["de"])
    # Without German, red has no other language: its Greek word has no letter.
    assert found == {
        "00000010-n": {"el": ["σκύλος", "σκυλί"], "en": ["dog", "domestic dog"]},
        "00000020-v": {"en": ["run"], "fi": ["juosta"]},
    }
    rare = word_tuples(Lexicon.open(files[1]), nouns, spread=2, without=["de"])
    assert rare["00000013-n"] == {"en": ["aardwolf"], "fi": ["maasusi"]}


def test_a_line_that_is_not_from_wordnet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.noun"
    path.write_text("  licence\nabc n 01 thing\n", encoding="utf-8")
    with pytest.raises(PolyglanceError, match="line 2: not a line of WordNet"):
        visible_nouns(path)


def test_the_command_writes_tuples_to_train_on(tmp_path: Path, files: tuple[Path, Path]) -> None:
    out = tmp_path / "words.jsonl.gz"
    command = ["data", "words", str(out), f"--wordnet={files[0]}", f"--lexicon={files[1]}"]
    done = CliRunner().invoke(app, [*command, "--spread=3", "--without=fi, de"])
    assert done.exit_code == 0, done.output
    assert "1 tuples, 4 words, 2 languages" in done.output
    table = read_tuples(out, None, 0)
    assert sorted(table.texts) == ["dog", "domestic dog", "σκυλί", "σκύλος"]
    assert set(table.kinds) == {"name"}
    unknown = CliRunner().invoke(app, [*command, "--without=xx"])
    assert "has no language 'xx'" in str(unknown.exception)
    none = CliRunner().invoke(app, [*command, "--spread=30"])
    assert "lower --spread (30)" in str(none.exception)
