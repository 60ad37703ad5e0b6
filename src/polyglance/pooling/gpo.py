"""The generalised pooling operator (Chen et al. 2021, VSE∞; variants: supplement §2.1–2.4)."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from polyglance.numerics.precision import to_float32
from polyglance.pooling.base import Pooling, poolings
from polyglance.pooling.generators import (
    BiGRU,
    FeatureScorer,
    IndexScorer,
    Interpolated,
    Perceptron,
    Scorer,
    Transformer,
)
from polyglance.pooling.sorting import descending

TEMPERATURE = 0.1
CACHED_NUMBERS = 2**24
"""Coefficients cached at inference (64 MB) before the cache is cleared."""


def masked_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    """Softmax of scores [L, M, …] / 0.1 over M within lengths [L], in float32; 0 past them.

    The official mask, −10000 / 0.1, overflows float16; −∞ exists in every type.

    >>> scores = torch.tensor([[0.0, 0.1098612, 9.0]])  # 0.1 · log 3
    >>> [round(share, 4) for share in masked_softmax(scores, torch.tensor([2]))[0].tolist()]
    [0.25, 0.75, 0.0]
    """
    ranks = torch.arange(scores.shape[1], device=scores.device)
    mask = ranks < lengths.to(scores.device).unsqueeze(1)
    if scores.dim() == 3:
        mask = mask.unsqueeze(2)
    return (to_float32(scores) / TEMPERATURE).masked_fill(~mask, -torch.inf).softmax(1)


def weigh(ranked: Tensor, weights: Tensor) -> Tensor:
    """Sorted values [B, D, M] with weights [B, M], or [B, M, D] → sums [B, D].

    >>> ranked = torch.tensor([[[5.0, 1.0], [4.0, 2.0]]])
    >>> weigh(ranked, torch.tensor([[0.25, 0.75]])).tolist()
    [[2.0, 2.5]]
    >>> weigh(ranked, torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])).tolist()
    [[5.0, 2.0]]
    """
    weights = weights.to(ranked.dtype)
    # A matrix product would be as fast, but the layout of its gradient slows down the sort's.
    by_rank = weights.unsqueeze(1) if weights.dim() == 2 else weights.transpose(1, 2)
    return (ranked * by_rank).sum(2)


class GPO(Pooling):
    """v_d = Σ_k θ_k(n) · (k-th largest of dimension d), θ(n) generated from the size n alone.

    θ is generated once per distinct size in a batch. In evaluation mode without gradients, it is
    cached per size until the weights change, and pooling is a sort and a product.

    A generator with equal scores gives the mean:

    >>> pool = GPO(1, Scorer(BiGRU()))
    >>> _ = [nn.init.zeros_(part) for part in pool.parameters()]
    >>> pool(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[2.0]]
    """

    def __init__(self, dim: int, generator: nn.Module) -> None:
        super().__init__(dim)
        self.generator = generator
        self._kept: dict[int, Tensor] = {}
        self._weights: list[Tensor] = []

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        ranked = descending(vectors, lengths)
        if torch.jit.is_tracing():  # a trace cannot depend on values
            weights = masked_softmax(self.generator(lengths, ranked.shape[2]), lengths)
        else:
            weights = self.coefficients(lengths)
        return weigh(ranked, weights).to(vectors.dtype)

    def coefficients(self, lengths: Tensor) -> Tensor:
        """lengths [L] → θ [L, M], or [L, M, D] if per dimension; 0 past a length."""
        distinct, which = torch.unique(lengths, return_inverse=True)
        still = not (self.training or torch.is_grad_enabled())
        table = self._cached(distinct) if still else self._generated(distinct)
        return table.index_select(0, which)

    def _generated(self, lengths: Tensor) -> Tensor:
        with torch.autocast(lengths.device.type, enabled=False):
            return masked_softmax(self.generator(lengths), lengths)

    def _cached(self, lengths: Tensor) -> Tensor:
        self._clear_stale_cache()
        sizes = lengths.tolist()
        if sum(row.numel() for row in self._kept.values()) > CACHED_NUMBERS:
            self._kept = {}
        new = [size for size in sizes if size not in self._kept]
        if new:
            rows = self._generated(lengths.new_tensor(new))
            self._kept |= {size: row[:size].clone() for size, row in zip(new, rows, strict=True)}
        return pad_sequence([self._kept[size] for size in sizes], batch_first=True)

    def _clear_stale_cache(self) -> None:
        """Compare the weights themselves: version counters miss changes through `.data`."""
        now = list(self.generator.parameters())
        if len(now) != len(self._weights) or not all(map(_same, now, self._weights)):
            self._kept = {}
            self._weights = [weight.detach().clone() for weight in now]


def _same(one: Tensor, other: Tensor) -> bool:
    alike = one.dtype == other.dtype and one.device == other.device
    return alike and torch.equal(one, other)


class FeatureGPO(Pooling):
    """GPO whose coefficients also depend on the sorted values (VSE∞ supplement, Table 8).

    >>> pool = FeatureGPO(1)
    >>> _ = [nn.init.zeros_(part) for part in pool.parameters()]  # equal scores
    >>> pool(torch.tensor([[[3.0], [1.0], [9.0]]]), torch.tensor([2])).tolist()
    [[2.0]]
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.generator = FeatureScorer(dim)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        ranked = descending(vectors, lengths)
        with torch.autocast(vectors.device.type, enabled=False):
            weights = masked_softmax(self.generator.of_values(ranked, lengths), lengths)
        return weigh(ranked, weights).to(vectors.dtype)


poolings.register("gpo-features")(FeatureGPO)


@poolings.register("gpo")
def gpo(dim: int) -> GPO:
    """The paper's GPO: position code, BiGRU, 12,704 parameters.

    >>> sum(part.numel() for part in gpo(1024).parameters())
    12704
    """
    return GPO(dim, Scorer(BiGRU()))


@poolings.register("gpo-transformer")
def gpo_transformer(dim: int) -> GPO:
    """A transformer encoder layer in place of the BiGRU (supplement, Table 3).

    >>> gpo_transformer(2).coefficients(torch.tensor([1, 3])).shape
    torch.Size([2, 3])
    """
    return GPO(dim, Scorer(Transformer()))


@poolings.register("gpo-per-dimension")
def gpo_per_dimension(dim: int) -> GPO:
    """Separate coefficients for every dimension (supplement, Table 7).

    >>> gpo_per_dimension(2).coefficients(torch.tensor([3])).shape
    torch.Size([1, 3, 2])
    """
    return GPO(dim, Scorer(BiGRU(), dim))


@poolings.register("gpo-index")
def gpo_index(dim: int) -> GPO:
    """Learned embeddings in place of the position code (supplement, Table 6).

    >>> gpo_index(2)(torch.tensor([[[3.0, 4.0]]]), torch.tensor([1])).tolist()
    [[3.0, 4.0]]
    """
    return GPO(dim, IndexScorer(BiGRU()))


@poolings.register("gpo-mlp")
def gpo_mlp(dim: int) -> GPO:
    """A perceptron on each rank's code in place of the BiGRU (supplement, Table 6).

    >>> gpo_mlp(2)(torch.tensor([[[3.0, 4.0]]]), torch.tensor([1])).tolist()
    [[3.0, 4.0]]
    """
    return GPO(dim, Scorer(Perceptron()))


@poolings.register("gpo-interpolation")
def gpo_interpolation(dim: int) -> GPO:
    """Scores interpolated from 20 learned ones (supplement, Table 6).

    >>> sum(part.numel() for part in gpo_interpolation(2).parameters())
    20
    """
    return GPO(dim, Interpolated())
