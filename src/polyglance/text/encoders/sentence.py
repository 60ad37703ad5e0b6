"""Google's multilingual Universal Sentence Encoder (Yang et al. 2019), version 3, in torch.

Subwords → vectors of 512 → residual convolutions over 2, 3 and 5 subwords → the sum over the text
divided by the square root of its length → four dense layers → tanh.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.numerics.products import Linear, linear
from polyglance.pooling import valid
from polyglance.text.embedders.subwords.package import PARTS, ROWS

DIM, CHANNELS, HIDDEN = 512, 256, 320
WINDOWS = ((2, 0), (3, 1), (5, 2))
"""Kernel size of a convolution, and how many of its positions precede the current one."""
EPSILON = 1e-12


class QuantisedTable(nn.Module):
    """Vectors of subwords, one byte per dimension; never trained."""

    rows: Tensor
    scale: Tensor
    low: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(ROWS, DIM, dtype=torch.uint8))
        self.register_buffer("scale", torch.zeros(PARTS))
        self.register_buffer("low", torch.zeros(PARTS))

    @property
    def fixed(self) -> int:
        """Number of fixed values that the model stores."""
        return self.rows.numel()

    def forward(self, ids: Tensor) -> Tensor:
        """Ids [B, T] → [B, T, DIM]."""
        part = ids % PARTS
        return self.rows[ids] * self.scale[part].unsqueeze(-1) + self.low[part].unsqueeze(-1)


class NgramLayers(nn.Module):
    """Subword vectors [B, T, DIM], lengths [B] → one vector per text, [B, DIM]."""

    def __init__(self) -> None:
        super().__init__()
        wide = len(WINDOWS) * CHANNELS
        self.project = Linear(DIM, wide)
        self.norm = nn.LayerNorm(wide, EPSILON)
        self.first = nn.ModuleList(nn.Conv1d(CHANNELS, CHANNELS, size) for size, _ in WINDOWS)
        self.second = nn.ModuleList(nn.Conv1d(CHANNELS, CHANNELS, size) for size, _ in WINDOWS)
        self.last_norm = nn.LayerNorm(DIM + wide, EPSILON)
        self.last = Linear(DIM + wide, DIM)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        inside = valid(vectors, lengths).unsqueeze(2)
        vectors = vectors * inside
        branches = self.norm(self.project(vectors)).split(CHANNELS, 2)
        states = [vectors]
        for branch, (_, before), first, second in zip(
            branches, WINDOWS, self.first, self.second, strict=True
        ):
            state = branch * inside
            for layer in (first, second):
                state = (_convolve(layer, state, before) + state) * inside
            states.append(state)
        joined = self.last_norm(torch.cat(states, 2)) * inside
        # The layer is linear, so it is applied once to the sum.
        count = lengths.unsqueeze(1).to(joined.dtype)
        summed = linear(joined.sum(1), self.last.weight) + count * self.last.bias
        return summed / count.sqrt()


def _convolve(layer: nn.Module, states: Tensor, before: int) -> Tensor:
    """States [B, T, C] → [B, T, C], zero-padded."""
    assert isinstance(layer, nn.Conv1d)
    padding = (before, layer.kernel_size[0] - 1 - before)
    return torch.relu(layer(functional.pad(states.transpose(1, 2), padding))).transpose(1, 2)


class DenseLayers(nn.Module):
    """Text vectors [B, DIM] → sentence embeddings [B, DIM] in (−1, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Linear(DIM, HIDDEN, bias=False)
        self.second = Linear(HIDDEN, HIDDEN, bias=False)
        self.around = Linear(DIM, HIDDEN, bias=False)
        self.third = Linear(HIDDEN, DIM, bias=False)
        self.last = Linear(DIM, DIM, bias=False)
        self.last_around = Linear(HIDDEN, DIM, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        middle = torch.relu(self.around(states) + self.second(torch.relu(self.first(states))))
        return torch.tanh(self.last_around(middle) + self.last(torch.relu(self.third(middle))))


class SentenceEncoder(nn.Module):
    """Subword ids [B, T], lengths [B] → sentence embeddings [B, DIM]."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = QuantisedTable()
        self.ngrams = NgramLayers()
        self.dense = DenseLayers()

    def states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Output of the layers below the dense ones, [B, DIM]."""
        ids = ids.masked_fill(~valid(ids, lengths), 0)
        return self.ngrams(self.pieces(ids), lengths)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.dense(self.states(ids, lengths))

    def load_package_weights(self, weights: Mapping[str, np.ndarray]) -> None:
        """Load the package's weights, given by its names."""
        found = {name: torch.from_numpy(value) for name, value in _renamed(weights).items()}
        self.load_state_dict(found)


def _renamed(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The package's weights with the names and shapes of `SentenceEncoder`."""
    sizes = [size for size, _ in WINDOWS]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([weights[f"{name}{size}"] for size in sizes], -1)

    named = {
        "pieces.rows": weights["table"],
        "pieces.scale": weights["scale"],
        "pieces.low": weights["lo"],
        "ngrams.project.weight": joined("proj").T,
        "ngrams.project.bias": joined("proj_b"),
        "ngrams.norm.weight": joined("ln_g"),
        "ngrams.norm.bias": joined("ln_b"),
        "ngrams.last_norm.weight": weights["ln_g"],
        "ngrams.last_norm.bias": weights["ln_b"],
        "ngrams.last.weight": weights["cnn_W"].T,
        "ngrams.last.bias": weights["cnn_b"],
    }
    for index, size in enumerate(sizes):
        for layer, number in (("first", 1), ("second", 2)):
            window = weights[f"w{number}_{size}"].reshape(size, CHANNELS, CHANNELS)
            named[f"ngrams.{layer}.{index}.weight"] = window.transpose(2, 1, 0)
            named[f"ngrams.{layer}.{index}.bias"] = weights[f"b{number}_{size}"]
    dense = {
        "first": "d0",
        "second": "d1",
        "around": "p1",
        "third": "d2",
        "last": "d3",
        "last_around": "p3",
    }
    for layer, name in dense.items():
        named[f"dense.{layer}.weight"] = weights[name].T
    return {name: np.ascontiguousarray(value) for name, value in named.items()}
