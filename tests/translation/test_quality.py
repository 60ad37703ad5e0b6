"""How good a translator is, by words in common with people's translations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.data import CaptionedImage, load_dataset, save_folder
from polyglance.errors import PolyglanceError
from polyglance.translation import Translator, evaluate_translator, word_overlap

SENTENCES = st.lists(st.lists(st.sampled_from("abc")), min_size=1, max_size=4)


@given(SENTENCES)
def test_a_text_shares_all_words_with_itself_in_any_order(texts):
    found = word_overlap(texts, [text[::-1] for text in texts])
    assert found.precision == found.recall == (100 if any(texts) else 0)


@given(SENTENCES, st.data())
def test_common_words_are_counted_one_by_one(texts, data):
    others = [data.draw(st.lists(st.sampled_from("abc"))) for _ in texts]
    common = 0
    for one, other in zip(texts, others, strict=True):
        left = list(other)
        for word in one:
            if word in left:
                left.remove(word)
                common += 1
    words = sum(map(len, texts))
    assert word_overlap(texts, others).precision == pytest.approx(100 * common / max(1, words))


def test_captions_of_kind_translation_are_evaluated(tmp_path):
    class Same(Translator):
        def translate(self, texts, source, target):
            return [None if text == "Nothing." else text for text in texts]

    photos = [
        CaptionedImage(
            "a", "val", {"en": {"translation": ["A taxi."]}, "de": {"translation": ["Ein Taxi."]}}
        ),
        CaptionedImage(
            "b", "val", {"en": {"translation": ["Nothing."]}, "de": {"machine": ["Nichts da."]}}
        ),
        CaptionedImage(
            "c", "val", {"en": {"independent": ["A taxi."]}, "de": {"independent": ["A taxi."]}}
        ),
    ]
    save_folder(tmp_path, photos)
    found = evaluate_translator(Same(), load_dataset(tmp_path), "en", "de")
    assert (found.texts, found.precision, found.recall) == (2, 50, 25)
    with pytest.raises(PolyglanceError, match="no translations from 'de' to 'fr'"):
        evaluate_translator(Same(), load_dataset(tmp_path), "de", "fr")
