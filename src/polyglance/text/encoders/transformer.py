"""A pretrained transformer as text tower (VSE∞ with BERT, spec §2.5)."""

from torch import Tensor, nn

from polyglance.pooling import build_pooling, valid
from polyglance.recipes.schema import TextRecipe
from polyglance.text.embedders.pretrained import encoder_folder, load_encoder


class TransformerTower(nn.Module):
    """All outputs of the encoder, [CLS] and [SEP] too → Linear(hidden→D) → pooling.

    The encoder is fine-tuned, at the rate that `training.multipliers` gives `text.encoder`.
    """

    def __init__(self, recipe: TextRecipe, dim: int) -> None:
        super().__init__()
        self.encoder = load_encoder(encoder_folder(recipe))
        self.padding = getattr(self.encoder.config, "pad_token_id", None) or 0
        self.projection = nn.Linear(self.encoder.config.hidden_size, dim)
        self.pooling = build_pooling(recipe.pooling, dim)
        self.dropout = nn.Dropout(recipe.dropout)
        self.size = dim

    def forward(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """ids [B, T], lengths [B] ≥ 1 → [B, D], not normalised; the language is not used."""
        return self.dropout(self.pooling(self._states(ids, lengths), lengths))

    def vectors(self, ids: Tensor, lengths: Tensor, language: str | None = None) -> Tensor:
        """One vector a piece instead of one a text: [B, T, D], undefined past a length."""
        return self.dropout(self._states(ids, lengths))

    def _states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        mask = valid(ids, lengths)
        ids = ids.masked_fill(~mask, self.padding)
        found = self.encoder(input_ids=ids, attention_mask=mask.long())
        return self.projection(found.last_hidden_state)
