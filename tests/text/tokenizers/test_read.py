"""From captions to words, as a recipe says."""

import pytest

from polyglance.recipes.schema import TextRecipe
from polyglance.text.tokenizers import read_words


def test_the_recipes_tokenizer_reads():
    texts = ["A Dog.", "IZGARA"]
    assert read_words(TextRecipe(), texts, ["en", "tr"]) == (texts, [["a", "dog"], ["ızgara"]])
    assert read_words(TextRecipe(tokenizer="whitespace"), texts)[1] == [["A", "Dog."], ["IZGARA"]]
    assert read_words(TextRecipe(), [], "en") == ([], [])


def test_texts_are_romanised_first_where_the_recipe_says_so():
    pytest.importorskip("sudachipy")
    texts, words = read_words(TextRecipe(romanise=True), ["犬が走る", "Dog"], ["ja", "en"])
    assert texts[1] == "Dog"
    assert texts[0].isascii()
    assert words == [["inu", "ga", "hashiru"], ["dog"]]
    one = read_words(TextRecipe(romanise=True), ["犬が走る"], "ja")
    assert one[1] == [["inu", "ga", "hashiru"]]
