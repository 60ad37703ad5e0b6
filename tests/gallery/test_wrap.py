from hypothesis import given
from hypothesis import strategies as st

from polyglance.gallery.wrap import wrap


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
