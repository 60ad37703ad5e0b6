"""Batch normalisation, shared by heads, poolings and networks."""

from torch import Tensor, nn
from torch.nn import functional


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation of [n, D]; a single vector is normalised with the running statistics."""

    def forward(self, vectors: Tensor) -> Tensor:
        """[n, D] → [n, D]."""
        if self.training and len(vectors) == 1:
            return self.by_running(vectors)
        return super().forward(vectors)

    def by_running(self, vectors: Tensor) -> Tensor:
        """[n, D] → [n, D], with the running statistics, as in evaluation mode."""
        return functional.batch_norm(
            vectors, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )
