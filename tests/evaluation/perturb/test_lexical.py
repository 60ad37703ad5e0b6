"""Synonyms and translations of a lexicon."""

from polyglance.evaluation.perturb.lexical import synonyms, translations


def test_synonyms_share_senses_and_fit() -> None:
    senses = {
        "dog": ["1", "2", "3", "4"],
        "hound": ["1", "2"],
        "cad": ["4", "5", "6", "7", "8", "9"],
        "pooch": ["1", "2", "3"],
        "on": ["7"],
        "off": ["7"],
    }
    find = synonyms(senses, lambda word: word != "pooch")
    assert find("dog") == "hound"
    assert synonyms(senses, lambda _: True)("dog") == "pooch"
    assert find("cad") is None
    assert find("on") is None
    assert find("tree") is None


def test_translations_take_the_likeliest() -> None:
    source = {"bank": ["money", "seat"], "ab": ["money"]}
    target = {"bank": ["seat", "money"], "ufer": ["shore"], "geld": ["money", "cash"]}
    assert translations(source, target)("bank") == "bank"
    assert translations(source, {"geld": ["money", "cash"]})("bank") == "geld"
    assert translations(source, target)("ab") is None
