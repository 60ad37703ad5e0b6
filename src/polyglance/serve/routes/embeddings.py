"""Routes for embeddings, for other programs."""

from typing import Annotated

from fastapi import FastAPI, Path
from starlette.concurrency import run_in_threadpool

from polyglance.serve.answers.embeddings import embed_images, embed_texts, model_entry, model_list
from polyglance.serve.encoding.engine import TEXTS
from polyglance.serve.service import Service
from polyglance.serve.shapes import EmbeddingRequest, Embeddings, ModelEntry, ModelList

Name = Annotated[str, Path(max_length=100, description="'polyglance', or the model's id")]


def add_embeddings(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: to add them to.
        service: whose model encodes.
    """

    @app.get("/v1/models")
    def models() -> ModelList:
        """The names of the model, compatible with OpenAI's API."""
        return model_list(service.now.engine.model)

    @app.get("/v1/models/{name}")
    def model(name: Name) -> ModelEntry:
        """Whether the model has a name."""
        return model_entry(service.now.engine.model, name)

    @app.post("/v1/embeddings")
    async def embeddings(body: EmbeddingRequest) -> Embeddings:
        """Embeddings of texts, compatible with OpenAI's API."""
        engine = service.now.engine
        if len(body.inputs) <= TEXTS:
            return await run_in_threadpool(embed_texts, engine, body)
        size = sum(map(len, body.inputs))
        return await service.texts.run(size, embed_texts, engine, body)

    @app.post("/v1/embeddings/images")
    async def embeddings_of_images(body: EmbeddingRequest) -> Embeddings:
        """Embeddings of images: each input is a file in Base64, or a data URL."""
        size = sum(map(len, body.inputs))
        return await service.batches.run(size, embed_images, service.now.engine, body)
