"""Latent tokens that languages share, and pairs of a lexicon that do, counted by hand."""

from pathlib import Path

from polyglance.text.embedders.universal.sharing import token_sharing
from polyglance.text.lexicon import Lexicon

LEXICON = """1-n\tde\tHund|Köter
1-n\ten\tdog
2-n\tde\tKatze
2-n\ten\tcat|dog
3-n\tde\trot
3-n\ten\tred
3-n\tfr\trouge
"""
TABLES = {
    "de": {"hund": 1, "köter": 2, "katze": 2, "rot": 9, "und": 3},
    "en": {"dog": 1, "cat": 2, "red": 4, "the": 5},
    "fr": {"rouge": 4, "chien": 6},
}


def test_tokens_of_several_languages_and_pairs_on_one_token(tmp_path: Path) -> None:
    (tmp_path / "lexicon.tsv").write_text(LEXICON)
    found = token_sharing(TABLES, 8, Lexicon.open(tmp_path / "lexicon.tsv"))
    # 1 to 6 are used; 1, 2 and 4 by two languages. "rot" has a vector of its own, token 9.
    assert found["used"] == 6
    assert found["shared"] == 50
    # hund-dog and katze-cat and red-rouge are on one; köter-dog and katze-dog are not.
    assert found["lexicon_pairs"] == 5
    assert found["pairs"] == 60


def test_without_a_lexicon_or_without_latent_tokens() -> None:
    assert token_sharing(TABLES, 8) == {"used": 6, "shared": 50}
    assert token_sharing(TABLES, 0) == {}
    assert token_sharing({"de": {"hund": 1}}, 1) == {"used": 1, "shared": 0}
