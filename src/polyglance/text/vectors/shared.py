"""Word vectors of several languages in one space, from captions of the same images.

An image's captions in all languages form one document, so that a word and its translation occur in
the same documents (Dumais et al. 1997, cross-language latent semantic indexing; Søgaard et al.
2015). This needs neither a dictionary nor an alignment.
"""

import numpy as np

ITERATIONS = 2
"""Power iterations: the spectrum of such matrices decays slowly."""
MORE = 16
"""Oversampling of directions, for accuracy (Halko et al. 2011)."""


def shared_vectors(
    words: np.ndarray, documents: np.ndarray, sizes: np.ndarray, dim: int
) -> np.ndarray:
    """Unit vectors [w, dim] float32 of words by the documents they occur in; 0 if in none.

    A truncated SVD of (1 + log n) · log(D / d), where a word occurs n times in a document and in d
    of the D documents of its language. Deterministic.

    Args:
        words: [n], the word of each occurrence.
        documents: [n], the document of each occurrence.
        sizes: [w], D of each word.
        dim: dimension of the vectors.
    """
    from scipy.sparse import csr_matrix

    width = int(documents.max(initial=0)) + 1
    places, times = np.unique(words.astype(np.int64) * width + documents, return_counts=True)
    rows, columns = np.divmod(places, width)
    spread = np.bincount(rows, minlength=len(sizes))
    # 1 + D, so that words in every document keep some weight.
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
