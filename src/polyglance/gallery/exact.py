"""Search: every image is compared with every query, or those that a library's index finds."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.core.shipped import BASE, PLACE
from polyglance.data.dataset import GENERATED, Dataset
from polyglance.errors import ArgumentError, PolyglanceError, PolyglanceWarning
from polyglance.gallery.candidates import DIGITS
from polyglance.gallery.consistent import ConsistentQueries, translate_to_all
from polyglance.gallery.exclusion import exclusion_note
from polyglance.gallery.gallery import Gallery
from polyglance.gallery.library import LibraryImages, library_model
from polyglance.gallery.open import Images, open_images
from polyglance.gallery.query import GivenQueries, Query, check_queries, mix, translate_queries
from polyglance.gallery.results import Hit, QueryResult, SearchResults
from polyglance.gallery.scoring import Scorer, Scores, query_vector
from polyglance.gallery.suggestion import IndexScorer, did_you_mean, hardly_known_words
from polyglance.numerics.devices import CPU, Device
from polyglance.numerics.similarity import normalise
from polyglance.runtime import ExportedModel, open_model

if TYPE_CHECKING:
    from polyglance.models import Model

DRAWINGS = (
    "this model was trained on generated drawings only; its results on photos are not "
    "meaningful until you train it on photos"
)
CANDIDATES, MORE, MOST = 500, 10, 16_000
"""Images that a library's index finds at first; the factor by which they exceed the images asked
for, and grow as long as there could be better ones; and the largest number."""
CLOSEST = 3
"""Number of closest images in a result without matches, since the threshold can be wrong."""


def search(
    model: "Model | ExportedModel | str | Path | None",
    images: Images,
    queries: GivenQueries | None = None,
    *,
    like: GivenQueries | None = None,
    without: GivenQueries | None = None,
    everything: bool = False,
    top: int = 10,
    language: str | Sequence[str | None] | None = None,
    translator: str | None = None,
    translate_to: str | None = None,
    consistency: bool = False,
    cache: Path | None = None,
    show_progress: bool | None = None,
    device: Device = CPU,
) -> SearchResults:
    """Search images with sentences in any language the model knows, or with other images.

    The `notes` of the results, on unreadable images and unknown words, are also raised as
    `PolyglanceWarning`. If some queries cannot be answered, their `problem` says why; if none can,
    an error is raised. Identical files share one rank, as the `copies` of a hit.

    Args:
        model: a model, its folder (a run or an exported model), or None for the library's model
            or else the included one.
        images: a folder of images, a library, a dataset or its path, files, or an existing
            `Gallery`.
        queries: one or several sentences, or images as accepted by `Model.encode_images`.
        like: images that results should also be similar to, for every query; without queries,
            they are the query.
        without: sentences or images of what to exclude, for every query.
        everything: also return images below the model's threshold, if it has a background.
        top: number of images per query, best first; ties are ordered by path.
        language: one for all queries, or one per query; None detects it by script.
        translator: translator for the queries, such as "lexicon:FILE".
        translate_to: target language, by default English if the model knows it.
        consistency: query in all languages of the model at once and combine the scores (SMALR's
            CLC): with the weights stored in the run's folder, or else their mean.
        cache: folder for features and translations; the XDG cache by default.
        show_progress: None shows progress in a terminal only.
        device: for a model passed as a folder: auto, cpu, cuda, cuda:N or mps.

    >>> import polyglance
    >>> from PIL import Image
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for colour in ("red", "green", "blue"):
    ...         Image.new("RGB", (64, 64), colour).save(f"{folder}/{colour}.png")
    ...     cache = Path(folder, "cache")
    ...     model, queries = polyglance.load(), ["rot", "a green wall"]
    ...     found = polyglance.search(model, folder, queries, top=1, everything=True, cache=cache)
    >>> [result.hits[0].path.name for result in found]
    ['red.png', 'green.png']
    """
    if top < 1:
        raise PolyglanceError(f"top={top}: must be at least 1")
    if consistency and (like or without):
        raise ArgumentError("`consistency` cannot be combined with `like` or `without`")
    loaded = _model(model, images, device)
    notes: list[str] = []
    joint: ConsistentQueries | None = None
    inputs: GivenQueries = () if queries is None else queries
    if consistency:
        folder = Path(model) if isinstance(model, str | Path) else None
        joint = translate_to_all(loaded, inputs, language, translator, translate_to, cache, folder)
        inputs, notes = joint.queries, joint.notes
    elif translator is not None:
        inputs, language, notes = translate_queries(
            loaded, inputs, language, translator, translate_to, cache
        )
    elif translate_to is not None:
        raise ArgumentError("`translate_to` needs a `translator`")
    only_like = queries is None and like is not None
    checked = [] if only_like else check_queries(loaded, inputs, language, cache)
    if like or without:
        checked = mix(loaded, checked, like, without, cache)
    opened = open_images(loaded, images, cache, show_progress)
    indexed = _indexed(opened, checked, joint is not None, top)
    if indexed is None:
        gallery = opened.gallery() if isinstance(opened, LibraryImages) else opened
    else:
        gallery = indexed.summary()
    parts = dict.fromkeys(part for query in checked for part in query.parts)
    notes += [note for part in parts if (note := part.problem or part.warning)]
    asked = (query.text for query in checked if query.image is None)
    notes += [note for text in asked if (note := exclusion_note(text))]
    if loaded.drawings and not _is_generated(images):
        notes.append(DRAWINGS)
    scorer: Scorer | IndexScorer | None = None
    if indexed is None:
        scores = None if joint is None else joint.scores(loaded, gallery)
        results = find(loaded, gallery, checked, top, scores, cache, everything)
        scorer = Scorer(loaded, gallery)
    else:
        assert isinstance(loaded, ExportedModel)
        results = [_found(loaded, indexed, query, top, cache, everything) for query in checked]
        if loaded.background is not None:  # without one, scores of few images are not comparable
            scorer = IndexScorer(loaded, indexed)
    notes += [note for result in results if (note := result.unknown_note)]
    notes += [] if scorer is None else did_you_mean(loaded, scorer, results)
    unreadable = () if gallery is images else gallery.unreadable  # reported when it was made
    for message in [*notes, *(f"{path}: skipped, {why}" for path, why in unreadable)]:
        warnings.warn(message, PolyglanceWarning, stacklevel=2)
    named = _default_name(loaded) if model is None else model
    places = [str(x) if isinstance(x, str | Path) else None for x in (named, images)]
    return SearchResults(results, gallery, notes, *places)


def _default_name(model: "Model | ExportedModel") -> str | None:
    """The name of the included model, or the folder of another one that was not asked for."""
    folder = getattr(model, "folder", None)
    if folder is None:
        return None
    return BASE if Path(folder).resolve() == PLACE.resolve() else str(folder)


def _model(
    model: "Model | ExportedModel | str | Path | None",
    images: Images,
    device: Device,
) -> "Model | ExportedModel":
    """The specified model, else that of the images' library, else the included one."""
    own = None
    if model is None and isinstance(images, str | Path):
        own = library_model(images)
    return own or load_model(model, device)


def _is_generated(images: Images) -> bool:
    """Whether the images searched are drawings, judging by their path."""
    if isinstance(images, Dataset):
        return images.drawings
    if not isinstance(images, str | Path):
        return False
    folder = Path(images)
    marked = any((place / GENERATED).is_file() for place in (folder, folder.parent))
    return marked or str(images).partition(":")[0] == "generated"


def find(
    model: "Model | ExportedModel",
    gallery: Gallery,
    queries: Sequence[Query],
    top: int,
    scores: np.ndarray | None = None,
    cache: Path | None = None,
    everything: bool = True,
) -> list[QueryResult]:
    """The best images of a gallery for each query.

    Args:
        model: encodes the queries.
        gallery: images that it encoded.
        queries: sentences and images, checked.
        top: images per query; identical ones count once.
        scores: [N, Q] of the gallery's images and the queries; None computes them.
        cache: folder for features of images in queries.
        everything: include images below the model's threshold.
    """
    places, scorer = gallery.places(), Scorer(model, gallery, cache)
    found = []
    for number, query in enumerate(queries):
        if query.problem is not None:
            found.append(QueryResult(query, []))
            continue
        if scores is None:
            own = scorer(query)
        else:
            own = Scores(scores[:, number], kind=model.similarity_name)
        found.append(_result(model, gallery, places, query, own, top, everything))
    return found


def _result(
    model: "Model | ExportedModel",
    gallery: Gallery,
    places: Sequence[Sequence[int]],
    query: Query,
    scores: Scores,
    top: int,
    everything: bool,
) -> QueryResult:
    """The best images for a query by their scores; `places` are groups of identical files."""
    ranked = _without_queries(gallery, places, query)
    shown, hidden = ranked, None
    if scores.fits is not None and not everything:
        shown = [rows for rows in ranked if scores.fits[rows[0]]]
        hidden = len(ranked) - len(shown)
    closest = [] if shown else _hits(gallery, ranked, scores, min(top, CLOSEST))
    hits = _hits(gallery, shown, scores, top)
    return QueryResult(
        query,
        hits,
        hidden,
        tuple(closest),
        scores.kind,
        scores.cutoff,
        scores.known,
        () if scores.cutoff is None else hardly_known_words(model, query, scores.known),
        None if hidden is None else len(shown),
    )


def _indexed(
    opened: Gallery | LibraryImages, queries: Sequence[Query], consistency: bool, top: int
) -> LibraryImages | None:
    """The library whose index is to be searched; None if all embeddings are to be compared.

    For a combined query, the best images need not be among the closest to any of its parts.
    """
    if not isinstance(opened, LibraryImages) or not opened.has_index:
        return None
    compared = consistency or top > MOST // 4 or any(query.mixed for query in queries)
    return None if compared else opened


def _found(
    model: "ExportedModel",
    images: LibraryImages,
    query: Query,
    top: int,
    cache: Path | None,
    everything: bool,
) -> QueryResult:
    """The best images for a query, of those that a library's index finds.

    The index finds the closest images, but a calibrated score also depends on the image, so more
    are scored than are asked for: until no other image could be among the best, unless it differs
    from all candidates in how similar it is to the background's sentences.

    Args:
        model: encodes the query.
        images: of the library.
        query: a sentence or image, checked, not combined with others.
        top: number of images.
        cache: folder for features of images in queries.
        everything: include images below the model's threshold.
    """
    if query.problem is not None:
        return QueryResult(query, [])
    vector = query_vector(model, query, cache)[0]
    known = query if query.image is not None else replace(query, vector=vector)
    count = max(CANDIDATES, MORE * top)
    while True:
        gallery = images.candidates(vector, count)
        scorer = Scorer(model, gallery, cache)
        result = _result(model, gallery, gallery.places(), query, scorer(known), top, everything)
        if len(gallery) < count or count == MOST:
            break
        least = float((gallery.embeddings @ normalise(vector[None])[0]).min())
        if _is_complete(result, scorer.reachable(known, least), top, everything):
            break
        count = min(MOST, MORE * count)
    return replace(result, hidden=None, matches=None)


def _is_complete(result: QueryResult, reachable: float, top: int, everything: bool) -> bool:
    """Whether images of at most this score would not change a result."""
    cutoff = None if everything or result.cutoff is None else result.cutoff.least
    if result.hits and cutoff is not None and reachable < cutoff:
        return True  # it would not match
    hits, wanted = (result.hits, top) if result.hits else (result.closest, min(top, CLOSEST))
    return len(hits) == wanted and hits[-1].score > reachable


def _without_queries(
    gallery: Gallery, places: Sequence[Sequence[int]], query: Query
) -> Sequence[Sequence[int]]:
    """The images other than the files of the query themselves; copies of these are kept."""
    files = [one.file for one in (query, *query.like) if one.file is not None]
    if not files:
        return places
    names, own = {file.name for file in files}, {file.resolve() for file in files}

    def asked(row: int) -> bool:
        path = Path(gallery.paths[row])
        return path.name in names and path.resolve() in own

    others = ([row for row in rows if not asked(row)] for rows in places)
    return [rows for rows in others if rows]


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


def load_model(
    model: "Model | ExportedModel | str | Path | None", device: Device = CPU
) -> "Model | ExportedModel":
    """A model itself, that of a folder on a device, or the included one."""
    return open_model(model, device=device) if isinstance(model, str | Path | None) else model


def _hits(gallery: Gallery, places: Sequence[Sequence[int]], scores: Scores, top: int) -> list[Hit]:
    """The best groups of identical files, each as its first file and the copies."""
    if not places:
        return []
    firsts = [rows[0] for rows in places]
    values, similarity = scores.values[firsts], scores.similarity
    found = []
    for rank, place in enumerate(best_first(values, top), 1):
        path, *copies = (gallery.paths[row] for row in places[place])
        said = None if similarity is None else round(float(similarity[firsts[place]]), DIGITS)
        score, second = round(float(values[place]), DIGITS), gallery.seconds.get(firsts[place])
        found.append(Hit(path, score, rank, tuple(copies), said, second))
    return found
