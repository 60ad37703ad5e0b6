"""Vocabulary sizes: the papers' on Multi30K's own files, and ours on the data at hand."""

import os
from itertools import combinations
from pathlib import Path

import pytest

from polyglance.files import read_jsonl, read_lines
from polyglance.text import SPECIALS, Vocabulary, jaccard, tokenize_many

SHARED = Path(__file__).parents[3] / "shared" / "data" / "flickr8k-ml" / "captions.jsonl.gz"
PAPER = {"en": 3805, "de": 4244, "fr": 3993, "cs": 5513}
PAPER_JACCARD = (0.041, 0.063, 0.015, 0.026, 0.012, 0.011)
"""en-de, en-fr, en-cs, de-fr, de-cs, fr-cs, as printed (spec §2.2)."""


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
    words = [table.words[len(SPECIALS) :] for table in tables.values()]
    overlaps = [jaccard(a, b) for a, b in combinations(words, 2)]
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
