"""Which part of a picture matched, for the page to draw."""

import threading

import numpy as np

from polyglance.data.images.read import reading
from polyglance.errors import ImageProblem, PolyglanceError
from polyglance.evaluation.encoder import encode_quietly
from polyglance.gallery import check_query
from polyglance.runtime.heat import heat_map
from polyglance.serve.images.collection import Collection
from polyglance.serve.problems import Problem
from polyglance.serve.queries.texts import checked, split_query
from polyglance.serve.shapes import Heat

DIGITS = 3
_one_at_a_time = threading.Lock()
"""Maps take the processors for a while, and searches shall not wait for many of them."""


def picture_heat(
    collection: Collection, place: int, text: str, like: str | None, language: str | None
) -> Heat:
    """The map of a picture for a question; of a mixture the mean over its parts.

    Args:
        collection: that has the picture.
        place: of the picture.
        text: a sentence; terms that are not wanted do not count.
        like: the id of another picture.
        language: of the sentence.
    """
    model = collection.model
    if model.manifest.preparation is None:
        raise Problem(404, "this model has no image network to look at parts of pictures with")
    vectors = _vectors(collection, text, like, language)
    try:
        with (
            _one_at_a_time,
            reading(collection.path(place), model.images.preprocessing.size) as image,
        ):
            found = np.mean([heat_map(model, image, vector) for vector in vectors], axis=0)
    except ImageProblem:
        raise Problem(404, "the file of this picture is gone or cannot be read") from None
    low, high = float(found.min()), float(found.max())
    scaled = (found - low) / max(high - low, 1e-9)
    rows, columns = scaled.shape
    return Heat(rows=rows, columns=columns, cells=np.round(scaled.astype(float), DIGITS).tolist())


def _vectors(
    collection: Collection, text: str, like: str | None, language: str | None
) -> list[np.ndarray]:
    """Embeddings [D] of what is asked for."""
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
            raise Problem(404, "there is no picture with the id that 'like' names")
        found.append(collection.vector(other))
    if not found:
        raise Problem(422, "there is nothing to look for; give a sentence in 'q', or 'like'")
    return found
