"""Models: networks of two towers, and `Model`."""

from polyglance.models.model import Model
from polyglance.models.networks.attention import Sets
from polyglance.models.networks.cross_attention import CrossAttention
from polyglance.models.networks.hierarchy import Hierarchy
from polyglance.models.networks.network import TwoTower, build_network

__all__ = ["CrossAttention", "Hierarchy", "Model", "Sets", "TwoTower", "build_network"]
