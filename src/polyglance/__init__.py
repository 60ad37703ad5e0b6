"""Polyglance: find pictures with words, and words with pictures, in every language."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyglance.models import Model

__version__ = "0.1.0"
__all__ = ["Model", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Model":
        from polyglance.models import Model

        return Model
    raise AttributeError(f"module 'polyglance' has no attribute '{name}'")
