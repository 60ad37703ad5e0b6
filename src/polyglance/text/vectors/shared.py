"""Vectors of words of several languages in one space, from the images that their captions share.

An image with captions in several languages is one document of all of them, so that a word and its
translation occur in the same documents (Dumais et al. 1997, cross-language latent semantic
indexing; Søgaard et al. 2015). No dictionary is needed, and nothing has to be aligned afterwards.
"""

import numpy as np

ITERATIONS = 2
"""Power iterations: the spectrum of such matrices falls slowly."""
MORE = 16
"""Directions beside those wanted, for the accuracy of the last of them (Halko et al. 2011)."""


def shared_vectors(
    words: np.ndarray, documents: np.ndarray, sizes: np.ndarray, dim: int
) -> np.ndarray:
    """Unit vectors [w, dim] of words by the documents they occur in, float32; 0 of those in none.

    A truncated SVD of (1 + log n) · log(D / d) for a word n times in a document, which occurs in d
    of the D documents of its language. The same words always give the same vectors.

    Args:
        words: [n], the number of the word at each of its occurrences.
        documents: [n], the document at each.
        sizes: [w], D of each word.
        dim: dimension of the vectors.
    """
    from scipy.sparse import csr_matrix

    width = int(documents.max(initial=0)) + 1
    places, times = np.unique(words.astype(np.int64) * width + documents, return_counts=True)
    rows, columns = np.divmod(places, width)
    spread = np.bincount(rows, minlength=len(sizes))
    # A word of every document says something as well, if little.
    weight = np.log((1 + sizes) / np.maximum(spread, 1))
    values = ((1 + np.log(times)) * weight[rows]).astype(np.float32)
    matrix = csr_matrix((values, (rows, columns)), (len(sizes), width))
    wanted = min(dim, *matrix.shape)
    generator = np.random.default_rng(0)
    start = generator.normal(size=(width, min(wanted + MORE, *matrix.shape))).astype(np.float32)
    basis = np.linalg.qr(matrix @ start)[0]
    for _ in range(ITERATIONS):
        basis = np.linalg.qr(matrix @ np.linalg.qr(matrix.T @ basis)[0])[0]
    left, strength, _ = np.linalg.svd((matrix.T @ basis).T, full_matrices=False)
    found = (basis @ left)[:, :wanted] * np.sqrt(strength[:wanted])
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    unit = np.where(spread[:, None] > 0, found / np.maximum(lengths, 1e-12), 0)
    return np.pad(unit, ((0, 0), (0, dim - wanted))).astype(np.float32)
