"""A service over HTTP: images of a library or folder, searched by sentences and images.

    from polyglance.serve import make_app, open_collection

    app = make_app(open_collection("/home/me/Pictures"))

`polyglance serve` runs it, and `Client` queries it. Nothing here imports torch. Names are
imported on first use, so that the process that decodes uploads imports little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyglance.serve.app import make_app
    from polyglance.serve.clients.calls import ServiceError
    from polyglance.serve.clients.client import AsyncClient, Client
    from polyglance.serve.images.collection import Collection, open_collection

_PLACES = {
    "AsyncClient": "clients.client",
    "Client": "clients.client",
    "Collection": "images.collection",
    "ServiceError": "clients.calls",
    "make_app": "app",
    "open_collection": "images.collection",
}

__all__ = [
    "AsyncClient",
    "Client",
    "Collection",
    "ServiceError",
    "make_app",
    "open_collection",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
