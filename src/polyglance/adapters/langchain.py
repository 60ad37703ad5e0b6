"""LangChain's `Embeddings`, with the `embed_image` of its multimodal integrations.

LangChain takes any object with these methods; it need not be installed here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyglance.adapters.common import opened, vectors

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel

try:
    from langchain_core.embeddings import Embeddings
except ImportError:  # duck typing is enough
    Embeddings = object


class PolyglanceEmbeddings(Embeddings):
    """Embeddings of texts and image files for a LangChain vector store."""

    def __init__(self, model: "Model | ExportedModel | str | Path | None" = None) -> None:
        self.model = opened(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        return vectors(self.model, texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text."""
        return vectors(self.model, [text])[0].tolist()

    def embed_image(self, uris: Sequence[str | Path]) -> list[list[float]]:
        """A vector for each image file."""
        return np.asarray(self.model.encode_images(list(uris), show_progress=False)).tolist()

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents` in a thread."""
        from asyncio import to_thread

        return await to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, likewise."""
        from asyncio import to_thread

        return await to_thread(self.embed_query, text)
