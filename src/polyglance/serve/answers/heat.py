"""Heat maps of matches, for the page to draw."""

import threading

import numpy as np

from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.evaluation.encoder import encode_quietly
from polyglance.gallery import check_query
from polyglance.gallery.exclusion import split_query
from polyglance.runtime.heatmap import heat_map
from polyglance.serve.images.collection import Collection
from polyglance.serve.images.decoding import decoding
from polyglance.serve.problems import Problem
from polyglance.serve.queries.texts import checked
from polyglance.serve.shapes import Heat

DIGITS = 3
_one_at_a_time = threading.Lock()
"""Heat maps computed at a time: they are expensive, and must not delay searches."""


def image_heat(
    collection: Collection, place: int, text: str, like: str | None, language: str | None
) -> Heat:
    """The heat map of an image for a query; for a combined query, the mean over its parts.

    Args:
        collection: that has the image.
        place: of the image.
        text: a sentence; excluded terms are ignored.
        like: the id of another image.
        language: of the sentence.
    """
    model = collection.model
    if model.manifest.preparation is None:
        raise Problem(404, "this model has no image network, so there are no heat maps")
    vectors, path = _vectors(collection, text, like, language), collection.path(place)
    try:
        with (
            _one_at_a_time,
            decoding(path, collection.ids[place], model.images.preprocessing.size) as image,
        ):
            found = np.mean([heat_map(model, image, vector) for vector in vectors], axis=0)
    except ImageProblem:
        raise Problem(404, "the file of this image is gone or cannot be read") from None
    low, high = float(found.min()), float(found.max())
    scaled = (found - low) / max(high - low, 1e-9)
    rows, columns = scaled.shape
    return Heat(rows=rows, columns=columns, cells=np.round(scaled.astype(float), DIGITS).tolist())


def _vectors(
    collection: Collection, text: str, like: str | None, language: str | None
) -> list[np.ndarray]:
    """Embeddings [D] of the query's parts."""
    wanted, _ = split_query(checked(text))
    found = []
    if wanted:
        try:
            check_query(collection.model, wanted, language)
            found.append(np.asarray(encode_quietly(collection.model, [wanted], language))[0])
        except PolyglanceError as error:
            raise Problem(422, str(error)) from None
    if like is not None:
        other = collection.place(like)
        if other is None:
            raise Problem(404, "there is no image with the id that 'like' names")
        found.append(collection.vector(other))
    if not found:
        raise Problem(422, "there is nothing to search for; pass a sentence in 'q', or 'like'")
    return found
