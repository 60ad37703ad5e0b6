"""Classes and their hypernyms with names."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyglance.cli import app
from polyglance.errors import PolyglanceError
from polyglance.text.concepts import class_concepts, read_concepts, read_english, read_hypernyms
from polyglance.text.lexicon import Lexicon

WORDNET = """\
  1 This software and database is being provided to you
00000001 03 n 01 thing 0 000 | all there is
00000010 05 n 02 dog 0 domestic_dog 0 002 @ 00000001 n 0000 #m 00000030 n 0000 | a canid
00000011 05 n 01 terrier 0 001 @ 00000010 n 0000 | small; @ 00000099 n 0000
00000012 05 n 01 poodle 0 002 @ 00000010 n 0000 @i 00000020 n 0000 | curly
00000020 05 n 01 pet 0 001 @ 00000001 n 0000 | at home
00000030 05 n 01 car 0 001 @ 00000001 n 0000 | wheels
"""
LEXICON = """\
00000001-n\ten\tthing
00000010-n\ten\tdog|domestic_dog|Canis familiaris|hound
00000010-n\tde\tHund
00000011-n\ten\tterrier
00000012-n\tde\tPudel
00000030-n\ten\t4
"""
CLASSES = ("00000011-n", "00000012-n", "00000030-n")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "data.noun").write_text(WORDNET)
    (tmp_path / "lexicon.tsv").write_text(LEXICON)
    return tmp_path / "data.noun", tmp_path / "lexicon.tsv"


def test_hypernyms_are_read_from_the_pointers_alone(files: tuple[Path, Path]) -> None:
    assert read_hypernyms(files[0]) == {
        "00000001-n": [],
        "00000010-n": ["00000001-n"],
        "00000011-n": ["00000010-n"],
        "00000012-n": ["00000010-n", "00000020-n"],
        "00000020-n": ["00000001-n"],
        "00000030-n": ["00000001-n"],
    }


def test_concepts_are_classes_and_what_is_above_them(files: tuple[Path, Path]) -> None:
    lexicon = Lexicon.open(files[1])
    found = class_concepts(CLASSES, read_hypernyms(files[0]), lexicon, broadest=2)
    # The thing has all three classes; the pet has no name, and 4 is none.
    assert [(one.synset, one.classes) for one in found] == [
        ("00000010-n", [0, 1]),
        ("00000011-n", [0]),
        ("00000012-n", [1]),
    ]
    assert found[0].names == {"de": ["Hund"], "en": ["dog", "domestic dog", "Canis familiaris"]}
    assert read_english(files[0])["00000010-n"] == ["dog", "domestic dog"]
    more = class_concepts(CLASSES, read_hypernyms(files[0]), lexicon, 2, read_english(files[0]))
    by_synset = {one.synset: one.names for one in more}
    assert by_synset["00000012-n"] == {"de": ["Pudel"], "en": ["poodle"]}
    assert by_synset["00000020-n"] == {"en": ["pet"]}
    assert by_synset["00000010-n"] == found[0].names
    every = class_concepts(CLASSES, read_hypernyms(files[0]), lexicon)
    assert (every[0].synset, every[0].classes) == ("00000001-n", [0, 1, 2])


def test_a_line_that_is_none_of_wordnet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.noun"
    path.write_text("00000001 03 n 01 thing 0\n")
    with pytest.raises(PolyglanceError, match="line 1: not a line of WordNet"):
        read_hypernyms(path)


def test_the_command_writes_imagenets_concepts(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(
        "01440764 05 n 01 tench 0 001 @ 02512053 n 0000 | a fish\n"
        "01443537 05 n 01 goldfish 0 001 @ 02512053 n 0000 | a fish\n"
    )
    (tmp_path / "lexicon.tsv").write_text("02512053-n\tde\tFisch\n01443537-n\ten\tgoldfish\n")
    out, given = tmp_path / "concepts.jsonl.gz", f"--wordnet={tmp_path / 'data.noun'}"
    names = f"--lexicon={tmp_path / 'lexicon.tsv'}"
    done = CliRunner().invoke(app, ["data", "classes", str(out), given, names])
    assert done.exit_code == 0, done.output
    assert "3 concepts of 2 classes, 3 names, 2 languages" in done.output
    found = read_concepts(out, 1000)
    assert [(one.synset, one.classes, one.names) for one in found] == [
        ("02512053-n", [0, 1], {"de": ["Fisch"]}),
        ("01440764-n", [0], {"en": ["tench"]}),
        ("01443537-n", [1], {"en": ["goldfish"]}),
    ]


@pytest.mark.parametrize(
    "change",
    [{"classes": [3]}, {"classes": []}, {"names": {}}, {"names": {"en": []}}, {"names": 1}],
)
def test_concepts_that_are_none_are_named(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "concepts.jsonl"
    fine = {"synset": "00000010-n", "classes": [2], "names": {"en": ["dog"]}}
    path.write_text(f"{json.dumps(fine)}\n{json.dumps(fine | change)}\n")
    with pytest.raises(PolyglanceError, match=r"concepts\.jsonl, line 2: expected synset"):
        read_concepts(path, 3)
