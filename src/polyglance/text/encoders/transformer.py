"""A pretrained transformer as text tower (Chen et al. 2021, VSE∞ with BERT, supplement §1.1)."""

from torch import Tensor, nn

from polyglance.numerics.products import Linear
from polyglance.pooling import build_pooling
from polyglance.recipes.schema import Recipe, TextRecipe
from polyglance.text.embedders.base import Embedder
from polyglance.text.embedders.encoded import TextBatch
from polyglance.text.embedders.pretrained import encoder_folder, load_encoder
from polyglance.text.embedders.transformer_layer import run_encoder
from polyglance.text.encoders.tower import Tower, towers


class TransformerTower(Tower):
    """All outputs of the encoder, including [CLS] and [SEP] → Linear(hidden→D) → pooling.

    The encoder is fine-tuned; `training.multipliers` sets its rate (`text.encoder`).
    """

    def __init__(self, recipe: TextRecipe, dim: int) -> None:
        super().__init__(dim)
        self.encoder = load_encoder(encoder_folder(recipe))
        self.projection = Linear(self.encoder.config.hidden_size, dim)
        self.pooling = build_pooling(recipe.pooling, dim)
        self.dropout = nn.Dropout(recipe.dropout)

    def forward(self, batch: TextBatch, language: str | None = None) -> Tensor:
        return self.dropout(self.pooling(self._states(batch), batch.lengths))

    def vectors(self, batch: TextBatch, language: str | None = None) -> Tensor:
        return self.dropout(self._states(batch))

    def word_layers(self) -> list[nn.Module]:
        """The encoder's embedding tables."""
        return [part for part in self.modules() if isinstance(part, nn.Embedding)]

    def _states(self, batch: TextBatch) -> Tensor:
        return self.projection(run_encoder(self.encoder, batch))


@towers.register("transformer")
def transformer_tower(recipe: Recipe, embedder: Embedder) -> TransformerTower:
    """The tower of a recipe; the encoder has its own word vectors."""
    return TransformerTower(recipe.text, recipe.joint.dim)
