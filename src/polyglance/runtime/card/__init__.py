"""The model card: what is known about a model, in Markdown."""

from polyglance.runtime.card.document import keep_card, model_card

__all__ = ["keep_card", "model_card"]
