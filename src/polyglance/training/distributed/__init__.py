"""Several processes train one model: PyTorch's DistributedDataParallel, started by torchrun."""

from polyglance.training.distributed.share import Share
from polyglance.training.distributed.team import ALONE, Team

__all__ = ["ALONE", "Share", "Team"]
