"""Coefficient generators of GPO, which score every rank (VSE∞, supplement §2.1–2.4)."""

import torch
from torch import Tensor, nn

from polyglance.numerics.recurrent import PackedGRU
from polyglance.pooling.base import valid
from polyglance.pooling.ranks import interpolation

WIDTH = 32
"""Dimension of the position code and of the sequence model's states."""
POSITIONS = 256
"""Number of rank embeddings; the paper's largest set is a 16×16 grid."""
INTERPOLATED = 20


def position_code(count: int, width: int = WIDTH) -> Tensor:
    """[count, width]: sin(k·w_j) and cos(k·w_j) alternating, w_j = 10000^(−2j/width), k from 0."""
    steps = torch.arange(0, width, 2, dtype=torch.float64)
    angles = torch.arange(count).unsqueeze(1) * 10000.0 ** (-steps / width)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)


class BiGRU(nn.Module):
    """Codes [L, M, inputs] → states [L, M, 32], the two directions averaged."""

    def __init__(self, inputs: int = WIDTH) -> None:
        super().__init__()
        self.gru = PackedGRU(inputs, WIDTH, bidirectional=True)

    def forward(self, codes: Tensor, lengths: Tensor) -> Tensor:
        if torch.jit.is_tracing():
            forward, backward = self.gru.traced(codes, lengths).chunk(2, 2)
            return (forward + backward) / 2
        mean, packing = self.gru.encode_padded(codes, lengths, average=True)
        padded = mean.new_zeros(codes.shape[0] * codes.shape[1], WIDTH)
        return padded.index_copy(0, packing.flat, mean).view(*codes.shape[:2], WIDTH)


class Transformer(nn.Module):
    """Codes [L, M, 32] → states [L, M, 32] of one encoder layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0, batch_first=True)

    def forward(self, codes: Tensor, lengths: Tensor) -> Tensor:
        return self.layer(codes, src_key_padding_mask=~valid(codes, lengths))


class Perceptron(nn.Module):
    """Codes [L, M, 32] → [L, M, 32], each rank separately, so independent of the set's size."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(WIDTH, WIDTH)

    def forward(self, codes: Tensor, lengths: Tensor) -> Tensor:
        return self.hidden(codes).relu()


class Scorer(nn.Module):
    """Sizes [L] → scores [L, M], or [L, M, outputs]: position code → sequence model → linear."""

    def __init__(self, sequence: nn.Module, outputs: int = 1) -> None:
        super().__init__()
        self.sequence = sequence
        self.score = nn.Linear(WIDTH, outputs, bias=False)

    def codes(self, count: int) -> Tensor:
        """[count, 32]: the sequence model's input for ranks 0…count−1."""
        return position_code(count).to(self.score.weight)

    def forward(self, lengths: Tensor, count: int | None = None) -> Tensor:
        """lengths [L] → scores [L, M], where M is `count` or else the largest length."""
        codes = self.codes(int(lengths.max()) if count is None else count)
        return self.scores(codes.expand(lengths.shape[0], -1, -1), lengths)

    def scores(self, codes: Tensor, lengths: Tensor) -> Tensor:
        """codes [L, M, inputs] → scores [L, M], or [L, M, outputs]."""
        return self.score(self.sequence(codes, lengths)).squeeze(2)


class IndexScorer(Scorer):
    """Learned embeddings of the ranks; ranks past the last embedding share it."""

    def __init__(self, sequence: nn.Module) -> None:
        super().__init__(sequence)
        self.positions = nn.Embedding(POSITIONS, WIDTH)

    def codes(self, count: int) -> Tensor:
        ranks = torch.arange(count, device=self.positions.weight.device)
        return self.positions(ranks.clamp(max=POSITIONS - 1))


class FeatureScorer(Scorer):
    """Input also depends on the values: [code of rank k; projection of the k-th largest values]."""

    def __init__(self, dim: int) -> None:
        super().__init__(BiGRU(2 * WIDTH))
        self.project = nn.Linear(dim, WIDTH)

    def of_values(self, ranked: Tensor, lengths: Tensor) -> Tensor:
        """Sorted values [B, D, M], lengths [B] → scores [B, M]."""
        values = self.project(ranked.transpose(1, 2).to(self.project.weight.dtype))
        codes = self.codes(values.shape[1]).expand(len(values), -1, -1)
        return self.scores(torch.cat([codes, values], 2), lengths)


class Interpolated(nn.Module):
    """Sizes [L] → scores [L, M] interpolated from 20 learned ones, initially equal."""

    def __init__(self) -> None:
        super().__init__()
        self.knots = nn.Parameter(torch.zeros(INTERPOLATED))

    def forward(self, lengths: Tensor, count: int | None = None) -> Tensor:
        return interpolation(lengths, INTERPOLATED, self.knots, count) @ self.knots
