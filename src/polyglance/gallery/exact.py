"""Exact search: every image is compared with every query."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.data.dataset import GENERATED, Dataset
from polyglance.errors import PolyglanceError, PolyglanceWarning, needed_by
from polyglance.gallery.consistent import ConsistentQueries, ask_consistently
from polyglance.gallery.gallery import Gallery, Images, open_gallery
from polyglance.gallery.query import GivenQueries, Query, check_queries, translate_queries
from polyglance.gallery.results import Hit, QueryResult, SearchResults
from polyglance.similarity import dot, normalise

if TYPE_CHECKING:
    from polyglance.models import Model

DRAWINGS = (
    "this model was trained on generated drawings and has seen no photograph; what it finds among "
    "photographs means little until it is trained on some"
)
DIGITS = 6
"""Scores are compared to this many decimals: duplicates of an image differ in the last bits,
depending on where in a batch they were, and shall be ties."""


def search(
    model: "Model | str | Path",
    images: Images,
    queries: GivenQueries,
    *,
    top: int = 10,
    language: str | Sequence[str | None] | None = None,
    translator: str | None = None,
    translate_to: str | None = None,
    consistency: bool = False,
    cache: Path | None = None,
    show_progress: bool | None = None,
) -> SearchResults:
    """Rank images for sentences in any language the model knows, or for other images.

    `search("runs/nce", "holiday", "a red house", top=3)[0].hits[0].path`. What the results'
    `notes` say, unreadable images and unknown words, is also a `PolyglanceWarning`. If some
    queries cannot be answered, their `problem` says why and the others are; if none can, it is an
    error. Identical files share one place, as the `copies` of a hit.

    Args:
        model: a `Model`, or the folder of a run.
        images: a folder of images, a dataset or its place, files, or a `Gallery` made before.
        queries: one or several: sentences, or images as `Model.encode_images` takes them.
        top: images for each query, best first; ties are in the order of the paths.
        language: one for all queries, or one for each; None lets the script decide.
        translator: translates the queries first, such as "lexicon:FILE".
        translate_to: to this language, by default English if the model knows it.
        consistency: whether to ask in all languages of the model at once and join their scores
            (SMALR's CLC): by the weights kept in the run's folder, else by their mean.
        cache: folder for features and translations; the XDG cache by default.
        show_progress: None shows progress on a terminal only.
    """
    if top < 1:
        raise PolyglanceError(f"cannot show the top {top} images; ask for at least 1")
    loaded = load_model(model)
    notes: list[str] = []
    joint: ConsistentQueries | None = None
    if consistency:
        folder = Path(model) if isinstance(model, str | Path) else None
        joint = ask_consistently(loaded, queries, language, translator, translate_to, cache, folder)
        queries, notes = joint.queries, joint.notes
    elif translator is not None:
        queries, language, notes = translate_queries(
            loaded, queries, language, translator, translate_to, cache
        )
    elif translate_to is not None:
        raise PolyglanceError("--translate-to needs a --translator")
    checked = check_queries(loaded, queries, language, cache)
    gallery = open_gallery(loaded, images, cache, show_progress)
    notes += [note for query in checked if (note := query.problem or query.warning)]
    if loaded.drawings and not _is_generated(images):
        notes.append(DRAWINGS)
    unreadable = () if gallery is images else gallery.unreadable  # reported when it was made
    for message in [*notes, *(f"{path}: skipped, {why}" for path, why in unreadable)]:
        warnings.warn(message, PolyglanceWarning, stacklevel=2)
    places = [str(x) if isinstance(x, str | Path) else None for x in (model, images)]
    scores = None if joint is None else joint.scores(loaded, gallery)
    results = find(loaded, gallery, checked, top, scores, cache)
    return SearchResults(results, gallery, notes, *places)


def _is_generated(images: Images) -> bool:
    """Whether images that are searched are drawings, as far as their place tells."""
    if isinstance(images, Dataset):
        return images.drawings
    if not isinstance(images, str | Path):
        return False
    folder = Path(images)
    marked = any((place / GENERATED).is_file() for place in (folder, folder.parent))
    return marked or str(images).partition(":")[0] == "generated"


def find(
    model: "Model",
    gallery: Gallery,
    queries: Sequence[Query],
    top: int,
    scores: np.ndarray | None = None,
    cache: Path | None = None,
) -> list[QueryResult]:
    """The best images of a gallery for each query.

    Args:
        model: encodes the queries.
        gallery: images that it encoded.
        queries: sentences and images, checked.
        top: images of each query; identical ones count once.
        scores: [N, Q] of the gallery's images and the queries; None computes them.
        cache: where features of images in queries are kept.
    """
    places = gallery.places()
    found = []
    for number, query in enumerate(queries):
        if query.problem is not None:
            found.append(QueryResult(query, []))
            continue
        values = scores[:, number] if scores is not None else _scores(model, gallery, query, cache)
        found.append(QueryResult(query, _hits(gallery, places, values, top)))
    return found


def _scores(model: "Model", gallery: Gallery, query: Query, cache: Path | None) -> np.ndarray:
    """Scores [N] of a gallery's images for a query; images are compared by their cosine."""
    if query.image is not None:
        other = model.encode_images(query.image, cache, show_progress=False)
        return dot(normalise(gallery.embeddings), normalise(other))[:, 0]
    from polyglance.evaluation.encoder import encode_quietly

    text = encode_quietly(model, [query.text], query.language)
    return model.similarity(gallery.embeddings, text)[:, 0]


def best_first(values: np.ndarray, top: int) -> np.ndarray:
    """Indices of the `top` largest of `values` [n], largest first, ties by index.

    >>> best_first(np.array([0.5, 0.9, 0.5, 0.1]), 2).tolist()
    [1, 0]
    """
    rounded = np.round(values.astype(np.float64), DIGITS)
    top = min(top, len(rounded))
    least = np.partition(rounded, -top)[-top]
    candidates = np.flatnonzero(rounded >= least)
    order = np.argsort(-rounded[candidates], kind="stable")
    return candidates[order[:top]]


def load_model(model: "Model | str | Path") -> "Model":
    """A model, or that of a run's folder."""
    if not isinstance(model, str | Path):
        return model
    with needed_by("a search"):
        from polyglance.models import Model

    return Model.load(model)


def _hits(
    gallery: Gallery, places: Sequence[Sequence[int]], values: np.ndarray, top: int
) -> list[Hit]:
    """The best places, each with the first of its files and the copies."""
    firsts = values[[rows[0] for rows in places]]
    found = []
    for rank, place in enumerate(best_first(firsts, top), 1):
        path, *copies = (gallery.paths[row] for row in places[place])
        found.append(Hit(path, round(float(firsts[place]), DIGITS), rank, tuple(copies)))
    return found
