"""Models: towers that meet, and what users load."""

from polyglance.models.attention import Sets
from polyglance.models.cross_attention import CrossAttention
from polyglance.models.hierarchy import Hierarchy
from polyglance.models.model import Model
from polyglance.models.network import TwoTower, build_network

__all__ = ["CrossAttention", "Hierarchy", "Model", "Sets", "TwoTower", "build_network"]
