"""The model card: what is known about a model, in Markdown."""

from polyglance.runtime.card.document import keep_card, model_card
from polyglance.runtime.card.facts import CardSources

__all__ = ["CardSources", "keep_card", "model_card"]
