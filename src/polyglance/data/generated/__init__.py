"""A generated world of drawings with captions in ten languages, for tests and for the demo.

A scene (`scenes`) is sampled, rendered (`drawing`) and described: `messages` selects the content
of a caption, `realise` and `languages` express it. It is no substitute for real photographs.
"""

from polyglance.data.generated.store import VERSION, load_generated, write_generated

__all__ = ["VERSION", "load_generated", "write_generated"]
