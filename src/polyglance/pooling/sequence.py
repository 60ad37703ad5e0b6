"""Poolings in which the vectors interact: self-attention, a GRU, graph reasoning."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from polyglance.numerics.batch_norm import BatchNorm
from polyglance.numerics.products import Linear
from polyglance.numerics.recurrent import PackedGRU
from polyglance.pooling.base import Pooling, poolings, valid
from polyglance.pooling.simple import MeanPool, last

LAYERS = 4
"""Layers of VSRN's reasoning."""


@poolings.register("attention")
class AttentionPool(Pooling):
    """A transformer encoder layer over the set, then the mean: "SelfAttn" of VSE∞, Table 2.

    The paper does not give its size: here up to 8 heads, a hidden layer of D and no dropout.

    The layer ends with a layer norm, so two dimensions become −1 and 1:

    >>> import torch
    >>> pool = AttentionPool(2)
    >>> _ = [nn.init.zeros_(part) for part in pool.layer.self_attn.parameters()]
    >>> _ = [nn.init.zeros_(part) for part in pool.layer.linear2.parameters()]
    >>> pool(torch.tensor([[[3.0, 5.0], [9.0, 0.0]]]), torch.tensor([1])).round(decimals=3).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        heads = next(count for count in (8, 4, 2, 1) if dim % count == 0)
        self.layer = nn.TransformerEncoderLayer(dim, heads, dim, dropout=0, batch_first=True)
        self.mean = MeanPool(dim)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        inputs, mask = _prepare(vectors, lengths, self.layer.linear1.weight)
        states = self.layer(inputs, src_key_padding_mask=~mask)
        return self.mean(states, lengths).to(vectors.dtype)


@poolings.register("seq2seq")
class Seq2SeqPool(Pooling):
    """The last state of a GRU that reads the vectors in the order given.

    >>> import torch
    >>> pool = Seq2SeqPool(1)
    >>> _ = [nn.init.zeros_(part) for part in pool.parameters()]
    >>> pool(torch.tensor([[[3.0], [1.0]]]), torch.tensor([2])).tolist()
    [[0.0]]
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.gru = PackedGRU(dim, dim)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        inputs, _ = _prepare(vectors, lengths, next(self.gru.parameters()))
        if torch.jit.is_tracing():
            return last(self.gru.traced(inputs, lengths), lengths).to(vectors.dtype)
        states, packing = self.gru.encode_padded(inputs, lengths)
        return states[packing.last].to(vectors.dtype)


class Reasoning(nn.Module):
    """One layer of VSRN's graph reasoning (Li et al. 2019, §3.2): v + BN(W((θ(v)ᵀφ(v) / n) g(v))).

    The norm's scale and shift are initially 0, so a new layer is the identity. Its statistics
    cover the valid vectors only.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.theta, self.phi, self.g, self.w = (Linear(dim, dim) for _ in range(4))
        self.norm = BatchNorm(dim)
        nn.init.zeros_(self.norm.weight)
        nn.init.zeros_(self.norm.bias)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        """The valid vectors [total, D] of a batch with mask [B, M], in its order → [total, D]."""
        queries, keys, values = (
            _spread(part(rows), mask) for part in (self.theta, self.phi, self.g)
        )
        relations = queries @ keys.transpose(1, 2) / mask.sum(1).view(-1, 1, 1)
        return rows + self.norm(self.w((relations @ values)[mask]))


class ReasoningPool(Pooling):
    """Four layers of graph reasoning, ℓ2 normalisation, then another pooling (VSRN, §3.2).

    The official code normalises across regions by mistake; here each vector is normalised.

    New layers are the identity:

    >>> import torch
    >>> pool = ReasoningPool(2, MeanPool(2))
    >>> pool(torch.tensor([[[3.0, 0.0], [0.0, 5.0], [9.0, 9.0]]]), torch.tensor([2])).tolist()
    [[0.5, 0.5]]
    """

    def __init__(self, dim: int, pooling: Pooling) -> None:
        super().__init__(dim)
        self.layers = nn.ModuleList(Reasoning(dim) for _ in range(LAYERS))
        self.pooling = pooling

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        return self.with_vectors(vectors, lengths)[0]

    def with_vectors(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The pooled vectors [B, D], and the vectors after reasoning [B, K, D]."""
        inputs, mask = _prepare(vectors, lengths, next(self.parameters()))
        rows = inputs[mask]
        for layer in self.layers:
            rows = layer(rows, mask)
        reasoned = _spread(F.normalize(rows, dim=1, eps=1e-8), mask)
        return self.pooling(reasoned, lengths).to(vectors.dtype), reasoned


@poolings.register("gcn-mean")
def gcn_mean(dim: int) -> ReasoningPool:
    """Graph reasoning, then the mean.

    >>> gcn_mean(2).pooling
    MeanPool()
    """
    return ReasoningPool(dim, MeanPool(dim))


@poolings.register("gcn-seq2seq")
def gcn_seq2seq(dim: int) -> ReasoningPool:
    """Graph reasoning, then the last state of a GRU, as in VSRN (§3.2 and §3.3).

    >>> type(gcn_seq2seq(2).pooling).__name__
    'Seq2SeqPool'
    """
    return ReasoningPool(dim, Seq2SeqPool(dim))


def _prepare(vectors: Tensor, lengths: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors [B, M, D] of the weight's type with zeros past the lengths, and the mask [B, M]."""
    if not torch.jit.is_tracing():  # a trace cannot depend on the lengths
        vectors = vectors[:, : int(lengths.max())]
    vectors = vectors.to(weight.dtype)
    mask = valid(vectors, lengths)
    return vectors.masked_fill(~mask.unsqueeze(2), 0), mask


def _spread(rows: Tensor, mask: Tensor) -> Tensor:
    """Scatter the valid vectors [total, D] into [B, M, D], zero elsewhere."""
    padded = rows.new_zeros(mask.numel(), rows.shape[1])
    places = mask.flatten().nonzero().squeeze(1)
    return padded.index_copy(0, places, rows).view(*mask.shape, -1)
