"""A generated picture world with captions in ten languages: for tests and for learning the tool.

A scene (`scenes`) is drawn by lot, rendered (`drawing`), and described: `messages` says what is
told of it, `realise` with `languages` how. It never stands in for results on real photographs.
"""

from polyglance.data.generated.store import VERSION, load_generated, write_generated

__all__ = ["VERSION", "load_generated", "write_generated"]
