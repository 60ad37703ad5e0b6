"""Pictures become vectors."""

from polyglance.vision.store import FeatureStore

__all__ = ["FeatureStore"]
