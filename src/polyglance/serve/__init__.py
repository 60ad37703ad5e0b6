"""A service over HTTP: images of a library or folder, searched by sentences and images.

    from polyglance.serve import make_app, open_collection

    app = make_app(open_collection("/home/me/Pictures"))

`polyglance serve` runs it. Nothing here imports torch.
"""

from polyglance.serve.app import make_app
from polyglance.serve.collection import Collection, open_collection
from polyglance.serve.run import run

__all__ = ["Collection", "make_app", "open_collection", "run"]
