"""Routes for embeddings, for other programs."""

from fastapi import FastAPI

from polyglance.serve.answers.embeddings import embed_images, embed_texts
from polyglance.serve.service import Service
from polyglance.serve.shapes import EmbeddingRequest, Embeddings


def add_embeddings(app: FastAPI, service: Service) -> None:
    """Add the routes.

    Args:
        app: to add them to.
        service: whose model encodes.
    """

    @app.post("/v1/embeddings")
    def embeddings(body: EmbeddingRequest) -> Embeddings:
        """Embeddings of texts, compatible with OpenAI's API."""
        return embed_texts(service.now.engine, body)

    @app.post("/v1/embeddings/images")
    async def embeddings_of_images(body: EmbeddingRequest) -> Embeddings:
        """Embeddings of images: each input is a file in Base64, or a data URL."""
        size = sum(map(len, body.inputs))
        return await service.batches.run(size, embed_images, service.now.engine, body)
