"""Writes imported features as a store."""

from pathlib import Path

from polyglance.core.progress import track
from polyglance.data.convert.common import ImportedFeatures
from polyglance.vision.extraction.store import FeatureStore


def write_store(folder: Path, features: ImportedFeatures) -> None:
    """Write imported features as a store."""
    extractor = f"imported/{features.name}"
    with FeatureStore.create(folder, features.dim, features.form, extractor) as store:
        store.append_many(track(features.items(), "features", features.total, "images"))
