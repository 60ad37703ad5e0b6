"""Word by word: the most usual sense, back-offs, what is kept and what is left out."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.data import CaptionedImage, save_folder
from polyglance.errors import PolyglanceError
from polyglance.translation import make_translator
from polyglance.translation.forms import Lemmas, english_lemmas

LINES = """
1-n en dog|domestic dog
1-n de Hund|Hündin
1-n fr chien
1-n zh 狗
2-n en dog
2-n de Knacke
3-v en run
3-v de laufen|rennen
3-v fr courir
4-n en hot dog
4-n de Würstchen
4-n fr hot-dog
5-a en hot
5-a de heiß
6-n en At|are
6-n de Astat
7-n de Mädchen
7-n en girl
7-n fr fille
"""


@pytest.fixture
def lexicon(tmp_path):
    path = tmp_path / "lexicon.tsv.gz"
    lines = [line.split(" ", 2) for line in LINES.strip().splitlines()]
    path.write_bytes(gzip.compress("".join("\t".join(line) + "\n" for line in lines).encode()))
    return path


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The dogs!", "Hund"),  # most languages name the animal; "the" is short and unknown
        ("dog running", "Hund laufen"),
        ("a hot dog", "Würstchen"),
        ("hot dogs", "heiß Hund"),
        ("dog at 3 skateboards", "Hund 3 skateboards"),  # At is an element
        ("the", None),
    ],
)
def test_english_words_become_german_ones(lexicon, text, wanted):
    translator = make_translator(f"lexicon:{lexicon}")
    assert translator.translate([text], "en", "de") == [wanted]


def test_other_directions_and_scripts(lexicon):
    translator = make_translator(f"lexicon:{lexicon}")
    assert translator.translate(["Die Mädchens laufen"], "de", "fr") == ["fille courir"]
    assert translator.translate(["一只狗"], "zh", "en")[0].split()[-1] == "dog"
    assert translator.translate(["dog"], "en", "zh") == ["狗"]


def test_words_of_captions_are_preferred(lexicon, tmp_path):
    photo = CaptionedImage("a.jpg", "train", {"de": {"independent": ["Die Hündin rennen."]}})
    save_folder(tmp_path / "data", [photo])
    translator = make_translator(f"lexicon:{lexicon},words={tmp_path / 'data'}")
    assert translator.translate(["dogs run"], "en", "de") == ["Hündin rennen"]
    assert translator.identity != make_translator(f"lexicon:{lexicon}").identity


def test_the_file_of_the_environment(lexicon, monkeypatch):
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    with pytest.raises(PolyglanceError, match=r"lexicon:PATH, or set \$POLYGLANCE_LEXICON"):
        make_translator("lexicon")
    monkeypatch.setenv("POLYGLANCE_LEXICON", str(lexicon))
    named, bare = make_translator(f"lexicon:{lexicon}"), make_translator("lexicon")
    assert bare.identity == named.identity
    assert bare.translate(["dog running"], "en", "de") == ["Hund laufen"]


def test_missing_languages_and_files(lexicon, tmp_path):
    with pytest.raises(PolyglanceError, match="has no language 'xx'"):
        make_translator(f"lexicon:{lexicon}").translate(["dog"], "en", "xx")
    with pytest.raises(PolyglanceError, match="no such file"):
        make_translator(f"lexicon:{tmp_path / 'none'}")


def test_english_endings():
    for word, lemma in {
        "running": "run",
        "rides": "ride",
        "riding": "ride",
        "babies": "baby",
        "carried": "carry",
        "jumped": "jump",
        "women": "woman",
    }.items():
        assert lemma in list(english_lemmas(word))


def test_short_words_are_led_back_by_english_rules_alone():
    words = ["then", "withy", "dog", "muž", "žena"]
    assert [Lemmas(words, "en").of(form, words) for form in ("the", "with", "dogs")] == [
        [],
        [],
        ["dog"],
    ]
    czech = Lemmas(words, "cs")
    assert [czech.of(form, words) for form in ("muže", "muz")] == [["muž"], []]


@settings(deadline=None)
@given(st.lists(st.text("abcd", min_size=3, max_size=8), min_size=1), st.text("abcd", min_size=3))
def test_the_closest_lemma_is_the_brute_force_one(words, form):
    def fits(lemma):
        common = next(
            (i for i, (a, b) in enumerate(zip(form, lemma, strict=False)) if a != b), None
        )
        common = min(len(form), len(lemma)) if common is None else common
        rest, ending = len(lemma) - common, len(form) - common
        near = rest <= 3 and ending <= 4 and common >= max(3, 0.6 * len(form)) and len(form) > 3
        return common - rest / 2 if near else -1

    found = Lemmas(words, "de").of(form, set())
    best = max(map(fits, words))
    assert bool(found) == (best >= 0)
    if found:
        assert fits(found[0]) == best
