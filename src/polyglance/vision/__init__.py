"""From image files to features, and from features to the joint space."""

from polyglance.data.images.read import list_images, read_image
from polyglance.errors import ImageProblem
from polyglance.vision.extraction.extract import extract_many, load_features
from polyglance.vision.extraction.features import Features
from polyglance.vision.extraction.store import FeatureStore

__all__ = [
    "FeatureStore",
    "Features",
    "ImageProblem",
    "extract_many",
    "list_images",
    "load_features",
    "read_image",
]
