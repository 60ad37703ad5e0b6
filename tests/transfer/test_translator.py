"""Maps from a new language's vectors to the pivot's."""

from pathlib import Path

import numpy as np
import pytest

from polyglance.recipes.schema import TransferRecipe
from polyglance.text.embedders.fixed.build import LanguageWords
from polyglance.transfer.translator import aligned_matrix
from tests.alignment.planted import languages


@pytest.mark.parametrize("method", ["svd", "rcsls"])
def test_a_planted_turn_is_found(tmp_path: Path, method: str) -> None:
    source, target, turn = languages(count=120, dim=10)
    (tmp_path / "pairs.txt").write_text("".join(f"a{i} b{i}\n" for i in range(100)))
    new = LanguageWords(list(source.words), source.matrix)
    known = LanguageWords(list(target.words), target.matrix)
    recipe = TransferRecipe(source="x", dictionary=str(tmp_path / "pairs.txt"), method=method)
    found = aligned_matrix(recipe, "de", new, "en", known, None).numpy()
    mapped = source.matrix @ found.T
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    assert (np.argmax(mapped @ target.matrix.T, axis=1) == np.arange(120)).mean() > 0.99
    if method == "svd":
        np.testing.assert_allclose(found, turn, atol=1e-3)
