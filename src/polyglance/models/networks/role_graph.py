"""Reasoning over a caption's graph of semantic roles (Chen et al. 2020, HGR, §3.1)."""

import torch
from torch import Tensor, nn

from polyglance.numerics.products import Linear


class RoleLayer(nn.Module):
    """Message passing between neighbours, weighted by attention (Equations 2 and 3).

    All relations share one matrix, since nodes are multiplied by their roles beforehand.
    """

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        self.query = Linear(dim, dim // 2)
        self.key = Linear(dim, dim // 2)
        self.context = Linear(dim, dim, bias=False)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Nodes [B, n, D] → [B, n, D].

        Args:
            nodes: [B, n, D].
            edges: [B, n, n] bool, the nodes (last axis) from which a node gets messages.
        """
        products = self.query(nodes) @ self.key(nodes).transpose(1, 2)
        scaled = products / self.query.out_features**0.5
        # Weights of a node without neighbours are 0; a softmax over only −∞ would be NaN.
        lowest = torch.finfo(scaled.dtype).min
        weights = scaled.masked_fill(~edges, lowest).softmax(2).masked_fill(~edges, 0)
        return self.norm(nodes + self.dropout(self.context(weights @ nodes)))


class RoleReasoning(nn.Module):
    """States of words → vectors of the sentence, of each action and of each entity.

    Args:
        dim: D, of states and of nodes.
        roles: number of semantic roles.
        layers: number of graph layers.
        dropout: probability, in each layer.
    """

    def __init__(self, dim: int, roles: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.roles = nn.Embedding(roles, dim)
        self.layers = nn.ModuleList(RoleLayer(dim, dropout) for _ in range(layers))

    def forward(
        self, sentence: Tensor, states: Tensor, spans: Tensor, roles: Tensor, edges: Tensor
    ) -> Tensor:
        """Nodes [B, 1 + n, D], the sentence first, padded with 0.

        Args:
            sentence: [B, D], of whole captions.
            states: [B, T, D], of their words.
            spans: [B, n, T] bool, the words of each action and entity; none for padding.
            roles: [B, n], indices of their roles.
            edges: [B, 1 + n, 1 + n] bool.
        """
        present = spans.any(2, keepdim=True)  # [B, n, 1]
        lowest = torch.finfo(states.dtype).min
        largest = states.unsqueeze(1).masked_fill(~spans.unsqueeze(3), lowest).amax(2)
        parts = largest.masked_fill(~present, 0) * self.roles(roles)
        nodes = torch.cat([sentence.unsqueeze(1), parts], 1)
        for layer in self.layers:
            nodes = layer(nodes, edges)
        return torch.cat([nodes[:, :1], nodes[:, 1:].masked_fill(~present, 0)], 1)
