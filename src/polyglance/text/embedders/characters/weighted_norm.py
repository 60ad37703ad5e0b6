"""Batch normalisation of rows with counts."""

import torch
from torch import Tensor, nn

from polyglance.numerics.precision import full_precision, to_float32

MOMENTUM = 0.1
"""torch's default."""


class WeightedBatchNorm(nn.BatchNorm1d):
    """`BatchNorm1d` with the statistics of rows repeated `counts` times.

    A row with count 0 is normalised but excluded from the statistics.

    >>> norm = WeightedBatchNorm(1)
    >>> norm(torch.tensor([[0.0], [3.0]]), torch.tensor([2, 1])).mul(10).round().flatten().tolist()
    [-7.0, 14.0]
    """

    def __init__(self, features: int) -> None:
        super().__init__(features, momentum=MOMENTUM)

    def forward(self, input: Tensor, counts: Tensor | None = None) -> Tensor:
        """input [U, features], counts [U] → [U, features]."""
        if counts is None or not self.training:
            return super().forward(input)
        input = to_float32(input)
        total = counts.sum().clamp(min=1)
        share = (counts / total).to(input.dtype)  # [U]
        with full_precision(input.device):
            mean = share @ input
            centred = input - mean
            variance = share @ centred.square()
        self._track(mean.detach(), variance.detach(), total)
        scale = self.weight * (variance + self.eps).rsqrt()
        return torch.addcmul(self.bias, centred, scale)

    def _track(self, mean: Tensor, variance: Tensor, total: Tensor) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        unbiased = variance * (total / (total - 1).clamp(min=1))
        self.running_mean.lerp_(mean, MOMENTUM)
        self.running_var.lerp_(unbiased, MOMENTUM)
        self.num_batches_tracked.add_(1)
