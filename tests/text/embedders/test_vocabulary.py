"""Words as ids; the sizes of the papers' vocabularies, and of those at hand."""

import json
import os
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.errors import PolyglanceError
from polyglance.storage.files import read_jsonl, read_lines
from polyglance.text.embedders.vocabulary import PAD, SPECIALS, UNKNOWN, Vocabulary
from polyglance.text.tokenizers import tokenize_many

CAPTIONS = {
    "en": [["a", "dog"], ["a", "hand"], ["a", "cat", "hand"]],
    "de": [["ein", "hund"], ["eine", "hand"], ["a", "hund"]],
}
SHARED = Path(__file__).parents[4] / "shared" / "data" / "flickr8k-ml" / "captions.jsonl.gz"
PAPER = {"en": 3805, "de": 4244, "fr": 3993, "cs": 5513}
PAPER_JACCARD = (0.041, 0.063, 0.015, 0.026, 0.012, 0.011)
"""en-de, en-fr, en-cs, de-fr, de-cs, fr-cs, as printed (spec §2.2)."""
sentences = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=8)


def test_pooled_counts_over_all_languages():
    assert Vocabulary.build(CAPTIONS, 3, "pooled").words == (*SPECIALS, "a", "hand")


def test_per_language_wants_one_language_to_reach_the_threshold():
    assert Vocabulary.build(CAPTIONS, 3, "per-language").words == (*SPECIALS, "a")
    assert Vocabulary.build(CAPTIONS, 2, "per-language").words[4:] == ("a", "hand", "hund")


def test_tables_are_separate():
    tables = Vocabulary.build_tables(CAPTIONS, 2)
    assert tables["en"].words[4:] == ("a", "hand")
    assert tables["de"].words[4:] == ("hund",)


def test_order_is_by_count_then_word_whatever_the_input_order():
    back = {code: CAPTIONS[code][::-1] for code in reversed(CAPTIONS)}
    assert Vocabulary.build(back, 1) == Vocabulary.build(CAPTIONS, 1)
    assert Vocabulary.build(CAPTIONS, 1).words[4:] == (
        "a", "hand", "hund", "cat", "dog", "ein", "eine",
    )  # fmt: skip


def test_encode_and_decode():
    words = Vocabulary(["a", "dog"])
    assert words.encode(["a", "dog", "cat"]) == [1, 4, 5, 3, 2]
    assert words.encode(["a", "dog", "cat"], ends=False) == [4, 5, 3]
    assert words.encode(["a", "dog", "a", "a"], max_length=4) == [1, 4, 5, 2]
    assert words.decode([1, 4, 5, 3, 2, 0]) == ["a", "dog", "<unk>"]
    assert words.decode([1, 4, 2], specials=True) == ["<start>", "a", "<end>"]


def test_a_caption_cannot_write_specials():
    built = Vocabulary.build({"en": [["<pad>", "<end>", "dog"]]}, 1)
    assert built.words == (*SPECIALS, "dog")
    assert built.encode(["<pad>", "dog"], ends=False) == [UNKNOWN, 4]
    assert "<pad>" not in built
    assert built.id("<pad>") == UNKNOWN != PAD


@given(sentences, st.none() | st.integers(3, 6), st.booleans())
def test_encode_many_is_encode_of_each(tokens, longest, ends):
    words = Vocabulary("abcd")
    found = words.encode_many(tokens, longest, ends)
    flat, offsets = found.flat, found.offsets
    parts = [flat[a:b].tolist() for a, b in pairwise(offsets)]
    assert parts == [words.encode(one, longest, ends) for one in tokens]
    assert (flat.dtype, offsets.dtype) == (np.int32, np.int64)
    assert words.encode_many(tokens, longest, ends).lengths.tolist() == [len(p) for p in parts]


@given(sentences.filter(any))
def test_known_words_survive_the_round_trip(tokens):
    words = Vocabulary.build({"en": tokens}, 1)
    assert [words.decode(words.encode(one)) for one in tokens] == tokens


def test_json_round_trip():
    words = Vocabulary(["ключ", "犬", "a"])
    assert Vocabulary.from_json(json.loads(json.dumps(words.to_json()))) == words


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "v.json: field 'words'"),
        ({"words": [1]}, "v.json: field 'words'"),
        ({"words": ["a"], "specials": ["<s>"]}, "v.json: field 'specials'"),
        ({"words": ["a"], "specials": 3}, "v.json: field 'specials'"),
        ({"words": ["a", "a"]}, "the word 'a' twice"),
        ({"words": ["<pad>"]}, "the word '<pad>' twice"),
    ],
)
def test_bad_json_is_named(value, message):
    with pytest.raises(PolyglanceError, match=message):
        Vocabulary.from_json(value, "v.json")


def test_invalid_input_is_refused():
    with pytest.raises(PolyglanceError, match="no word occurs 4 times"):
        Vocabulary.build({"en": [["a"]]})
    with pytest.raises(PolyglanceError, match="leaves no room"):
        Vocabulary(["a"]).encode(["a"], max_length=2)


def sizes(tables):
    return {code: len(table) - len(SPECIALS) for code, table in tables.items()}


@pytest.mark.skipif("MULTI30K_DIR" not in os.environ, reason="MULTI30K_DIR names no checkout")
def test_the_papers_vocabulary_on_multi30k():
    folder = Path(os.environ["MULTI30K_DIR"]) / "data" / "task1" / "tok"
    tokens = {}
    for code in PAPER:
        lines = [line for _, line in read_lines(folder / f"train.lc.norm.tok.{code}")]
        assert len(lines) == 29_000
        tokens[code] = tokenize_many(lines, code, "treebank", show_progress=False)
    tables = Vocabulary.build_tables(tokens)
    assert sizes(tables) == PAPER
    assert sum(map(len, tables.values())) == 17_571
    assert len(Vocabulary.build(tokens, scope="per-language")) == 16_553
    assert len(Vocabulary.build(tokens, scope="pooled")) == 17_214 + 4
    words = [set(table.words[len(SPECIALS) :]) for table in tables.values()]
    overlaps = [len(a & b) / len(a | b) for a, b in combinations(words, 2)]
    assert overlaps == pytest.approx(PAPER_JACCARD, abs=6e-4)


@pytest.fixture(scope="module")
def training_captions():
    """language → kind → captions of the training split at hand."""
    if not SHARED.is_file():
        pytest.skip("the shared data is not here")
    found: dict[str, dict[str, list[str]]] = {}
    for _, row in read_jsonl(SHARED):
        for code, kinds in row["captions"].items() if row["split"] == "train" else ():
            for kind, texts in kinds.items():
                found.setdefault(code, {}).setdefault(kind, []).extend(texts)
    return found


def test_words_on_the_data_at_hand(training_captions):
    tokens = {
        code: tokenize_many([text for texts in kinds.values() for text in texts], code)
        for code, kinds in training_captions.items()
    }
    assert all(all(captions) for captions in tokens.values())
    assert sizes(Vocabulary.build_tables(tokens)) == {
        "ar": 2785, "cs": 1333, "de": 3515, "en": 3209, "es": 1124,
        "fr": 1143, "hi": 1248, "pt": 3472, "uk": 1288, "zh": 1719,
    }  # fmt: skip
    assert len(Vocabulary.build(tokens, scope="pooled")) == 20_082
    assert len(Vocabulary.build(tokens, scope="per-language")) == 19_781


def test_the_papers_tokens_on_the_data_at_hand(training_captions):
    tokens = {
        code: tokenize_many(training_captions[code]["translation"][:2000], code, "moses+treebank")
        for code in PAPER
    }
    assert sizes(Vocabulary.build_tables(tokens)) == {"en": 546, "de": 534, "fr": 561, "cs": 627}
    assert len(Vocabulary.build(tokens, scope="pooled")) == 2271
    assert len(Vocabulary.build(tokens, scope="per-language")) == 2189


def test_the_language_is_only_a_hint(training_captions):
    for code, kinds in training_captions.items():
        texts = [text for captions in kinds.values() for text in captions][:2000]
        assert tokenize_many(texts, code) == tokenize_many(texts)
