"""A language is found however its tag is written."""

import pytest

from polyglance.core.languages import known_language
from polyglance.errors import PolyglanceError
from polyglance.gallery.query import check_query
from tests.text.subword_models import sentence_model


@pytest.mark.parametrize(
    ("given", "found"),
    [("DE", "de"), ("de-DE", "de"), ("deu", "de"), ("zh-CN", "zh"), ("fa", "pes"), ("no", "nb")],
)
def test_forms_of_a_tag(given: str, found: str) -> None:
    assert known_language(given, ["de", "nb", "nov", "pes", "zh"]) == found


def test_a_model_that_reads_all_takes_every_language_that_exists() -> None:
    assert known_language("nl-BE", ["de"], every=True) == "nl"
    with pytest.raises(PolyglanceError, match=r"not trained on language 'nl' \(its languages"):
        known_language("nl", ["de"])
    with pytest.raises(PolyglanceError, match="write its tag, 'nl'"):
        known_language("Dutch", ["de"])
    for wrong in ("klingon", "d e", "xx"):
        with pytest.raises(PolyglanceError, match="not the tag of a language"):
            known_language(wrong, ["de"], every=True)


def test_queries_of_subwords_take_every_language() -> None:
    model = sentence_model()
    assert check_query(model, "rode hond", "nl").language == "nl"
    assert check_query(model, "roter Hund", "DE").language == "de"
    with pytest.raises(PolyglanceError, match="'klingon' is not the tag"):
        check_query(model, "rode hond", "klingon")
