"""Optional packages: importing them, and keeping them quiet."""

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from polyglance.errors import PolyglanceError

SAFELY = {"local_files_only": True, "trust_remote_code": False}
"""Arguments with which transformers runs no code from a folder, and does not ask to."""


def import_package(name: str, module: str | None = None) -> Any:
    """Import a package, or a module of it; if that fails, the error says what to install."""
    try:
        return importlib.import_module(module or name)
    except ImportError as error:
        raise PolyglanceError(f"{name}: {error}; run 'pip install {name}'") from None
    except (RuntimeError, OSError, AttributeError) as error:  # compiled for another torch
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolyglanceError(
            f"{name}: cannot be imported ({reason}); install a version of it that matches the "
            "installed torch"
        ) from None


@contextlib.contextmanager
def quiet(logging: Any) -> Iterator[None]:
    """Silence the progress bars and messages of transformers, given its `utils.logging`."""
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        logging.enable_progress_bar()


@contextlib.contextmanager
def offline() -> Iterator[None]:
    """Keep transformers offline, whatever a model's configuration says."""
    constants: Any = importlib.import_module("huggingface_hub.constants")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
