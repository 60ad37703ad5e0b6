"""HGR: matches events, actions and entities of captions with frames (Chen et al. 2020, §3)."""

import numpy as np
import torch
from torch import Tensor, nn

from polyglance.data.role_graphs import ROLES
from polyglance.errors import PolyglanceError
from polyglance.models.networks.attention import Sets, attended_cosines, similarities
from polyglance.models.networks.network import Network, networks
from polyglance.models.networks.role_graph import RoleReasoning
from polyglance.models.networks.similarity import l2
from polyglance.numerics.precision import to_float32
from polyglance.recipes.schema import HgrRecipe, Recipe, RolesEmbedderRecipe
from polyglance.recipes.schema.recipe import ONE_VECTOR
from polyglance.text.embedders import Embedder, RolesEmbedder, TextBatch
from polyglance.text.encoders import TextTower
from polyglance.vision.heads import build_head


def part_scores(frames: Sets, parts: Tensor, smooth: float) -> Tensor:
    """Scores [N, M] of actions or entities: the mean cosine with their attended frames (§3.4).

    They are 0 for a caption without any.

    Attention is a softmax over frames of cosines, clipped at 0 and normalised over frames.

    Args:
        frames: N sets of vectors [N, K, D], not normalised.
        parts: [M, n, D], padded with 0.
        smooth: inverse temperature of the attention.
    """
    present = parts.abs().sum(2) > 0  # [M, n]
    every = torch.full((len(parts),), parts.shape[1], device=parts.device)
    queries, contexts = Sets(l2(parts), every), frames.cleared()
    products = similarities(queries, contexts)  # [N, K, M, n]
    norms = contexts.vectors.norm(dim=2).clamp(min=1e-8)[:, :, None, None]
    clipped = (products / norms).clamp(min=0)
    normed = clipped / clipped.norm(dim=1, keepdim=True).clamp(min=1e-8)
    outside = ~contexts.mask[:, :, None, None]
    weights = (smooth * normed).masked_fill(outside, -torch.inf).softmax(1)
    cosines = attended_cosines(weights, products, queries, contexts)  # [N, M, n]
    return cosines.masked_fill(~present, 0).sum(2) / present.sum(1).clamp(min=1)


@networks.register("hgr")
class Hierarchy(Network):
    """Three levels of frames and of captions; the score is the mean of the levels' scores.

    A clip is a set [event, action vector and entity vector of each frame], a caption a set [event,
    actions, entities].
    """

    def __init__(self, recipe: Recipe, feature_dim: int, embedder: Embedder) -> None:
        super().__init__(recipe, feature_dim, embedder)
        settings, image, dim = recipe.joint.similarity, recipe.image, recipe.joint.dim
        assert isinstance(settings, HgrRecipe)
        assert isinstance(embedder, RolesEmbedder)
        self.smooth, self.graphs = settings.smooth, embedder.graphs
        roles = recipe.text.embedder
        assert isinstance(roles, RolesEmbedderRecipe)
        self.verbs, self.parts = roles.verbs, roles.verbs + roles.entities
        self.levels = nn.ModuleList(
            build_head(image.head, feature_dim, dim, image.dropout) for _ in range(2)
        )
        self.reasoning = RoleReasoning(
            dim, len(ROLES), settings.graph_layers, settings.graph_dropout
        )

    def image_sizes(self, lengths: np.ndarray) -> np.ndarray:
        return np.where(lengths > 0, 1 + 2 * lengths, 0)

    def text_sizes(self, lengths: np.ndarray) -> np.ndarray:
        return np.full(len(lengths), 1 + self.parts)

    def embed_images(self, features: Tensor, lengths: Tensor | None = None) -> Sets:
        """Sets [B, K, F] with lengths → sets [B, 1 + 2K, D]."""
        if lengths is None:
            raise PolyglanceError(f"the image features: {ONE_VECTOR}")
        event = self.image(features, lengths).unsqueeze(1)
        levels = [self.image.vectors(features, lengths, head) for head in self.levels]
        frames = torch.stack(levels, 2).flatten(1, 2)  # action, entity, action, entity …
        return Sets(to_float32(torch.cat([event, frames], 1)), 1 + 2 * lengths)

    def embed_text(self, batch: TextBatch, language: str | None = None) -> Sets:
        """Texts [B, 1 + T], first the graph's index → sets [B, 1 + V + E, D]."""
        tower = self.text
        assert isinstance(tower, TextTower)
        rows = batch.ids[:, 0].cpu().numpy()
        words = TextBatch(batch.ids[:, 1:], batch.lengths - 1, batch.unseen)
        states = tower.vectors(words, language)
        sentence = tower.pooling(states, words.lengths)
        spans, roles, edges = (
            torch.from_numpy(part[rows]).to(states.device)
            for part in (self.graphs.spans, self.graphs.roles, self.graphs.edges)
        )
        nodes = self.reasoning(sentence, states, spans[:, :, : states.shape[1]], roles, edges)
        return Sets(to_float32(nodes), torch.full_like(batch.lengths, nodes.shape[1]))

    def scores(self, images: Sets, captions: Sets) -> Tensor:
        """Scores [N, M]: the mean of those of events, actions and entities."""
        return torch.stack(self.level_scores(images, captions)).mean(0)

    def level_scores(self, images: Sets, captions: Sets) -> tuple[Tensor, Tensor, Tensor]:
        """Scores [N, M] of events, of actions and of entities.

        Args:
            images: from `embed_images`.
            captions: from `embed_text`.
        """
        frames = torch.div(images.lengths - 1, 2, rounding_mode="floor")
        nodes = captions.vectors
        events = l2(images.vectors[:, 0]) @ l2(nodes[:, 0]).t()
        actions, entities = nodes[:, 1 : 1 + self.verbs], nodes[:, 1 + self.verbs :]
        acted = Sets(images.vectors[:, 1::2], frames)
        shown = Sets(images.vectors[:, 2::2], frames)
        return (
            events,
            part_scores(acted, actions, self.smooth),
            part_scores(shown, entities, self.smooth),
        )
