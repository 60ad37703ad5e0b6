"""Alignments as files, and how they are learned and evaluated."""

from dataclasses import replace

import numpy as np
import pytest

from polyglance.alignment import (
    Alignment,
    AlignmentOptions,
    align,
    evaluate_alignment,
    learn_alignment,
    split_rows,
)
from polyglance.alignment.learn import dictionary_pairs
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.text.vectors.word_vectors import (
    WordVectors,
)
from tests.alignment.planted import languages


def test_other_files_are_no_alignments(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "m.safetensors"
    with pytest.raises(PolyglanceError, match="no such file"):
        Alignment.load(path)
    path.write_text("text")
    with pytest.raises(PolyglanceError, match="not a safetensors file"):
        Alignment.load(path)
    save_file({"matrix": np.eye(2)}, path)
    with pytest.raises(PolyglanceError, match="not written by"):
        Alignment.load(path)


def test_neighbours_bound_the_pools_and_not_the_candidates():
    source, target, _ = languages(noise=0.3, seed=4)
    train, test = split_rows(np.stack([np.arange(300)] * 2, axis=1))
    every = AlignmentOptions(rate=1.0, show_progress=False)
    some = replace(every, neighbours=50)
    whole, steps = align(source, target, train, every)
    part, _ = align(source, target, train, some)
    assert not np.allclose(whole.matrix, part.matrix)
    assert steps[-1].objective < steps[0].objective
    found = evaluate_alignment(part, source, target, test, some)
    assert found["nn"].words == 60
    shuffled = WordVectors(target.words, target.matrix[::-1].copy())
    wrong = evaluate_alignment(part, source, shuffled, test, every)
    assert wrong["nn"].at[1] < found["nn"].at[1]


def test_a_map_is_learned_from_a_dictionary_without_the_command():
    source, target, turn = languages(noise=0.05)
    pairs = [(f"a{i}", f"b{i}") for i in range(300)]
    svd = AlignmentOptions(method="svd", show_progress=False)
    found = learn_alignment(source, target, pairs, svd, test_words=60)
    assert (len(found.train), len(found.test), found.steps) == (240, 60, [])
    np.testing.assert_allclose(found.alignment.matrix, turn, atol=0.1)
    assert found.precision["svd"]["nn"].at[1] > 0.9 > found.precision["before"]["nn"].at[1]
    facts = found.alignment.facts
    assert (facts["pairs"], facts["precision"]["svd"]["nn"][1]) == (
        240,
        found.precision["svd"]["nn"].at[1],
    )
    assert not learn_alignment(source, target, pairs, svd).precision
    with pytest.raises(ArgumentError, match=r"too few to hold some out; .* raise `test_words`"):
        learn_alignment(source, target, pairs, svd, test_words=0)
    with pytest.raises(ArgumentError, match="specify the languages with `languages`"):
        dictionary_pairs("captions:generated", source, target)
