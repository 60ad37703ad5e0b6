from hypothesis import given
from hypothesis import strategies as st

from polyglance.gallery.sheets.wrap import wrap


@given(st.text("ab 狗は。,\n", max_size=60), st.integers(2, 12))
def test_lines_fit_and_hold_everything(text, width):
    lines = wrap(text, width, len, 1000)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(0 < len(line) <= width for line in lines)


@given(st.text("ab 狗", max_size=60), st.integers(3, 12), st.integers(1, 4))
def test_too_many_lines_are_cut_with_an_ellipsis(text, width, most):
    everything, lines = wrap(text, width, len, 1000), wrap(text, width, len, most)
    assert len(lines) <= most
    assert all(len(line) <= width for line in lines)
    if len(everything) > most:
        assert lines[-1].endswith("…")
        assert lines[:-1] == everything[: most - 1]
    else:
        assert lines == everything


def test_words_stay_whole_and_punctuation_stays_with_its_character():
    assert wrap("a small blue chair", 7, len, 9) == ["a small", "blue", "chair"]
    assert wrap("红色的狗。小猫", 4, len, 9) == ["红色的", "狗。小猫"]
    assert wrap("hippopotamus", 5, len, 9) == ["hippo", "potam", "us"]
    assert wrap(" ", 5, len, 9) == []


def test_a_word_of_8000_letters_costs_few_measurements():
    """Issue 23: it took 304 s on a sheet; every piece was measured letter by letter."""
    measured = []

    def measure(text):
        measured.append(len(text))
        return len(text)

    lines = wrap("w" * 8000, 30, measure, 3)
    assert lines == ["w" * 30, "w" * 30, "w" * 29 + "…"]
    assert len(measured) < 100
    assert max(measured) <= 64


@given(st.text("abil ", max_size=80), st.integers(3, 40))
def test_words_are_cut_where_letter_by_letter_would_cut_them(text, width):
    def measure(piece):
        return sum(1 if letter in "il" else 3 for letter in piece)

    for line in wrap(text, width, measure, 1000):
        assert measure(line) <= width
    word = "ail" * 20
    first = wrap(word, width, measure, 1000)[0]
    longest = max(n for n in range(1, len(word)) if measure(word[:n]) <= width)
    assert first == word[:longest]
