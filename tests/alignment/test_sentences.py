import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglance.alignment import sentence_translations
from polyglance.alignment.sentences import ITERATIONS
from polyglance.data.dataset import CaptionTable
from polyglance.errors import PolyglanceError

KNOWN = ["dog", "cat", "runs", "sleeps", "a", "big"]


def table(sentences, code):
    texts = [" ".join(words) for words in sentences]
    return CaptionTable(
        texts, np.arange(len(texts)), [code] * len(texts), ["translation"] * len(texts)
    )


def by_hand(source, target):
    """IBM model 1, sentence by sentence."""
    pairs = [([None, *sorted(set(s))], sorted(set(t))) for s, t in zip(source, target, strict=True)]
    chance = {(f, e): 1.0 for fs, es in pairs for f in fs for e in es}
    for _ in range(ITERATIONS):
        counts = dict.fromkeys(chance, 0.0)
        for fs, es in pairs:
            for e in es:
                total = sum(chance[f, e] for f in fs)
                for f in fs:
                    counts[f, e] += chance[f, e] / total
        chance = {
            (f, e): n / sum(m for (g, _), m in counts.items() if g == f)
            for (f, e), n in counts.items()
        }
    return chance


WORDS = st.lists(st.sampled_from(["hund", "katze", "läuft", "groß"]), min_size=1, max_size=3)
OTHERS = st.lists(st.sampled_from(KNOWN), min_size=1, max_size=3)


@settings(max_examples=40)
@given(st.lists(st.tuples(WORDS, OTHERS), min_size=1, max_size=5))
def test_weights_are_those_of_model_one(pairs):
    source, target = ([pair[side] for pair in pairs] * 2 for side in (0, 1))
    found = sentence_translations(table(source, "de"), table(target, "en"), KNOWN)
    chance = by_hand(source, target)
    for word, mixture in found.items():
        kept = {e: chance[word, e] for e in mixture}
        total = sum(kept.values())
        assert mixture == pytest.approx({e: p / total for e, p in kept.items()})
        best = max(p for (f, _), p in chance.items() if f == word)
        assert max(kept.values()) == pytest.approx(best)
        assert len(mixture) <= 5
    assert set(found) == {word for words in source for word in words}


def test_inflected_forms_and_function_words_are_translated():
    german = [["ein", "hund", "läuft"], ["hunde", "laufen"], ["ein", "hund"], ["hunde"]]
    german += [["ein", "kater"], ["katzen", "laufen"], ["katzen"], ["laufen"]]
    english = [["a", "dog", "runs"], ["dog", "runs"], ["a", "dog"], ["dog"]]
    english += [["a", "cat"], ["cat", "runs"], ["cat"], ["runs"]]
    found = sentence_translations(table(german * 3, "de"), table(english * 3, "en"), KNOWN)
    best = {word: max(mixture, key=mixture.get) for word, mixture in found.items()}
    assert best["hunde"] == best["hund"] == "dog"
    assert best["ein"] == "a"
    assert best["laufen"] == "runs"


def test_rare_and_unknown_words_are_left_out():
    source, target = table([["x", "y"], ["x"], ["x"]], "de"), table([["dog"]] * 3, "en")
    assert set(sentence_translations(source, target, KNOWN)) == {"x"}
    assert sentence_translations(source, target, ["cat"]) == {}
    far = CaptionTable(["dog"], np.array([9]), ["en"], ["translation"])
    with pytest.raises(PolyglanceError, match="no common sentence"):
        sentence_translations(source, far, KNOWN)
