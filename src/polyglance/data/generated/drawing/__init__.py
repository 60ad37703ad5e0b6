"""Drawing scenes with Pillow."""

from polyglance.data.generated.drawing.render import SIZE, render

__all__ = ["SIZE", "render"]
