"""Adam with sparse gradients, against torch's own optimizers."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from polyglance.recipes.schema import TrainingRecipe
from polyglance.training.optimization.optimizer import build_optimizer, clip_gradients

READ = [torch.tensor([0, 2]), torch.tensor([2, 3]), torch.tensor([2, 0])]
"""Rows of a table that each of three updates reads; row 1 and 4 are never read."""


def start() -> tuple[nn.Parameter, nn.Parameter]:
    torch.manual_seed(0)
    return nn.Parameter(torch.randn(5, 3)), nn.Parameter(torch.randn(3, 2))


def loss_of(table: nn.Parameter, layer: nn.Parameter, rows: torch.Tensor) -> torch.Tensor:
    """Reads the table twice, as captions and names do."""
    found = functional.embedding(rows, table, sparse=True)
    again = functional.embedding(rows[:1], table, sparse=True)
    return ((found @ layer) ** 2).sum() + again.sum()


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_rows_as_sparse_adam_and_the_rest_as_adam(name: str) -> None:
    recipe = TrainingRecipe(optimizer=name, lr=0.05, weight_decay=0.1)
    table, layer = start()
    ours = build_optimizer(
        [{"params": [layer], "multiplier": 1.0}, {"params": [table], "multiplier": 1.0}], recipe
    )
    their_table, their_layer = start()
    dense = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    theirs = [
        dense([their_layer], lr=0.05, weight_decay=0.1),
        torch.optim.SparseAdam([their_table], lr=0.05),
    ]
    for rows in READ:
        ours.zero_grad()
        loss_of(table, layer, rows).backward()
        ours.step()
        for one in theirs:
            one.zero_grad()
        loss_of(their_table, their_layer, rows).backward()
        for one in theirs:
            one.step()
    torch.testing.assert_close(table, their_table)
    torch.testing.assert_close(layer, their_layer)
    begun, _ = start()
    assert torch.equal(table[[1, 4]], begun[[1, 4]])
    assert table.grad is not None
    assert table.grad.is_sparse


def test_clipping_counts_sparse_gradients() -> None:
    table, layer = start()
    loss_of(table, layer, READ[0]).backward()
    assert table.grad is not None
    assert layer.grad is not None
    whole = torch.cat([table.grad.to_dense().flatten(), layer.grad.flatten()])
    assert whole.norm() > 1
    clip_gradients([table, layer], 1.0)
    clipped = torch.cat([table.grad.to_dense().flatten(), layer.grad.flatten()])
    torch.testing.assert_close(clipped, whole / whole.norm(), atol=1e-5, rtol=1e-5)
    clip_gradients([table, layer], 100.0)
    again = torch.cat([table.grad.to_dense().flatten(), layer.grad.flatten()])
    torch.testing.assert_close(again, clipped)
