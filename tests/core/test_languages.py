"""Tags in their standard form, what is no tag, and the tags of translation models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.alignment.named import language_pair
from polyglance.core.languages import base_language, find_tag, is_tag, primary_subtag, standard_tag
from polyglance.errors import PolyglanceError

LEXICON = [
    "af",
    "ar",
    "bg",
    "bn",
    "ca",
    "cs",
    "da",
    "de",
    "el",
    "en",
    "es",
    "et",
    "eu",
    "fa",
    "fi",
    "fr",
    "gl",
    "he",
    "hi",
    "hr",
    "hu",
    "id",
    "is",
    "it",
    "ja",
    "ko",
    "lt",
    "lv",
    "nb",
    "nl",
    "pl",
    "pt",
    "ro",
    "ru",
    "sk",
    "sl",
    "sv",
    "sw",
    "te",
    "th",
    "tr",
    "uk",
    "vi",
    "zh",
]
NLLB = [
    "afr_Latn",
    "arb_Arab",
    "arb_Latn",
    "ary_Arab",
    "arz_Arab",
    "bul_Cyrl",
    "ben_Beng",
    "cat_Latn",
    "ces_Latn",
    "dan_Latn",
    "deu_Latn",
    "ell_Grek",
    "eng_Latn",
    "spa_Latn",
    "est_Latn",
    "eus_Latn",
    "pes_Arab",
    "prs_Arab",
    "fin_Latn",
    "fra_Latn",
    "glg_Latn",
    "heb_Hebr",
    "hin_Deva",
    "hrv_Latn",
    "hun_Latn",
    "ind_Latn",
    "isl_Latn",
    "ita_Latn",
    "jpn_Jpan",
    "kor_Hang",
    "lit_Latn",
    "ltg_Latn",
    "lvs_Latn",
    "nno_Latn",
    "nob_Latn",
    "nld_Latn",
    "pol_Latn",
    "por_Latn",
    "ron_Latn",
    "rus_Cyrl",
    "slk_Latn",
    "slv_Latn",
    "swe_Latn",
    "swh_Latn",
    "tel_Telu",
    "tha_Thai",
    "tur_Latn",
    "ukr_Cyrl",
    "vie_Latn",
    "yue_Hant",
    "zho_Hans",
    "zho_Hant",
    "twi_Latn",
    "aka_Latn",
]


@pytest.mark.parametrize(
    ("text", "standard", "base"),
    [
        ("de", "de", "de"),
        ("DE", "de", "de"),
        (" pt_br ", "pt-BR", "pt"),
        ("zh-hans-cn", "zh-Hans-CN", "zh"),
        ("iw", "he", "he"),
        ("deu", "de", "de"),
        ("deu_Latn", "de", "de"),
        ("cmn", "cmn", "zh"),
        ("xx", "xx", "xx"),
        ("xx-YY", "xx-YY", "xx"),
    ],
)
def test_tags(text, standard, base):
    assert (standard_tag(text), base_language(text)) == (standard, base)
    assert is_tag(text)


@pytest.mark.parametrize(
    "text", ["", "-", "x", "d", "de-", "f r", "klingon", "de/", "é", "\0", " "]
)
def test_what_is_no_tag(text):
    assert not is_tag(text)
    with pytest.raises(PolyglanceError, match="is not a language tag; write one such as"):
        standard_tag(text)
    assert base_language(text) == primary_subtag(text)


@given(st.text(max_size=6) | st.from_regex(r"[a-zA-Z]{1,4}([-_][a-zA-Z0-9]{1,5}){0,3}"))
def test_every_text_is_a_tag_or_not(text):
    assert isinstance(base_language(text), str)
    if is_tag(text):
        standard = standard_tag(text)
        assert standard_tag(standard) == standard
        assert base_language(standard) == base_language(text)
    else:
        assert base_language(text) == text.strip().lower().replace("_", "-").split("-")[0]


def test_tags_of_translation_models():
    found = {language: find_tag(language, NLLB) for language in LEXICON}
    assert None not in found.values()
    assert len(set(found.values())) == len(LEXICON)
    assert [found[one] for one in ("ar", "fa", "lv", "nb", "sw", "zh")] == [
        *("arb_Arab", "pes_Arab", "lvs_Latn", "nob_Latn", "swh_Latn", "zho_Hans")
    ]
    assert [find_tag(one, NLLB) for one in ("nn", "tw", "ak", "zh-Hant", "pt-BR", "yue", "qq")] == [
        *("nno_Latn", "twi_Latn", "aka_Latn", "zho_Hant", "por_Latn", "yue_Hant", None)
    ]
    assert find_tag("de", []) is None
    assert find_tag("de", ["not a tag", "", "en_XX", "de_DE"]) == "de_DE"


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("fr-de", ["fr", "de"]),
        ("pt_BR-de", ["pt_BR", "de"]),
        ("pt-BR-de", ["pt-BR", "de"]),
        ("fr-de-AT", ["fr", "de-AT"]),
        ("zh-Hans-zh-Hant", ["zh-Hans", "zh-Hant"]),
        ("pt-BR", ["pt", "BR"]),
    ],
)
def test_pairs(text, pair):
    assert language_pair(text, "pair") == pair


@pytest.mark.parametrize("text", ["", "fr", "-", "fr-", "fr-de-", "a b-de", "pt-br-de", "fr--de"])
def test_what_is_no_pair(text):
    with pytest.raises(PolyglanceError, match=r"--languages: expected two languages, such as"):
        language_pair(text, "--languages")
