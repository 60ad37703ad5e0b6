"""Words in their places, as ids and characters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.data.generated.scenes import make_scene
from polyglance.data.generated.store import caption
from polyglance.text.embedders.characters.alphabet import END, PAD, START, UNKNOWN, Alphabet
from polyglance.text.embedders.characters.forms import FIRST, LAST, Form, FormTable, forms_of
from polyglance.text.embedders.vocabulary import SPECIALS, Vocabulary
from polyglance.text.tokenizers import tokenize_many

ANY_WORD = st.text(max_size=40)


def test_a_caption() -> None:
    forms = forms_of(["a", "dog", "a"], ends=True)
    assert forms == [Form("a", FIRST), Form("dog"), Form("a", LAST)]
    table = FormTable(Alphabet("adgo"), 6, [*forms, *forms])
    assert [table.ids[form] for form in forms] == [4, 5, 6]
    assert table.characters[4:, :4].tolist() == [
        [START, 4, PAD, PAD],
        [5, 7, 6, PAD],
        [4, END, PAD, PAD],
    ]
    assert table.spell(forms_of(["a"], ends=True))[0, :4].tolist() == [START, 4, END, PAD]
    assert forms_of(["a", "dog"], ends=False) == [Form("a"), Form("dog")]
    assert forms_of([], ends=True) == []


@pytest.mark.parametrize("ends", [False, True])
@given(words=st.lists(ANY_WORD, max_size=6))
def test_places_by_hand(words: list[str], ends: bool) -> None:
    found = forms_of(words, ends)
    assert [form.word for form in found] == words
    for index, form in enumerate(found):
        first, last = ends and index == 0, ends and index == len(words) - 1
        assert form.place == (FIRST if first else 0) + (LAST if last else 0)


def test_ids_of_specials_are_those_of_a_vocabulary() -> None:
    table = FormTable(Alphabet("a"), 3)
    assert len(table) == len(Vocabulary([]))
    assert table.characters[:, 0].tolist() == [PAD, START, END, UNKNOWN]
    assert not table.characters[:, 1:].any()


@given(st.lists(st.builds(Form, ANY_WORD, st.integers(0, 3)), max_size=8))
def test_every_form_has_one_id_in_order(forms: list[Form]) -> None:
    table = FormTable(Alphabet("abc"), 5, forms)
    assert table.forms == list(dict.fromkeys(forms))
    assert [table.ids[form] for form in table.forms] == list(range(4, len(table)))
    np.testing.assert_array_equal(table.characters[4:], table.spell(table.forms))


def test_captions_of_every_script_have_known_characters() -> None:
    scenes = [caption(make_scene(0, i), 0, i) for i in range(3)]
    languages = [code for code in scenes[0] if code not in ("ja", "zh")]
    texts = {code: [scene[code]["translation"][0] for scene in scenes] for code in languages}
    tokens = {code: tokenize_many(found, code) for code, found in texts.items()}
    tokens |= {"zh": [["一只", "狗"]], "ja": [["犬", "が", "走っ", "て"]]}
    forms = [form for own in tokens.values() for one in own for form in forms_of(one, True)]
    table = FormTable(Alphabet.build(tokens, min_count=1), 26, forms)
    rows = table.characters[len(SPECIALS) :]
    assert len(rows) > 50
    assert (rows != UNKNOWN).all()
    assert (rows[:, 0] != PAD).all()
