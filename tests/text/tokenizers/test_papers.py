"""The papers' tokenizers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.tokenizers import get_tokenizer, papers

PAPERS = ["treebank", "moses", "moses+treebank", "nltk", "whitespace"]


def tokens(name, text, language=None):
    return " ".join(get_tokenizer(name).tokenize(text, language))


def test_whitespace_changes_nothing():
    assert tokens("whitespace", " A  man &apos;s dog .\n") == "A man &apos;s dog ."


def test_treebank_lower_cases_and_parts_clitics():
    assert tokens("treebank", "A man's dog isn't big.\n") == "a man 's dog is n't big ."


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("A man. A dog runs.", "a man . a dog runs ."),
        ("Mr. Smith's dog isn't here.", "mr. smith 's dog is n't here ."),
        ('The U.S. flag , "big" dog', "the u.s. flag , `` big '' dog"),
        ("Two dogs ... one t-shirt (red); 3.5 m!", "two dogs ... one t-shirt ( red ) ; 3.5 m !"),
        ("...!?", ""),
    ],
)
def test_nltk_keeps_punctuation_and_parts_sentences(raw, expected):
    assert tokens("nltk", raw, "en") == expected


def test_nltk_reads_scripts_without_spaces():
    assert tokens("nltk", "一只狗在草地上跑。", "zh").split()[-1] == "。"
    assert "狗" in tokens("nltk", "一只狗在草地上跑。", "zh").split()
    assert tokens("nltk", "L'homme. Ein Öl", None) == "l'homme . ein öl"


@pytest.mark.parametrize(
    ("language", "raw", "expected"),
    [
        ("en", "A woman's coat, isn't it?", "a woman &apos;s coat , isn &apos;t it ?"),
        ("en", 'A "big" dog in a T-Shirt.', "a &quot; big &quot; dog in a t-shirt ."),
        ("en", "A bar &amp; grill", "a bar &amp; amp ; grill"),
        ("de", "Ein „Großer“ Öl- und Gasmann", "ein &quot; großer &quot; öl- und gasmann"),
        ("de", "Ein Hund – ca. 3 Meter.", "ein hund - ca. 3 meter ."),
        ("fr", "L’homme (d'ici) !", "l&apos; homme ( d&apos; ici ) !"),
        ("cs", "Muž v 11:27; kůň.", "muž v 11 : 27 ; kůň ."),
    ],
)  # fmt: skip
def test_moses_is_the_lc_norm_tok_form(language, raw, expected):
    assert tokens("moses", raw, language) == expected


def test_moses_then_treebank_takes_entities_apart():
    assert tokens("moses+treebank", "A man's dog.", "en") == "a man & apos ; s dog ."


@pytest.mark.parametrize("language", ["uk", "ar", "hi", "zh", "ko", "xx", "pt-BR", None])
def test_moses_takes_any_language(language):
    assert tokens("moses", "Abc def.", language) == "abc def ."


@pytest.mark.parametrize("module", ["nltk", "sacremoses"])
def test_a_missing_package_is_named(module, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setitem(__import__("sys").modules, f"{module}.tokenize", None)
    with pytest.raises(PolyglanceError, match=f"pip install {module}"):
        papers.Treebank() if module == "nltk" else papers.Moses().tokenize("a", "en")
    if module == "nltk":
        with pytest.raises(PolyglanceError, match=r"tokenizer 'nltk' needs nltk"):
            papers.Nltk()


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(PAPERS), st.text(max_size=40))
def test_any_text_gives_tokens_without_spaces(name, text):
    assert all(token.split() == [token] for token in get_tokenizer(name).tokenize(text, "en"))
