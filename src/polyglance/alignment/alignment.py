"""A linear map from one language's word vectors to another's: fit, evaluate, apply, save."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.alignment.neighbours import mean_similarity
from polyglance.alignment.options import DEFAULTS, AlignmentOptions
from polyglance.alignment.procrustes import check_pairs, procrustes
from polyglance.alignment.rcsls import RcslsStep, rcsls
from polyglance.alignment.retrieval import (
    Precision,
    group_gold,
    precision,
    translation_ranks,
)
from polyglance.core.progress import Bar
from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic, has_file
from polyglance.text.vectors.word_vectors import (
    WordVectors,
    mean_row,
    normalise_rows,
    prepare_vectors,
)

_PURPOSE = "polyglance word alignment"


@dataclass(frozen=True)
class Alignment:
    """`matrix` M [d, d] maps a prepared source vector x to Mx.

    Preparation normalises a vector and, if there are means [d], centres it and normalises again.
    """

    matrix: np.ndarray
    source_mean: np.ndarray | None = None
    target_mean: np.ndarray | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def source(self, matrix: np.ndarray) -> np.ndarray:
        """Prepare raw source vectors [n, d]."""
        return prepare_vectors(matrix, self.source_mean)

    def target(self, matrix: np.ndarray) -> np.ndarray:
        """Prepare raw target vectors [n, d], for comparison with mapped source vectors."""
        return prepare_vectors(matrix, self.target_mean)

    def apply(self, matrix: np.ndarray, unit: bool = True) -> np.ndarray:
        """Map raw source vectors [n, d] into the target's space, normalised if `unit`."""
        mapped = self.source(matrix) @ self.matrix.T
        return normalise_rows(mapped) if unit else mapped

    def save(self, path: Path) -> None:
        """Write a safetensors file with the facts as metadata, atomically."""
        from safetensors.numpy import save

        named = {"matrix": self.matrix, "source_mean": self.source_mean}
        named["target_mean"] = self.target_mean
        tensors = {k: np.ascontiguousarray(v) for k, v in named.items() if v is not None}
        facts = {key: json.dumps(value, ensure_ascii=False) for key, value in self.facts.items()}
        with atomic(path) as handle:
            handle.write(save(tensors, {"purpose": _PURPOSE, **facts}))

    @classmethod
    def load(cls, path: Path) -> "Alignment":
        """Read a file written by `save`."""
        from safetensors import SafetensorError, safe_open

        if not has_file(path):
            raise PolyglanceError(f"{path}: no such file")
        try:
            with safe_open(path, "numpy") as handle:
                tensors = {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118
                metadata = dict(handle.metadata() or {})
        except SafetensorError as error:
            raise PolyglanceError(f"{path}: not a safetensors file ({error})") from None
        if metadata.pop("purpose", None) != _PURPOSE or "matrix" not in tensors:
            raise PolyglanceError(f"{path}: not written by 'polyglance align'")
        facts = {key: json.loads(value) for key, value in metadata.items()}
        means = tensors.get("source_mean"), tensors.get("target_mean")
        return cls(tensors["matrix"], *means, facts)


def align(
    source: WordVectors,
    target: WordVectors,
    rows: np.ndarray,
    options: AlignmentOptions = DEFAULTS,
    on_step: Callable[[RcslsStep], None] | None = None,
) -> tuple[Alignment, list[RcslsStep]]:
    """Fit a map on pairs of rows: Procrustes, and for `rcsls` gradient descent starting from it.

    Args:
        source: vectors to map, most frequent words first.
        target: vectors to map them onto.
        rows: word pairs [p, 2], a row of `source` and one of `target` each.
        options: the method, and its settings.
        on_step: called with every step of RCSLS.

    Returns:
        The map, and the steps of RCSLS, none for `svd`.
    """
    check_pairs(source.matrix[rows[:, 0]], target.matrix[rows[:, 1]])
    both = (source, target)
    means = [mean_row(normalise_rows(v.matrix)) if options.centre else None for v in both]
    from_pool = prepare_vectors(source.matrix, means[0])
    to_pool = prepare_vectors(target.matrix, means[1])
    pairs = from_pool[rows[:, 0]], to_pool[rows[:, 1]]
    matrix, steps = procrustes(*pairs), list[RcslsStep]()
    if options.method == "rcsls":
        work = 2 * len(rows) * (options.iterations + 1)
        with Bar("rcsls", work, "rows", options.show_progress) as bar:

            def noted(step: RcslsStep) -> None:
                bar.advance(0, note=f"iteration {step.iteration}, f {step.objective:.4f}")
                if on_step is not None:
                    on_step(step)

            near = from_pool[: options.neighbours], to_pool[: options.neighbours]
            matrix, steps = rcsls(*pairs, *near, matrix, options, bar.advance, noted)
    return Alignment(matrix, means[0], means[1]), steps


def evaluate_alignment(
    alignment: Alignment,
    source: WordVectors,
    target: WordVectors,
    rows: np.ndarray,
    options: AlignmentOptions = DEFAULTS,
) -> dict[str, Precision]:
    """Precision of word translation on held-out pairs, by `nn` and by `csls`.

    The candidates are all target words.

    Args:
        alignment: the map from `source` to `target`.
        source: vectors of the words to translate.
        target: vectors of the candidates.
        rows: held-out word pairs [p, 2].
        options: the neighbours of CSLS, which are source words for its hubness correction.
    """
    words, gold = group_gold(rows[:, 0], rows[:, 1])
    targets = alignment.target(target.matrix)
    queries = alignment.apply(source.matrix[words])
    nearest = precision(translation_ranks(queries, targets, gold))
    pool = alignment.apply(source.matrix[: options.neighbours])
    with Bar("csls", len(targets), "words", options.show_progress) as bar:
        hubness = mean_similarity(targets, pool, options.k, bar.advance)
    return {"nn": nearest, "csls": precision(translation_ranks(queries, targets, gold, hubness))}
