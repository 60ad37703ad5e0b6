"""Every pooling again, one sample at a time and as its definition reads."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from polyglance.pooling import Pooling

Sample = Callable[[Pooling, Tensor], Tensor]


def code(n: int) -> Tensor:
    rows = []
    for k in range(n):
        row = []
        for j in range(16):
            angle = k * 10000 ** (-2 * j / 32)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


def bigru(gru: nn.GRU, inputs: Tensor) -> Tensor:
    states = gru(inputs.to(gru.weight_hh_l0).unsqueeze(0))[0][0]
    return (states[:, :32] + states[:, 32:]) / 2


def weighted(vectors: Tensor, scores: Tensor) -> Tensor:
    theta = torch.softmax(scores / 0.1, 0)
    ranked = vectors.sort(0, descending=True).values
    return ((theta.unsqueeze(1) if theta.dim() == 1 else theta) * ranked).sum(0)


def gpo(pool: Pooling, vectors: Tensor) -> Tensor:
    scorer = pool.generator
    states = bigru(scorer.sequence.gru, code(len(vectors)))
    return weighted(vectors, scorer.score(states)[:, 0])


def gpo_per_dimension(pool: Pooling, vectors: Tensor) -> Tensor:
    scorer = pool.generator
    return weighted(vectors, scorer.score(bigru(scorer.sequence.gru, code(len(vectors)))))


def gpo_index(pool: Pooling, vectors: Tensor) -> Tensor:
    scorer = pool.generator
    states = bigru(scorer.sequence.gru, scorer.positions.weight[: len(vectors)])
    return weighted(vectors, scorer.score(states)[:, 0])


def gpo_features(pool: Pooling, vectors: Tensor) -> Tensor:
    scorer = pool.generator
    ranked = vectors.sort(0, descending=True).values
    inputs = torch.cat([code(len(vectors)).to(vectors), scorer.project(ranked)], 1)
    return weighted(vectors, scorer.score(bigru(scorer.sequence.gru, inputs))[:, 0])


def gpo_transformer(pool: Pooling, vectors: Tensor) -> Tensor:
    scorer = pool.generator
    states = scorer.sequence.layer(code(len(vectors)).to(vectors).unsqueeze(0))[0]
    return weighted(vectors, scorer.score(states)[:, 0])


def gpo_mlp(pool: Pooling, vectors: Tensor) -> Tensor:
    scorer = pool.generator
    states = torch.relu(scorer.sequence.hidden(code(len(vectors)).to(vectors)))
    return weighted(vectors, scorer.score(states)[:, 0])


def interpolate(knots: Tensor, n: int) -> Tensor:
    """knots [J, …] → [n, …]."""
    rows = []
    for k in range(n):
        place = k * (len(knots) - 1) / (n - 1) if n > 1 else 0.0
        low = min(int(place), len(knots) - 2)
        rows.append(knots[low] * (low + 1 - place) + knots[low + 1] * (place - low))
    return torch.stack(rows)


def gpo_interpolation(pool: Pooling, vectors: Tensor) -> Tensor:
    return weighted(vectors, interpolate(pool.generator.knots, len(vectors)))


def fspool(pool: Pooling, vectors: Tensor) -> Tensor:
    weights = interpolate(pool.weight.t(), len(vectors))
    return (weights * vectors.sort(0, descending=True).values).sum(0)


def gem(pool: Pooling, vectors: Tensor) -> Tensor:
    return vectors.clamp(min=1e-6).pow(pool.power).mean(0).pow(1 / pool.power)


def attention(pool: Pooling, vectors: Tensor) -> Tensor:
    return pool.layer(vectors.unsqueeze(0))[0].mean(0)


def seq2seq(pool: Pooling, vectors: Tensor) -> Tensor:
    return pool.gru(vectors.unsqueeze(0))[0][0, -1]


def reasoned(pool: Pooling, vectors: Tensor) -> Tensor:
    """In evaluation mode, where the norm's statistics are fixed."""
    for layer in pool.layers:
        relations = layer.theta(vectors) @ layer.phi(vectors).t() / len(vectors)
        vectors = vectors + layer.norm(layer.w(relations @ layer.g(vectors)))
    return vectors / vectors.norm(dim=1, keepdim=True)


def guided(pool: Pooling, vectors: Tensor) -> Tensor:
    own = vectors / vectors.norm(dim=1, keepdim=True)
    memory = torch.tanh(pool.memory(own.mean(0)))
    scores = torch.stack([pool.weight(torch.tanh(pool.vectors(one)) * memory)[0] for one in own])
    return (scores.exp() / scores.exp().sum()) @ own


def by_linear_weights(pool: Pooling, vectors: Tensor) -> Tensor:
    layer = pool.weigh
    numbers = torch.stack(
        [layer.weight[0] @ one.to(layer.weight) + layer.bias[0] for one in vectors]
    )
    return (numbers.exp() / numbers.exp().sum()).to(vectors) @ vectors


REFERENCES: dict[str, Sample] = {
    "attention": attention,
    "first": lambda _, v: v[0],
    "fspool": fspool,
    "gcn-mean": lambda pool, v: reasoned(pool, v).mean(0),
    "gcn-seq2seq": lambda pool, v: seq2seq(pool.pooling, reasoned(pool, v)),
    "gem": gem,
    "gpo": gpo,
    "gpo-features": gpo_features,
    "gpo-index": gpo_index,
    "gpo-interpolation": gpo_interpolation,
    "gpo-mlp": gpo_mlp,
    "gpo-per-dimension": gpo_per_dimension,
    "gpo-transformer": gpo_transformer,
    "guided": guided,
    "kmax5": lambda _, v: v.sort(0, descending=True).values[:5].mean(0),
    "last": lambda _, v: v[-1],
    "max": lambda _, v: v.max(0).values,
    "mean": lambda _, v: v.mean(0),
    "seq2seq": seq2seq,
    "weighted": by_linear_weights,
}
SETS = sorted(set(REFERENCES) - {"first", "last", "seq2seq", "gcn-seq2seq"})
"""Poolings that the order of the vectors does not matter to."""
