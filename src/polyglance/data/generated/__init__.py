"""A generated world of drawings with captions in ten languages, for tests and for the demo.

A scene (`scenes`) is sampled, rendered (`drawing`) and described: `messages` chooses what a
caption says of it, `realise` with `languages` puts it into words. It never
stands in for results on real photographs.
"""

from polyglance.data.generated.store import VERSION, load_generated, write_generated

__all__ = ["VERSION", "load_generated", "write_generated"]
