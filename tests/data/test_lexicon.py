"""The lexicon against brute force, its cache, and what is wrong with a file."""

import gzip
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.text.lexicon import Lexicon, SharedSynsets, lexicon_path
from polyglance.text.tokenizers.normalise import normalise

LEXICON = """\
1-n\tfr\tbanc|banque de données
1-n\tde\tBank|Sitzbank
2-n\tfr\tbanque
2-n\tde\tBank|Kreditinstitut
3-n\tfr\tbanque|établissement
3-n\tde\tKreditinstitut
4-a\tzh\t可以+的
4-a\tde\tfähig|FÄHIG
"""


def write(path, text=LEXICON):
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "lexicon.tsv.gz")


def brute_words(lines, language):
    """word → set of synsets, read straight from the lines."""
    found = {}
    for synset, code, lemmas in lines:
        for lemma in lemmas.split("|") if code == language else ():
            word = lemma.split("+")[0].replace("_", " ").strip()
            if word and len(word.split()) == 1:
                found.setdefault(word, set()).add(synset)
    return found


def brute_pairs(lines, source, target, limit=None):
    """Every pair of words compared, by Jaccard index and then by spelling."""
    one, other = brute_words(lines, source), brute_words(lines, target)
    pairs = []
    for word in list(one)[:limit]:
        scored = [(-len(one[word] & other[w]) / len(one[word] | other[w]), w) for w in other]
        pairs += [(word, found) for score, found in sorted(scored) if score < 0]
    return pairs


def test_normalised_pairs_join_spellings(path):
    lexicon = Lexicon.open(path)
    assert lexicon.pairs("zh", "de", normalised=True) == [("可以", "fähig")]
    assert ("banc", "sitzbank") in lexicon.pairs("fr", "de", normalised=True)
    both = {True: set(), False: set()}
    for normalised, found in both.items():
        found.update((a.lower(), b.lower()) for a, b in lexicon.pairs("fr", "de", normalised))
    assert both[True] == both[False]


def test_pairs_by_hand(path):
    lexicon = Lexicon.open(path)
    assert lexicon.pairs("fr", "de") == [
        ("banc", "Sitzbank"),
        ("banc", "Bank"),
        ("banque", "Kreditinstitut"),  # they share both synsets
        ("banque", "Bank"),
        ("établissement", "Kreditinstitut"),
    ]
    assert lexicon.pairs("zh", "de") == [("可以", "FÄHIG"), ("可以", "fähig")]
    assert lexicon.pairs("fr", "zh") == []


def test_words_synsets_lemmas_and_synonyms(path):
    lexicon = Lexicon.open(path)
    assert lexicon.languages == ["de", "fr", "zh"]
    assert lexicon.words("fr") == ["banc", "banque", "établissement"]
    assert lexicon.synsets("de")["Bank"] == ("1-n", "2-n")
    assert lexicon.synsets("de", normalised=True)["fähig"] == ("4-a",)
    assert "Bank" not in lexicon.synsets("de", normalised=True)
    assert lexicon.lemmas("fr")["1-n"] == ["banc", "banque de données"]
    assert lexicon.synonyms("de")[:2] == [["bank", "sitzbank"], ["bank", "kreditinstitut"]]
    assert lexicon.synonyms("fr") == [["banque", "établissement"]]
    assert lexicon.spread == {"1-n": 2, "2-n": 2, "3-n": 2, "4-a": 2}
    assert lexicon.synsets("nl") == {}
    assert lexicon.synonyms("nl") == []


LINES = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "3", "4"]),
        st.sampled_from(["de", "fr"]),
        st.lists(st.text("abC_+ ", max_size=4), min_size=1, max_size=4).map("|".join),
    ),
    max_size=20,
)


@given(LINES)
def test_pairs_are_those_of_brute_force(tmp_path_factory, lines):
    lines = [("0", "de", "x"), ("0", "fr", "y"), *lines]
    path = tmp_path_factory.mktemp("lexicon") / "lexicon.tsv"
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    lexicon = Lexicon.open(path)
    assert lexicon.pairs("de", "fr") == brute_pairs(lines, "de", "fr")
    for language in ("de", "fr"):
        reference = brute_words(lines, language)
        assert lexicon.words(language) == list(reference)
        assert {w: set(s) for w, s in lexicon.synsets(language).items()} == reference
        languages = {
            synset: {lang for s, lang, _ in lines if s == synset} for synset, _, _ in lines
        }
        assert lexicon.spread == {synset: len(found) for synset, found in languages.items()}


def test_the_real_lexicon(shared):
    path = shared / "lexicon.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        lines = [line.rstrip("\n").split("\t") for line in handle]
    lexicon = Lexicon.open(path)
    assert lexicon.languages == sorted({language for _, language, _ in lines})
    pairs = lexicon.pairs("af", "bn")
    known = brute_words(lines, "af")
    some = set(list(known)[:100])
    assert [pair for pair in pairs if pair[0] in some] == brute_pairs(lines, "af", "bn", 100)
    assert ("respirer", "atmen") in lexicon.pairs("fr", "de")
    turkish = {}
    for word, synsets in brute_words(lines, "tr").items():
        turkish.setdefault(normalise(word, "tr"), set()).update(synsets)
    assert {w: set(s) for w, s in lexicon.synsets("tr", normalised=True).items()} == turkish
    assert lexicon.spread["02084071-n"] == sum(synset == "02084071-n" for synset, _, _ in lines)


def test_a_file_is_read_once_until_it_changes(path, monkeypatch):
    first = Lexicon.open(path)
    monkeypatch.chdir(path.parent)
    assert Lexicon.open(path.relative_to(path.parent)) is first
    write(path, "1\tde\tHund\n1\tfr\tchien\n")
    second = Lexicon.open(path)
    assert second.pairs("de", "fr") == [("Hund", "chien")]
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert Lexicon.open(path) is not second


def test_mistakes(path, tmp_path):
    lexicon = Lexicon.open(path)
    with pytest.raises(PolyglanceError, match=r"no language 'nl' \(one of: de, fr, zh\)"):
        lexicon.pairs("nl", "de")
    with pytest.raises(PolyglanceError, match="two languages"):
        lexicon.pairs("de", "de")
    with pytest.raises(PolyglanceError, match="no such file"):
        Lexicon.open(tmp_path / "none.tsv")
    for _ in range(2):  # an error is not kept
        with pytest.raises(PolyglanceError, match="line 2: expected synset"):
            Lexicon.open(write(tmp_path / "bad.tsv.gz", "1-n\tfr\ta\n1-n de b\n"))


def test_which_file(path, tmp_path, monkeypatch):
    monkeypatch.delenv("POLYGLANCE_LEXICON", raising=False)
    for explicit in (None, ""):
        with pytest.raises(PolyglanceError, match=r"^unseen:1 needs a lexicon: .* with x.y, or "):
            lexicon_path(explicit, "unseen:1", "x.y")
    with pytest.raises(PolyglanceError, match=r"nowhere: no such file; unseen:1 needs a lexicon"):
        lexicon_path(tmp_path / "nowhere", "unseen:1")
    assert lexicon_path(str(path), "unseen:1") == path
    monkeypatch.setenv("POLYGLANCE_LEXICON", str(path))
    assert lexicon_path(None, "unseen:1") == path
    with pytest.raises(PolyglanceError, match="nowhere"):  # what was given comes first
        lexicon_path(tmp_path / "nowhere", "unseen:1")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert lexicon_path("~/lexicon.tsv.gz", "unseen:1") == path


def test_words_without_synsets_in_common():
    shared = SharedSynsets({"a": ["1"], "b": ["2"]}, {"c": ["1", "3"]})
    assert shared.similarities("a") == {"c": 0.5}
    assert shared.ranked("b") == shared.ranked("z") == []
