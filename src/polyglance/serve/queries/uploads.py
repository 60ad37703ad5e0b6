"""Images in requests, as bytes."""

import base64
import binascii

from polyglance.serve.problems import Problem

LARGEST_BODY = 32_000_000
"""Largest request in bytes."""
_HEAD = "data:image/"


def from_base64(text: str) -> bytes:
    """The bytes of an image in JSON: Base64, or a data URL."""
    if text[: len(_HEAD)].lower() == _HEAD:
        head, _, text = text.partition(",")
        if not head.endswith(";base64"):
            raise Problem(422, "a data URL of an image must be in Base64")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Problem(422, "an image must be the Base64 of its file") from None
