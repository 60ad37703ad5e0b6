"""The model card: what is known about a model, in Markdown."""

from polyglance.runtime.card.document import model_card

__all__ = ["model_card"]
