"""Alignments as files, and how they are learned and evaluated."""

import numpy as np
import pytest

from polyglance.alignment import Alignment, align, evaluate_alignment, split_rows
from polyglance.errors import PolyglanceError
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
    whole, steps = align(source, target, train, rate=1.0, show_progress=False)
    part, _ = align(source, target, train, rate=1.0, neighbours=50, show_progress=False)
    assert not np.allclose(whole.matrix, part.matrix)
    assert steps[-1].objective < steps[0].objective
    found = evaluate_alignment(part, source, target, test, neighbours=50, show_progress=False)
    assert found["nn"].words == 60
    shuffled = WordVectors(target.words, target.matrix[::-1].copy())
    assert (
        evaluate_alignment(part, source, shuffled, test, show_progress=False)["nn"].at[1]
        < found["nn"].at[1]
    )
