"""Poolings: reduce a set of vectors to one, for images and texts alike."""

from polyglance.pooling.base import Pooling, build_pooling, pooling_names, poolings, valid
from polyglance.pooling.gem import GeMPool
from polyglance.pooling.gpo import GPO, FeatureGPO
from polyglance.pooling.guided import GuidedPool
from polyglance.pooling.ranks import FSPool, KMaxPool
from polyglance.pooling.sequence import AttentionPool, ReasoningPool, Seq2SeqPool
from polyglance.pooling.simple import FirstPool, LastPool, MaxPool, MeanPool
from polyglance.pooling.weighted import WeightedPool

__all__ = [
    "GPO",
    "AttentionPool",
    "FSPool",
    "FeatureGPO",
    "FirstPool",
    "GeMPool",
    "GuidedPool",
    "KMaxPool",
    "LastPool",
    "MaxPool",
    "MeanPool",
    "Pooling",
    "ReasoningPool",
    "Seq2SeqPool",
    "WeightedPool",
    "build_pooling",
    "pooling_names",
    "poolings",
    "valid",
]
