"""Models: towers that meet, and what users load."""

from polyglance.models.model import Model
from polyglance.models.two_tower import TwoTower

__all__ = ["Model", "TwoTower"]
