"""Pictures that come with a request become embeddings."""

import base64
import binascii

import numpy as np

from polyglance.runtime import ExportedModel
from polyglance.serve.decoding import Decoder
from polyglance.serve.problems import Problem

LARGEST_BODY = 32_000_000
"""Bytes of a request."""
_HEAD = "data:image/"


class Uploads:
    """Embeds files of requests: `Uploads(model)(data)` is [D]."""

    def __init__(self, model: ExportedModel) -> None:
        self.model = model
        self.decoder = Decoder(model.images.preprocessing)

    def __call__(self, data: bytes) -> np.ndarray:
        """The embedding [D] of a file's bytes."""
        (found,) = self.model.images.embed_pixels(self.decoder(data)[None])
        if found is None:
            raise Problem(422, "the picture cannot be read: the model makes nothing of it")
        return found


def from_base64(text: str) -> bytes:
    """The bytes of a picture as JSON carries it: Base64, or a data URL of an image."""
    if text[: len(_HEAD)].lower() == _HEAD:
        head, _, text = text.partition(",")
        if not head.endswith(";base64"):
            raise Problem(422, "a data URL of a picture must be in Base64")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Problem(422, "a picture must be the Base64 of its file") from None
