"""Ranks the captions of a request for an image."""

import numpy as np

from polyglance.core.languages import known_language
from polyglance.errors import PolyglanceError
from polyglance.gallery.candidates import DIGITS
from polyglance.gallery.exact import best_first
from polyglance.runtime import ExportedModel
from polyglance.serve.encoding.engine import Served
from polyglance.serve.problems import Problem
from polyglance.serve.queries.texts import checked
from polyglance.serve.queries.uploads import from_base64
from polyglance.serve.shapes import CaptionHit, CaptionRequest, Captions

LONGEST = 2000
"""Largest number of characters of a caption."""


def best_captions(served: Served, request: CaptionRequest) -> Captions:
    """The captions of a request's list, best first."""
    model, language = served.collection.model, request.language
    if language is not None:
        try:
            language = known_language(language, model.languages, model.embedder.reads_all)
        except PolyglanceError as error:
            raise Problem(422, str(error)) from None
    image = _image_vector(served, request)
    texts = list(dict.fromkeys(checked(text, LONGEST) for text in request.captions))
    read = model.embedder.read(texts, language)
    known = [
        text
        for text, (words, unknown) in zip(texts, read, strict=True)
        if len(unknown) < len(words)
    ]
    if not known:
        raise Problem(422, "the model knows no word of any of the captions")
    try:
        vectors = served.engine.texts(known, language)
    except PolyglanceError as error:
        raise Problem(422, str(error)) from None
    values, calibrated = _scores(model, image, vectors)
    left_out = len(texts) - len(known)
    return Captions(
        captions=[
            CaptionHit(
                text=known[one],
                score=round(float(values[one]), DIGITS),
                fits=bool(values[one] >= calibrated) if calibrated is not None else None,
            )
            for one in best_first(values, request.limit)
        ],
        notes=_notes(left_out),
    )


def _notes(left_out: int) -> list[str]:
    if not left_out:
        return []
    count = "1 caption" if left_out == 1 else f"{left_out} captions"
    return [f"left out {count} without a word that the model knows"]


def _image_vector(served: Served, request: CaptionRequest) -> np.ndarray:
    """The embedding [D] of the request's image."""
    if (request.id is None) == (request.image is None):
        raise Problem(422, "pass one image: either 'id', or 'image' with a file in Base64")
    if request.image is not None:
        return served.engine.image(from_base64(request.image))
    place = served.collection.place(str(request.id))
    if place is None:
        raise Problem(404, "there is no image with this id")
    return served.collection.vector(place)


def _scores(
    model: ExportedModel, image: np.ndarray, texts: np.ndarray
) -> tuple[np.ndarray, float | None]:
    """Scores [m] of captions, and the threshold of a match; calibrated as in a search."""
    if model.background is None:
        return model.similarity(image[None], texts)[0], None
    return model.background.calibrated(image[None], texts)[0], model.background.cutoff
