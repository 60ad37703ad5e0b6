"""Embeddings of texts and images, for other programs."""

import base64

import numpy as np

from polyglance.core.languages import known_language
from polyglance.errors import PolyglanceError
from polyglance.numerics.similarity import normalise
from polyglance.runtime import ExportedModel
from polyglance.serve.encoding.engine import Engine
from polyglance.serve.problems import Problem
from polyglance.serve.queries.texts import checked
from polyglance.serve.queries.uploads import from_base64
from polyglance.serve.shapes import (
    Embedding,
    EmbeddingRequest,
    Embeddings,
    ModelEntry,
    ModelList,
    Usage,
)

LONGEST = 8000
"""Largest number of characters of a text."""
MAX_IMAGES = 32
"""Largest numbers per request."""
NAME = "polyglance"
"""By which requests may call the model, whatever it is."""


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
    if request.model is not None:
        model_entry(model, request.model)
    if request.dimensions is None or request.dimensions == model.dim:
        return
    if request.dimensions > model.dim:
        raise Problem(
            422, f"embeddings of this model have {model.dim} dimensions, which is the most"
        )
    if model.similarity_name != "cosine":
        raise Problem(
            422,
            f"embeddings of this model cannot be shortened; leave out 'dimensions' ({model.dim})",
        )


def model_list(model: ExportedModel) -> ModelList:
    """The names of the model."""
    return ModelList(data=[ModelEntry(id=name) for name in (NAME, model.id)])


def model_entry(model: ExportedModel, name: str) -> ModelEntry:
    """The model with a name; any other name is a problem."""
    if name not in (NAME, *model.ids):
        raise Problem(404, f"the model here is '{NAME}'; leave out 'model', or use that")
    return ModelEntry(id=name)


def _shortened(vectors: np.ndarray, dimensions: int | None) -> np.ndarray:
    """The first dimensions of vectors [n, D], of length one again."""
    if dimensions is None or dimensions >= vectors.shape[1]:
        return vectors
    return normalise(vectors[:, :dimensions])


def _answer(
    model: ExportedModel, request: EmbeddingRequest, found: np.ndarray, words: int
) -> Embeddings:
    kept = _shortened(found, request.dimensions)
    rows = [_written(row, request.encoding_format == "base64") for row in kept]
    data = [Embedding(index=index, embedding=row) for index, row in enumerate(rows)]
    return Embeddings(
        data=data, model=model.id, usage=Usage(prompt_tokens=words, total_tokens=words)
    )


def _written(row: np.ndarray, encoded: bool) -> list[float] | str:
    if encoded:
        return base64.b64encode(row.astype("<f4").tobytes()).decode()
    return [float(value) for value in row]
