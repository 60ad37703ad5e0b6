"""Aggregators of a set of vectors, for images and text alike."""

from polyglance.pooling.base import Pooling, build_pooling, poolings, valid
from polyglance.pooling.simple import FirstPool, LastPool, MaxPool, MeanPool

__all__ = [
    "FirstPool",
    "LastPool",
    "MaxPool",
    "MeanPool",
    "Pooling",
    "build_pooling",
    "poolings",
    "valid",
]
