"""Lexicons made of wordnets, in the formats of Open Multilingual Wordnet and of Princeton."""

import gzip
from pathlib import Path

import pytest

from polyglance.errors import PolyglanceError
from polyglance.text.lexicon import Lexicon
from polyglance.text.wordnets import make_lexicon

GERMAN = """# odenet\tdeu\thttps://example.org\tCC BY-SA
02084071-n\tdeu:lemma\tHund
02084071-n\tdeu:def\t0\tein Tier
02121620-n\tdeu:lemma\tKatze
02084071-n\tdeu:lemma\tHaushund
00001740-s\tdeu:lemma\tfähig
"""
CHINESE = "# cow\tcmn\thttps://example.org\twordnet\n02084071-n\tlemma\t狗\n"
WIKTIONARY = "# wikt\tdeu\thttps://example.org\tCC BY-SA\n02084071-n\tdeu:lemma\tKöter\n"
NOUNS = """  1 This is the licence, which no line of data looks like.
02084071 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 001 @ 02083346 n 0000 | a member
"""
ADJECTIVES = "01070538 00 s 01 galore(ip) 0 001 & 01069999 a 0000 | in great numbers\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "wordnets"
    for name, text in {
        "wns/de/wn-data-deu.tab": GERMAN,
        "wns/cow/wn-data-cmn.tab": CHINESE,
        "wns/wikt/wn-wikt-deu.tab": WIKTIONARY,
        "wns/wikt/wn-wikt-Xnds-de.tab": "# Wiktionary\t*nds-de\n02084071-n\t*nds-de:lemma\tHund\n",
        "wns/de/notes.tab": "not a wordnet\n",
        "dict/data.noun": NOUNS,
        "dict/data.adj": ADJECTIVES,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_golden(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "lexicon.tsv.gz"
    counts = make_lexicon(out, [sources / "wns", sources / "dict"])
    with gzip.open(out, "rt", encoding="utf-8") as handle:
        assert handle.read().splitlines() == [
            "00001740-a\tde\tfähig",
            "01070538-a\ten\tgalore",
            "02084071-n\tde\tHund|Haushund|Köter",
            "02084071-n\ten\tdog|domestic dog|Canis familiaris",
            "02084071-n\tzh\t狗",
            "02121620-n\tde\tKatze",
        ]
    assert counts == {"de": 3, "en": 2, "zh": 1}


def test_the_lexicon_is_read(sources: Path, tmp_path: Path) -> None:
    out = tmp_path / "lexicon.tsv.gz"
    make_lexicon(out, [sources / "wns", sources / "dict"])
    lexicon = Lexicon.open(out)
    assert lexicon.languages == ["de", "en", "zh"]
    assert ("dog", "Hund") in lexicon.pairs("en", "de")


def test_the_same_files_make_the_same_bytes(sources: Path, tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        make_lexicon(tmp_path / name, [sources / "wns"])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("wn-data-x.tab", "02084071-n\tlemma\tHund\n", "line 1: '' is not a language tag"),
        ("wn-data-x.tab", "# x\tdeu\n", "contain no lemmas"),
        ("data.noun", "some text\n", "line 1: not a line of WordNet"),
    ],
)
def test_files_that_are_no_wordnet_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PolyglanceError, match=message):
        make_lexicon(tmp_path / "out.gz", [tmp_path / name])
    assert not (tmp_path / "out.gz").exists()


def test_folders_without_wordnets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyglanceError, match=r"contains neither wn-\*\.tab nor data\.noun"):
        make_lexicon(tmp_path / "out.gz", [tmp_path])
    with pytest.raises(PolyglanceError, match="no such file or folder"):
        make_lexicon(tmp_path / "out.gz", [tmp_path / "gone"])


def test_the_command(sources: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from polyglance.cli import app

    out = tmp_path / "new" / "lexicon.tsv.gz"
    result = CliRunner().invoke(app, ["data", "lexicon", str(out), str(sources / "wns")])
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{out}: synsets of 2 languages (de 3, zh 1)\n"
