"""What a model's files may do: be read, and nothing else, unless the user says otherwise.

A model folder may come from anywhere. Without trust it opens no connection, runs no program and
leads to no path outside itself.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from polyglance.errors import PolyglanceError

VARIABLE = "POLYGLANCE_TRUST"
OWN = "onnx:base@"
"""Image networks of the package's own model, whose digest is checked."""
REMEDY = f"if you trust the model, write 'polyglance --trust …' or set {VARIABLE}=1"
_TRUSTING: ContextVar[bool] = ContextVar("trusting", default=False)


def trusted() -> bool:
    """Whether the user allows what model files name outside their folder."""
    return _TRUSTING.get() or os.environ.get(VARIABLE, "") not in ("", "0")


@contextmanager
def trusting(trust: bool = True) -> Iterator[None]:
    """Allow it inside the block; False leaves it as it was."""
    token = _TRUSTING.set(_TRUSTING.get() or trust)
    try:
        yield
    finally:
        _TRUSTING.reset(token)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, its links followed, is in a folder.

    Only a relative path is followed: to look at another may already open a connection, as a
    network share's does on Windows.
    """
    if path.is_absolute():
        return False
    return (folder / path).resolve().is_relative_to(folder.resolve())


def refuse_links(folder: Path) -> None:
    """Raise for a link below a model's folder that leads out of it."""
    if trusted():
        return
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not is_inside(path.relative_to(folder), folder):
            raise PolyglanceError(
                f"{path}: a link out of the model's folder is not followed; replace it with a "
                f"copy of the file or, {REMEDY}"
            )


def refuse_foreign_feature(feature: str, where: str) -> None:
    """Raise for an image network that is downloaded, or read from files outside the model.

    Args:
        feature: of a model's recipe, such as `timm:resnet50@weights.pth/global`.
        where: the file that names it, for the error.
    """
    if ":" in feature and not feature.startswith(OWN) and not trusted():
        raise PolyglanceError(
            f"{where}: the image features are '{feature}', a network that is downloaded or read "
            f"from outside the model's folder; {REMEDY}"
        )
