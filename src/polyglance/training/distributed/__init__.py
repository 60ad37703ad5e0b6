"""Training one model in several processes: PyTorch's DistributedDataParallel with torchrun."""

from polyglance.training.distributed.share import Share
from polyglance.training.distributed.world import SINGLE, World

__all__ = ["SINGLE", "Share", "World"]
