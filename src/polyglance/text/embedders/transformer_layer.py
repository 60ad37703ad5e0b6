"""A frozen pretrained transformer as a layer."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from polyglance.pooling import valid
from polyglance.text.embedders.encoded import TextBatch
from polyglance.text.embedders.layer import AddedRows, WordLayer
from polyglance.text.embedders.pretrained import load_encoder


class FrozenTransformer(WordLayer):
    """Outputs of a frozen pretrained transformer (LIWE's BERT+GRU)."""

    def __init__(self, folder: Path) -> None:
        encoder = load_encoder(folder).requires_grad_(False).eval()
        super().__init__(int(encoder.config.hidden_size))
        self.encoder = encoder

    def train(self, mode: bool = True) -> "FrozenTransformer":
        """Set the mode; the encoder stays in evaluation mode, without dropout."""
        super().train(mode)
        self.encoder.eval()
        return self

    def look_up(self, batch: TextBatch, added: AddedRows | None) -> tuple[Tensor, Tensor]:
        """A vector for every position, [B · T, dim], since vectors depend on the context."""
        with torch.no_grad():
            states = run_encoder(self.encoder, batch)
        places = torch.arange(batch.ids.numel(), device=batch.ids.device)
        return states.flatten(0, 1), places.view_as(batch.ids)


def run_encoder(encoder: Any, batch: TextBatch) -> Tensor:
    """Outputs [B, T, hidden] of a pretrained encoder for texts [B, T]."""
    mask = valid(batch.ids, batch.lengths)
    padding = getattr(encoder.config, "pad_token_id", None) or 0
    ids = batch.ids.masked_fill(~mask, padding)
    return encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
