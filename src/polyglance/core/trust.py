"""What a model folder may refer to.

A model may come from anywhere. Unless the user trusts it, it opens no connection, runs no code
and reads no file outside its folder.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from polyglance.errors import PolyglanceError

VARIABLE = "POLYGLANCE_TRUST"
OWN = "onnx:base@"
"""Prefix of the included model's image network, whose digest is checked."""
REMEDY = f"if you trust the model, write 'polyglance --trust …' or set {VARIABLE}=1"
_TRUSTING: ContextVar[bool] = ContextVar("trusting", default=False)


def trusted() -> bool:
    """Whether the user allows models to refer to anything outside their folder."""
    return _TRUSTING.get() or os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def trusting(trust: bool = True) -> Iterator[None]:
    """Allow it within the block; False changes nothing."""
    token = _TRUSTING.set(_TRUSTING.get() or trust)
    try:
        yield
    finally:
        _TRUSTING.reset(token)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, with links resolved, is in a folder.

    Absolute paths are not resolved: on Windows, resolving a network share opens a connection.
    """
    if path.is_absolute():
        return False
    return (folder / path).resolve().is_relative_to(folder.resolve())


def refuse_links(folder: Path) -> None:
    """Raise an error for a link that leads out of a model's folder."""
    if trusted():
        return
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not is_inside(path.relative_to(folder), folder):
            raise PolyglanceError(
                f"{path}: a link out of the model's folder is not followed; replace it with a "
                f"copy of the file or, {REMEDY}"
            )


def refuse_foreign_feature(feature: str, where: str) -> None:
    """Raise an error for an image network that is downloaded or read from outside the model.

    Args:
        feature: from a model's recipe, such as `timm:resnet50@weights.pth/global`.
        where: the file that contains it, for the error.
    """
    if ":" in feature and not feature.startswith(OWN) and not trusted():
        raise PolyglanceError(
            f"{where}: the image features are '{feature}', a network that is downloaded or read "
            f"from outside the model's folder; {REMEDY}"
        )
