"""Trains word vectors with character n-grams (fastText's skip-gram) on given sentences."""

import os
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from polyglance.core.packages import import_package
from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic
from polyglance.text.tokenizers.segment import is_unspaced
from polyglance.text.vectors.fasttext import MAGIC, SubwordVectors

NEGATIVES, WINDOW, SAMPLE, RATE = 5, 5, 1e-3, 0.05
"""fastText's defaults, except that fewer frequent words are dropped, as there is little text."""
BUCKETS = 50_000
"""Buckets of hashed n-grams; fastText's two million take 2.4 GB, for far larger vocabularies."""
ALPHABETIC, UNSPACED = (3, 6), (1, 3)
"""Lengths of n-grams: fastText's, and for scripts whose words have only a few characters."""


@dataclass(frozen=True)
class VectorSettings:
    """Settings of the training."""

    dim: int = 300
    epochs: int = 5
    threshold: int = 1
    seed: int = 0
    ngrams: tuple[int, int] | None = field(default=None)
    """Shortest and longest; None to choose by script."""


class TrainedVectors(SubwordVectors):
    """Newly trained vectors, which can be saved as fastText's `.bin`.

    Args:
        words: the vocabulary.
        counts: [words], occurrences of each.
        matrix: [words + BUCKETS, d], input vectors.
        output: [words, d], output vectors, which fastText's file also has.
        settings: of the training.
        ngrams: letters of the shortest and of the longest n-grams.
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: np.ndarray,
        matrix: np.ndarray,
        output: np.ndarray,
        settings: VectorSettings,
        ngrams: tuple[int, int],
    ) -> None:
        super().__init__([word.encode() for word in words], matrix, BUCKETS, *ngrams)
        self.counts, self.output, self.settings = counts, output, settings

    def save(self, path: Path) -> None:
        """Write a file that fastText and `SubwordVectors.open` can read."""
        used = self.settings
        numbers = (used.dim, WINDOW, used.epochs, used.threshold, NEGATIVES, 1, 2, 2)
        shape = (BUCKETS, self.shortest, self.longest, 100)
        words, total = list(self._ids), int(self.counts.sum())
        with atomic(path) as handle:
            handle.write(struct.pack("<2i", MAGIC, 12))
            handle.write(struct.pack("<12i d", *numbers, *shape, SAMPLE))
            handle.write(struct.pack("<3i 2q", len(words), len(words), 0, total, -1))
            for word, count in zip(words, self.counts.tolist(), strict=True):
                handle.write(word + b"\0" + struct.pack("<q b", count, 0))
            for matrix in (self.matrix, self.output):
                handle.write(struct.pack("<b 2q", 0, *matrix.shape))
                handle.write(np.ascontiguousarray(matrix, "<f4").tobytes())


def train_vectors(
    sentences: Sequence[Sequence[str]],
    settings: VectorSettings | None = None,
    show_progress: bool = False,
) -> TrainedVectors:
    """Skip-gram vectors of the words of sentences; deterministic for a seed.

    Every word with at least `threshold` occurrences gets a vector, any other one from its n-grams.
    Uses one thread, since several would train without locks and not be reproducible.

    Args:
        sentences: the words of each.
        settings: of the training; None for the default.
        show_progress: whether the library prints its own progress to stderr.
    """
    settings = settings or VectorSettings()
    floret = import_package("floret")
    if not any(sentences):
        raise PolyglanceError("no words to train vectors on")
    ngrams = settings.ngrams or _ngrams(sentences)
    handle, name = tempfile.mkstemp(suffix=".txt")
    try:
        # The library takes no seed, so the seed shuffles the sentences.
        order = np.random.default_rng(settings.seed).permutation(len(sentences))
        with os.fdopen(handle, "w", encoding="utf-8") as text:
            text.writelines(f"{' '.join(sentences[i])}\n" for i in order if sentences[i])
        found = floret.train_unsupervised(
            name,
            model="skipgram",
            mode="fasttext",
            dim=settings.dim,
            epoch=settings.epochs,
            minCount=settings.threshold,
            minn=ngrams[0],
            maxn=ngrams[1],
            neg=NEGATIVES,
            ws=WINDOW,
            t=SAMPLE,
            lr=RATE,
            bucket=BUCKETS,
            thread=1,
            verbose=2 if show_progress else 0,
        )
    except ValueError as error:
        raise PolyglanceError(f"the vectors cannot be trained: {error}") from None
    finally:
        os.unlink(name)
    words, counts = found.get_words(include_freq=True)
    matrices = found.get_input_matrix(), found.get_output_matrix()
    return TrainedVectors(words, np.asarray(counts), *matrices, settings, ngrams)


def _ngrams(sentences: Sequence[Sequence[str]]) -> tuple[int, int]:
    sample = [word for words in sentences[:1000] for word in words]
    unspaced = sum(map(is_unspaced, sample))
    return UNSPACED if unspaced > len(sample) / 2 else ALPHABETIC
