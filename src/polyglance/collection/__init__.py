"""Collections: many images, in any location, embedded into shards that a library opens.

    from polyglance.collection import embed_collection

    report = embed_collection("s3://bucket/images", "shards", engine="ray")
    report.images, report.problems

The work is done by local processes or by Ray, and continues after a kill.
"""

from polyglance.collection.run import EmbedReport, embed_collection

__all__ = ["EmbedReport", "embed_collection"]
