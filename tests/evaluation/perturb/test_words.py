"""Perturbations as pure functions: seeded, in place, and honest about what they change."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb.inflections import inflections
from polyglance.evaluation.perturb.lexical import synonyms, translations
from polyglance.evaluation.perturb.spec import Perturbation
from polyglance.evaluation.perturb.typos import NEIGHBOURS, typo
from polyglance.evaluation.perturb.words import change_words, spans, words_of

TEXTS = st.text("abc dé'2,狗犬がЖкषिال😀\n", max_size=40)


def upper(word: str, chance: Random) -> str | None:
    return f"<{word}>"


@given(TEXTS)
def test_spans_are_words_in_order_and_nothing_else(text: str) -> None:
    found = spans(text)
    assert all(a < b for a, b in found)
    assert all(one[1] <= two[0] for one, two in pairwise(found))
    rest = change_words(text, found, 1.0, lambda word, _: "", "key")[0]
    assert not any(c.isalpha() for c in rest)


@given(TEXTS, st.floats(0.05, 1), st.integers(0, 99))
def test_words_change_in_their_place_and_the_same_way_twice(
    text: str, rate: float, key: int
) -> None:
    places = spans(text)
    new, changed = change_words(text, places, rate, upper, str(key))
    assert (new, changed) == change_words(text, places, rate, upper, str(key))
    assert new.replace("<", "").replace(">", "") == text
    assert new.count("<") == changed <= len(places)


@given(st.floats(0.05, 1), st.floats(0.05, 1))
def test_a_higher_rate_changes_the_same_words_and_more(one: float, other: float) -> None:
    text = "a b c d e f g h i j k l"
    places = spans(text)
    low, high = (
        change_words(text, places, rate, upper, "key")[0].split() for rate in sorted((one, other))
    )
    assert all(b == a or not a.startswith("<") for a, b in zip(low, high, strict=True))


@given(st.text("abcdefghßéйцукجشक", min_size=3, max_size=9), st.integers(0, 999))
def test_a_typo_is_one_slip(word: str, seed: int) -> None:
    new = typo(word, Random(seed), sorted(set(word)))
    if len(set(word)) > 1:
        assert new is not None
    if new is not None:
        assert new != word
        assert abs(len(new) - len(word)) <= 1
        assert new == typo(word, Random(seed), sorted(set(word)))


def test_kinds_of_slips() -> None:
    found = {typo("house", Random(seed)) for seed in range(300)}
    assert {"huose", "ouse", "houuse", "houde"} <= found
    assert typo("at", Random(0)) is None
    assert {typo("né", Random(seed)) for seed in range(9)} == {None}


def test_typos_stay_in_their_script() -> None:
    assert set("йцф") & set(NEIGHBOURS["ц"]) == {"й", "ф"}
    chinese = {typo("狗", Random(seed), ["狗", "猫", "a", "が"]) for seed in range(20)}
    assert chinese == {"猫"}
    hindi = {typo("कुत्ता", Random(seed), ["क", "ख", "a"]) for seed in range(60)}
    assert None not in hindi
    assert all(not any(c.isascii() for c in word) for word in hindi if word)
    assert typo("狗", Random(0), ["狗"]) is None


def test_marks_stay_with_their_letters() -> None:
    for seed in range(40):
        new = typo("किताबें", Random(seed), ["ख", "ग"])
        assert new is not None
        assert not new.startswith("ि")


def test_forms_by_frequent_endings() -> None:
    verbs = ["walk", "jump", "climb", "play", "kick"]
    counts = {verb + ending: 9 for verb in verbs for ending in ("", "s", "ing")}
    counts |= {"table": 9, "tablet": 9, "dogs": 9, "dog": 9, "kickx": 9, "playz": 2}
    for n in range(200):
        counts[f"{n:03}".translate(str.maketrans("0123456789", "qwrtyuiopa")) + "mnbv"] = 9
    found = inflections(counts)
    assert found["walk"] == ["walking", "walks"]
    assert found["dogs"] == ["dog"]
    assert "table" not in found
    assert "kickx" not in found


def test_synonyms_share_senses_and_fit() -> None:
    senses = {
        "dog": ["1", "2", "3", "4"],
        "hound": ["1", "2"],
        "cad": ["4", "5", "6", "7", "8", "9"],
        "pooch": ["1", "2", "3"],
        "on": ["7"],
        "off": ["7"],
    }
    find = synonyms(senses, lambda word: word != "pooch")
    assert find("dog") == "hound"
    assert synonyms(senses, lambda _: True)("dog") == "pooch"
    assert find("cad") is None
    assert find("on") is None
    assert find("tree") is None


def test_translations_take_the_likeliest() -> None:
    source = {"bank": ["money", "seat"], "ab": ["money"]}
    target = {"bank": ["seat", "money"], "ufer": ["shore"], "geld": ["money", "cash"]}
    assert translations(source, target)("bank") == "bank"
    assert translations(source, {"geld": ["money", "cash"]})("bank") == "geld"
    assert translations(source, target)("ab") is None


def test_words_are_spelt_as_tokenisers_spell_them() -> None:
    assert words_of("Der HUND, أحمر!", "ar") == ["der", "hund", "احمر"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("typo:0.2", "unknown perturbation 'typo' .did you mean 'typos'"),
        ("typos", "share of words"),
        ("typos:2", "above 0 and at most 1"),
        ("typos:nan", "share of words"),
        ("typos:0.2:de", "only code-switch takes languages"),
        ("code-switch:0.2:", "name languages with"),
    ],
)
def test_mistakes_are_told(text: str, message: str) -> None:
    with pytest.raises(PolyglanceError, match=message):
        Perturbation.parse(text)
