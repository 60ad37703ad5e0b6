"""Vectors of a language's words: from a user's files, or trained on the captions and kept."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.files import atomic, cache_dir
from polyglance.recipes.schema import UniversalRecipe
from polyglance.text.vectors import WordVectors, read_vectors, vector_file

VERSION = 1
"""Raised when vectors trained by an earlier version are not to be used any more."""


def language_vectors(
    code: str,
    words: Sequence[str],
    sentences: Sequence[Sequence[str]],
    recipe: UniversalRecipe,
    cache: Path | None,
) -> WordVectors:
    """Vectors of those of `words` that have one, in their order."""
    if recipe.vectors is not None:
        path = vector_file(Path(recipe.vectors).expanduser(), code, "universal.vectors")
        found = read_vectors(path, only=words)
        kept = [word for word in words if word in found]
        if not kept:
            raise PolyglanceError(
                f"universal.vectors: the file of '{code}' has a vector for none of the "
                f"{len(words)} words of its training captions"
            )
        return WordVectors(kept, found.matrix[found.rows(kept)])
    return WordVectors(list(words), _trained(words, sentences, recipe.trained, cache))


def _trained(
    words: Sequence[str], sentences: Sequence[Sequence[str]], dim: int, cache: Path | None
) -> np.ndarray:
    """[n, dim], the same for the same captions: kept, as training them takes a while."""
    path = cache_dir(cache) / "vectors" / f"{_key(words, sentences, dim)}.npy"
    kept = load_array(path)
    if kept is not None and kept.shape == (len(words), dim):
        return kept
    from polyglance.text.train_vectors import VectorSettings, train_vectors

    matrix = train_vectors(sentences, VectorSettings(dim=dim)).vectors(words, False)
    with atomic(path) as handle:
        np.save(handle, matrix, allow_pickle=False)
    return matrix


def load_array(path: Path) -> np.ndarray | None:
    """What `np.save` or `np.savez` wrote; None if it is not there or damaged."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None


def _key(words: Sequence[str], sentences: Sequence[Sequence[str]], dim: int) -> str:
    total = hashlib.sha256(f"{VERSION} {dim}\n".encode())
    for one in (words, *sentences):
        total.update("\t".join(one).encode() + b"\n")
    return total.hexdigest()[:24]


def reduce_vectors(matrix: np.ndarray, dim: int) -> np.ndarray:
    """Vectors [n, d] on their `dim` principal components, float32 [n, dim].

    Of fewer than `dim` words the other components are 0; vectors of that size stay as they are.
    """
    if matrix.shape[1] <= dim:
        return matrix
    centred = matrix.astype(np.float64) - matrix.mean(0, dtype=np.float64)
    values, directions = np.linalg.eigh(centred.T @ centred)
    return (centred @ directions[:, np.argsort(values)[::-1][:dim]]).astype(np.float32)
