"""Collections: many images, wherever they lie, embedded into shards that a library opens.

    from polyglance.collection import embed_collection

    report = embed_collection("s3://bucket/pictures", "shards", engine="ray")
    report.images, report.problems

The same work is done by processes of this machine or by those of Ray, and goes on after a kill.
"""

from polyglance.collection.run import EmbedReport, embed_collection

__all__ = ["EmbedReport", "embed_collection"]
