"""How batches are assembled."""

from polyglance.training.samplers.base import Sampler, Term, samplers
from polyglance.training.samplers.batches import UnionSampler
from polyglance.training.samplers.images import ImageBatch, ImageSampler
from polyglance.training.samplers.joint import JointSampler
from polyglance.training.samplers.languages import LanguageSampler
from polyglance.training.samplers.tuples import TupleBatch, TupleSampler

__all__ = [
    "ImageBatch",
    "ImageSampler",
    "JointSampler",
    "LanguageSampler",
    "Sampler",
    "Term",
    "TupleBatch",
    "TupleSampler",
    "UnionSampler",
    "samplers",
]
