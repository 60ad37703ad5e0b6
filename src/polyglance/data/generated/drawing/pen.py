"""A pen that draws outlined shapes in its own coordinates."""

from collections.abc import Sequence
from math import cos, pi, sin

from PIL import ImageDraw

Colour = tuple[int, int, int]
Point = tuple[float, float]
INK: Colour = (40, 34, 44)


def shade(colour: Colour, factor: float) -> Colour:
    """Darken (below 1) or lighten towards white (above 1)."""
    if factor <= 1:
        r, g, b = (int(part * factor) for part in colour)
    else:
        r, g, b = (int(part + (255 - part) * (factor - 1)) for part in colour)
    return r, g, b


class Pen:
    """Local coordinates: the origin at the feet, x to the right, y downwards, one unit high."""

    def __init__(
        self,
        draw: ImageDraw.ImageDraw,
        origin: Point = (0.0, 0.0),
        scale: float = 1.0,
        flip: bool = False,
        turn: float = 0.0,
        ink: Colour = INK,
    ) -> None:
        self.draw, self.origin, self.scale, self.ink = draw, origin, scale, ink
        self.flip, self.turn = flip, turn
        mirror = -1 if flip else 1
        self._x = (mirror * scale * cos(turn), scale * sin(turn))
        self._y = (-mirror * scale * sin(turn), scale * cos(turn))
        self.line_width = max(1, round(0.02 * scale))

    def at(self, x: float, y: float, scale: float = 1.0, turn: float = 0.0) -> "Pen":
        """A pen with its origin at (x, y), `scale` times the size, turned clockwise (radians)."""
        return Pen(
            self.draw, self._map((x, y)), self.scale * scale, self.flip, self.turn + turn, self.ink
        )

    def poly(self, points: Sequence[Point], fill: Colour | None, outline: bool = True) -> None:
        """A closed shape."""
        mapped = [self._map(point) for point in points]
        if fill is not None:
            self.draw.polygon(mapped, fill=fill)
        if outline:
            self.draw.line([*mapped, *mapped[:2]], self.ink, self.line_width, joint="curve")

    def oval(
        self, x: float, y: float, rx: float, ry: float, fill: Colour | None, outline: bool = True
    ) -> None:
        """An ellipse with its middle at (x, y)."""
        steps = 10 if max(rx, ry) * self.scale < 12 else 28
        angles = [2 * pi * step / steps for step in range(steps)]
        self.poly([(x + rx * cos(a), y + ry * sin(a)) for a in angles], fill, outline)

    def box(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A rectangle."""
        self.poly([(left, top), (right, top), (right, bottom), (left, bottom)], fill)

    def line(self, points: Sequence[Point], width: float, fill: Colour | None = None) -> None:
        """A stroke without an outline; in ink by default."""
        mapped = [self._map(point) for point in points]
        thick = max(1, round(width * self.scale))
        self.draw.line(mapped, fill or self.ink, thick, joint="curve")

    def limb(self, points: Sequence[Point], width: float, fill: Colour) -> None:
        """A stroke with round ends and an outline."""
        edge = 2 * self.line_width / self.scale
        for thick, colour in ((width + edge, self.ink), (width, fill)):
            self.line(points, thick, colour)
            for x, y in (points[0], points[-1]):
                self.oval(x, y, thick / 2, thick / 2, colour, outline=False)

    def _map(self, point: Point) -> Point:
        x, y = point
        return (
            self.origin[0] + x * self._x[0] + y * self._y[0],
            self.origin[1] + x * self._x[1] + y * self._y[1],
        )
