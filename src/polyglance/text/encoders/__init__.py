"""Encoders and text towers: from word vectors to one vector per text."""

from polyglance.text.encoders.base import TextEncoder, encoders
from polyglance.text.encoders.recurrent import GruEncoder
from polyglance.text.encoders.self_attention import SelfAttention
from polyglance.text.encoders.sentence_tower import SentenceTower
from polyglance.text.encoders.tower import LanguageTowers, TextTower, Tower, towers
from polyglance.text.encoders.transformer import TransformerTower

__all__ = [
    "GruEncoder",
    "LanguageTowers",
    "SelfAttention",
    "SentenceTower",
    "TextEncoder",
    "TextTower",
    "Tower",
    "TransformerTower",
    "encoders",
    "towers",
]
