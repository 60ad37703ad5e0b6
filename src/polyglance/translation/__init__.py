"""Translation of texts with different translators."""

from polyglance.translation import ctranslate, http, huggingface, lexicon, parallel
from polyglance.translation.base import Translator, make_translator, translators
from polyglance.translation.quality import Overlap, evaluate_translator, word_overlap
from polyglance.translation.translate import translate

__all__ = [
    "Overlap",
    "Translator",
    "ctranslate",
    "evaluate_translator",
    "http",
    "huggingface",
    "lexicon",
    "make_translator",
    "parallel",
    "translate",
    "translators",
    "word_overlap",
]
