"""Pictures that come with a request: bounded before anything is decoded."""

import base64
import binascii
import io
from pathlib import Path

import numpy as np

from polyglance.data.images import open_image
from polyglance.errors import ImageProblem
from polyglance.runtime import ExportedModel
from polyglance.serve.problems import Problem

LARGEST_BODY = 32_000_000
"""Bytes of a request."""
MAX_PIXELS = 50_000_000
"""Of an uploaded picture; those of the owner may have more (`data.images`)."""
_NAME = Path("the picture")
_HEAD = "data:image/"


def embed_picture(model: ExportedModel, data: bytes) -> np.ndarray:
    """The embedding [D] of an uploaded file's bytes."""
    try:
        with open_image(_NAME, io.BytesIO(data)) as image:
            width, height = image.size
        if width * height > MAX_PIXELS:
            raise Problem(
                413, f"the picture has {width}×{height} pixels, and {MAX_PIXELS:,} are the most"
            )
        return model.encode_images(data, show_progress=False)[0]
    except ImageProblem as problem:
        raise Problem(422, f"the picture cannot be read: {problem.reason}") from None
    except (OSError, ValueError, SyntaxError, EOFError):  # what Pillow says of damaged heads
        raise Problem(422, "the picture cannot be read: broken image") from None


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
