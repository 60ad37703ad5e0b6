"""Models: towers that meet, and what users load."""

from polyglance.models.attention import Sets
from polyglance.models.cross_attention import CrossAttention
from polyglance.models.model import Model
from polyglance.models.network import build_network
from polyglance.models.two_tower import TwoTower

__all__ = ["CrossAttention", "Model", "Sets", "TwoTower", "build_network"]
