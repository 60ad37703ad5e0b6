"""Batch norms with the statistics of all processes (torch's own require a GPU)."""

from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.modules.batchnorm import _BatchNorm

from polyglance.errors import PolyglanceError
from polyglance.models.networks.consensus import ConceptShares
from polyglance.numerics.batch_norm import BatchNorm
from polyglance.text.embedders.characters.weighted_norm import WeightedBatchNorm
from polyglance.training.distributed.world import World
from polyglance.vision.image_network import ImageNetwork


class _Sum(torch.autograd.Function):
    """Sum over all ranks; the gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, group: Any) -> Tensor:
        ctx.group = group
        total = own.clone()
        distributed.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        total = grads[0].clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(total, group=ctx.group)
        return total, None


class _Synced(_BatchNorm):
    """Normalises rows [n, D] by their mean and variance over all ranks."""

    world: World

    def by_all(self, rows: Tensor, weights: Tensor) -> Tensor:
        """[n, D] → [n, D]; each row counts `weights` [n] times."""
        group = self.world.statistics
        count = weights.sum()
        distributed.all_reduce(count, group=group)
        if count == 1 and isinstance(self, BatchNorm):
            return self.by_running(rows)
        count = count.clamp(min=1)
        share = (weights / count).to(rows.dtype)
        mean = _Sum.apply(share @ rows, group)
        centred = rows - mean
        variance = _Sum.apply(share @ centred.square(), group)
        self._follow(mean.detach(), variance.detach(), count)
        scale = self.weight * (variance + self.eps).rsqrt()
        return torch.addcmul(self.bias, centred, scale)

    @torch.no_grad()
    def _follow(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        unbiased = variance * (count / (count - 1).clamp(min=1))
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(unbiased, self.momentum)
        self.num_batches_tracked.add_(1)


class SyncedBatchNorm(_Synced, BatchNorm):
    """`BatchNorm` over the rows of all ranks."""

    def forward(self, vectors: Tensor) -> Tensor:
        if not self.training or self.world.replicated:
            return BatchNorm.forward(self, vectors)
        return self.by_all(vectors, vectors.new_ones(len(vectors), dtype=torch.long))


class SyncedWeightedBatchNorm(_Synced, WeightedBatchNorm):
    """`WeightedBatchNorm` over the rows of all ranks."""

    def forward(self, input: Tensor, counts: Tensor | None = None) -> Tensor:
        if not self.training or self.world.replicated or counts is None:
            return WeightedBatchNorm.forward(self, input, counts)
        return self.by_all(input, counts)


_SYNCED: dict[type[nn.Module], type[_Synced]] = {
    BatchNorm: SyncedBatchNorm,
    WeightedBatchNorm: SyncedWeightedBatchNorm,
}


def sync_norms(network: nn.Module, world: World) -> None:
    """Make the batch norms of a network use the rows of all ranks; weights and names stay.

    Concepts are the same on every rank and are normalised there; an image network keeps its
    statistics. Norms that are not trained stay as they are; an unknown trained one is an error.
    """
    if world.is_single:
        return
    parts = list(network.modules())
    kept: list[nn.Module] = [part.concepts for part in parts if isinstance(part, ConceptShares)]
    kept += [part for part in parts if isinstance(part, ImageNetwork)]
    same = {id(norm) for part in kept for norm in part.modules()}
    for name, module in network.named_modules():
        if not isinstance(module, _BatchNorm) or id(module) in same:
            continue
        kind = _SYNCED.get(type(module))
        if kind is not None:
            module.__class__, module.world = kind, world  # type: ignore[assignment]
        elif any(parameter.requires_grad for parameter in module.parameters()):
            raise PolyglanceError(
                f"the batch norm {name} ({type(module).__name__}) cannot be trained in several "
                "processes, as each sees only its own rows; start polyglance without torchrun"
            )
