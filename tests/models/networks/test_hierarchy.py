"""HGR's levels, against loops over single clips, captions, words and frames."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from polyglance.models.networks.attention import Sets
from polyglance.models.networks.hierarchy import part_scores
from polyglance.models.networks.role_graph import RoleLayer, RoleReasoning


def score_of(frames: Tensor, parts: Tensor, smooth: float) -> Tensor:
    """One clip's frames [K, D] with one caption's parts [n, D], as the authors' code has it."""
    total = torch.zeros(())
    for part in parts:
        cosines = functional.cosine_similarity(frames, part.unsqueeze(0), dim=1).clamp(min=0)
        weights = (smooth * cosines / cosines.norm().clamp(min=1e-10)).softmax(0)
        total = total + functional.cosine_similarity(weights @ frames, part, dim=0)
    return total / max(1, len(parts))


def test_parts_attend_to_frames() -> None:
    torch.manual_seed(0)
    counts, lengths = [2, 0, 3], torch.tensor([4, 1, 6, 2])
    frames, parts = torch.randn(4, 6, 5), torch.randn(3, 3, 5)
    for row, count in enumerate(counts):
        parts[row, count:] = 0
    found = part_scores(Sets(frames, lengths), parts, 4.0)
    for clip, length in enumerate(lengths):
        for caption, count in enumerate(counts):
            expected = score_of(frames[clip, :length], parts[caption, :count], 4.0)
            assert found[clip, caption] == pytest.approx(float(expected), abs=1e-5)
    assert found[:, 1].tolist() == [0.0] * 4
    # Padding of frames never counts.
    frames[1, 1:] = 1e6
    torch.testing.assert_close(part_scores(Sets(frames, lengths), parts, 4.0), found)


def test_missing_parts_leave_no_nan_in_gradients() -> None:
    frames = torch.randn(2, 3, 4, requires_grad=True)
    parts = torch.zeros(2, 2, 4)
    parts[0, 0] = 1
    parts.requires_grad_()
    part_scores(Sets(frames, torch.tensor([3, 1])), parts, 4.0).sum().backward()
    assert torch.isfinite(frames.grad).all()
    assert torch.isfinite(parts.grad).all()
    assert frames.grad.abs().sum() > 0


def test_a_node_hears_its_neighbours_alone() -> None:
    torch.manual_seed(1)
    layer = RoleLayer(6, 0.5).eval()
    nodes = torch.randn(1, 3, 6)
    edges = torch.tensor([[[False, False, False], [True, False, True], [False, True, False]]])
    found = layer(nodes, edges)[0]
    query, key = layer.query(nodes[0]), layer.key(nodes[0])
    for row in range(3):
        others = [other for other in range(3) if edges[0, row, other]]
        heard = torch.zeros(6)
        if others:
            numbers = torch.stack([query[row] @ key[other] for other in others]) / math.sqrt(3)
            for weight, other in zip(numbers.softmax(0), others, strict=True):
                heard = heard + weight * nodes[0, other]
        expected = layer.norm(nodes[0, row] + layer.context(heard))
        torch.testing.assert_close(found[row], expected)


def test_nodes_are_the_largest_of_their_words_times_their_role() -> None:
    torch.manual_seed(2)
    reasoning = RoleReasoning(4, 16, 1, 0.5).eval()
    sentence, states = torch.randn(1, 4), torch.randn(1, 3, 4)
    spans = torch.tensor([[[False, True, True], [False, False, False]]])
    roles, edges = torch.tensor([[2, 0]]), torch.zeros(1, 3, 3, dtype=torch.bool)
    found = reasoning(sentence, states, spans, roles, edges)[0]
    norm = reasoning.layers[0].norm
    largest = torch.maximum(states[0, 1], states[0, 2])
    torch.testing.assert_close(found[0], norm(sentence[0]))
    torch.testing.assert_close(found[1], norm(largest * reasoning.roles.weight[2]))
    assert found[2].tolist() == [0.0] * 4
