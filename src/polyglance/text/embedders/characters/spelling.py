"""Words as rows of characters."""

from collections.abc import Sequence

import numpy as np

from polyglance.text.embedders.characters.alphabet import END, START, Alphabet, code_points, nfc


def character_ids(
    words: Sequence[str],
    alphabet: Alphabet,
    length: int,
    starts: np.ndarray | None = None,
    ends: np.ndarray | None = None,
) -> np.ndarray:
    """The words' characters, padded with 0 and cut at `length`: [U, length] int32.

    Args:
        starts, ends: [U] bool, words that begin with `<start>`, or close with `<end>`; both count
            as characters, and `<end>` is cut with the rest of a long word, as in the authors' code.

    >>> character_ids(["ab", "b?"], Alphabet("ab"), 3).tolist()
    [[4, 5, 0], [5, 1, 0]]
    """
    cut = [nfc(word)[:length] for word in words]
    counts = np.fromiter(map(len, cut), np.int64, len(cut))
    first = np.zeros(len(cut), np.int64) if starts is None else starts.astype(np.int64)
    rows = np.repeat(np.arange(len(cut)), counts)
    columns = np.arange(len(rows)) - (np.cumsum(counts) - counts - first)[rows]
    inside = columns < length
    matrix = np.zeros((len(cut), length), np.int32)
    matrix[rows[inside], columns[inside]] = alphabet.ids(code_points("".join(cut)))[inside]
    if starts is not None:
        matrix[starts, 0] = START
    if ends is not None:
        closed = np.flatnonzero(ends & (counts + first < length))
        matrix[closed, (counts + first)[closed]] = END
    return matrix
