"""Typos: one slip, in the word's own script."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from polyglance.evaluation.perturb.typos import NEIGHBOURS, typo


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
