"""LlamaIndex's multimodal embedding class."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.adapters.common import opened, vectors
from polyglance.core.packages import import_package

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel


def llama_embedding(model: "Model | ExportedModel | str | Path | None" = None) -> Any:
    """A LlamaIndex `MultiModalEmbedding`; needs the package `llama-index-core`.

    The class is created here because its base class is imported from that package.
    """
    name = "llama_index.core.embeddings.multi_modal_base"
    base = import_package("llama-index-core", name).MultiModalEmbedding
    own = opened(model)

    class PolyglanceEmbedding(base):  # type: ignore[misc,valid-type]
        """Embeddings of texts and image files."""

        def _get_query_embedding(self, query: str) -> list[float]:
            return vectors(own, [query])[0].tolist()

        def _get_text_embedding(self, text: str) -> list[float]:
            return vectors(own, [text])[0].tolist()

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return vectors(own, texts).tolist()

        def _get_image_embedding(self, img_file_path: Any) -> list[float]:
            return np.asarray(own.encode_images(img_file_path, show_progress=False))[0].tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        async def _aget_image_embedding(self, img_file_path: Any) -> list[float]:
            return self._get_image_embedding(img_file_path)

    return PolyglanceEmbedding(model_name=f"polyglance-{own.recipe.name}")
