"""The pieces that words consist of, cached on disk: millions of words take minutes to split."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import content_digest
from polyglance.storage.files import atomic, cache_dir, has_file
from polyglance.storage.tensors import Tensors

FOLDER = "pieces"
MIN_CACHED = 10_000
"""With fewer words, splitting them again is cheaper than a cached file."""


def used_pieces(
    vocabulary: Tensors,
    words: Sequence[str],
    split: Callable[[str], Sequence[int]],
    cache: Path | None = None,
) -> np.ndarray:
    """The sorted ids of the pieces of words.

    Args:
        vocabulary: tensors that determine how words are split.
        words: distinct, in a fixed order.
        split: ids of a word's pieces.
        cache: folder for results; None is the XDG cache.
    """
    if len(words) < MIN_CACHED:
        return _split_all(words, split)
    fields = (vocabulary[name] for name in sorted(vocabulary))
    # Words contain no line breaks: they were split at white space.
    name = content_digest([*fields, "\n".join(words).encode("utf-8", "surrogatepass")])[:32]
    path = cache_dir(cache) / FOLDER / f"{name}.npy"
    found = _read(path)
    if found is None:
        found = _split_all(words, split)
        with contextlib.suppress(PolyglanceError), atomic(path) as handle:
            np.save(handle, found)
    return found


def _split_all(words: Sequence[str], split: Callable[[str], Sequence[int]]) -> np.ndarray:
    found: set[int] = set()
    with Bar("pieces", len(words), "words") as bar:
        for word in words:
            found.update(split(word))
            bar.advance()
    return np.array(sorted(found), np.int64)


def _read(path: Path) -> np.ndarray | None:
    """A cached result; None if there is none, or if it is damaged."""
    if not has_file(path):
        return None
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    valid = found.ndim == 1 and found.dtype == np.int64 and bool((np.diff(found) > 0).all())
    return found if valid else None
