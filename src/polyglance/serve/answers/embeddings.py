"""Embeddings of texts and images, for other programs."""

import base64

import numpy as np

from polyglance.core.languages import known_language
from polyglance.errors import PolyglanceError
from polyglance.runtime import ExportedModel
from polyglance.serve.encoding.engine import Engine
from polyglance.serve.problems import Problem
from polyglance.serve.queries.texts import checked
from polyglance.serve.queries.uploads import from_base64
from polyglance.serve.shapes import Embedding, EmbeddingRequest, Embeddings, Usage

LONGEST = 8000
"""Largest number of characters of a text."""
MAX_IMAGES = 32
"""Largest numbers per request."""
_NAME = "polyglance"


def embed_texts(engine: Engine, request: EmbeddingRequest) -> Embeddings:
    """Embeddings of a request's texts."""
    model = engine.model
    _check(model, request)
    texts = [checked(text, LONGEST) for text in request.inputs]
    language = request.language
    if language is not None:
        try:
            language = known_language(language, model.languages, model.embedder.reads_all)
        except PolyglanceError as error:
            raise Problem(422, str(error)) from None
    try:
        found = engine.texts(texts, language)
    except PolyglanceError as error:
        raise Problem(422, str(error)) from None
    read = model.embedder.read(texts, language)
    return _answer(model, request, found, sum(len(words) for words, _ in read))


def embed_images(engine: Engine, request: EmbeddingRequest) -> Embeddings:
    """Embeddings of a request's images."""
    model = engine.model
    _check(model, request)
    if len(request.inputs) > MAX_IMAGES:
        raise Problem(422, f"a request may have at most {MAX_IMAGES} images")
    found = engine.images([from_base64(text) for text in request.inputs])
    return _answer(model, request, found, 0)


def _check(model: ExportedModel, request: EmbeddingRequest) -> None:
    if request.model not in (None, _NAME, *model.ids):
        raise Problem(404, f"the model here is '{_NAME}'; leave out 'model', or use that")
    if request.dimensions not in (None, model.dim):
        raise Problem(422, f"embeddings of this model have {model.dim} dimensions")


def _answer(
    model: ExportedModel, request: EmbeddingRequest, found: np.ndarray, words: int
) -> Embeddings:
    rows = [_written(row, request.encoding_format == "base64") for row in found]
    data = [Embedding(index=index, embedding=row) for index, row in enumerate(rows)]
    return Embeddings(
        data=data, model=model.id, usage=Usage(prompt_tokens=words, total_tokens=words)
    )


def _written(row: np.ndarray, encoded: bool) -> list[float] | str:
    if encoded:
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    return [float(value) for value in row]
