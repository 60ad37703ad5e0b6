"""Bringing a trained model to a new language."""

from polyglance.transfer.combine import (
    Mixtures,
    dictionary_mixtures,
    inflection_mixtures,
    neighbour_mixtures,
)

__all__ = ["Mixtures", "dictionary_mixtures", "inflection_mixtures", "neighbour_mixtures"]
