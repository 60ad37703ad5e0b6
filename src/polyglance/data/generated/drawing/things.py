"""Things, about one unit wide or high."""

from math import cos, pi, sin

from polyglance.data.generated.drawing.pen import Colour, Pen, shade

GLASS: Colour = (190, 225, 240)
TYRE: Colour = (45, 45, 50)
METAL: Colour = (190, 190, 195)
WOOD: Colour = (120, 80, 45)


def ball(pen: Pen, colour: Colour) -> None:
    """A beach ball with light wedges."""
    pen.oval(0, -0.36, 0.36, 0.36, colour)
    pen.poly([(0, -0.36), (0.2, -0.66), (-0.2, -0.66)], shade(colour, 1.55), outline=False)
    pen.poly([(0, -0.36), (0.2, -0.06), (-0.2, -0.06)], shade(colour, 0.7), outline=False)
    pen.oval(0, -0.36, 0.36, 0.36, None)
    pen.oval(0, -0.36, 0.07, 0.07, shade(colour, 1.55))


def car(pen: Pen, colour: Colour) -> None:
    """A car from its side."""
    pen.poly([(-0.36, -0.36), (-0.22, -0.6), (0.16, -0.6), (0.32, -0.36)], colour)
    pen.poly([(-0.27, -0.38), (-0.18, -0.54), (-0.04, -0.54), (-0.04, -0.38)], GLASS)
    pen.poly([(0.0, -0.38), (0.0, -0.54), (0.13, -0.54), (0.23, -0.38)], GLASS)
    pen.poly([(-0.58, -0.12), (-0.58, -0.3), (-0.5, -0.38), (0.4, -0.38), (0.58, -0.28),
              (0.58, -0.12)], colour)  # fmt: skip
    pen.oval(0.54, -0.25, 0.03, 0.04, (255, 240, 170))
    for x in (-0.33, 0.33):
        pen.oval(x, -0.12, 0.13, 0.13, TYRE)
        pen.oval(x, -0.12, 0.06, 0.06, METAL)


def boat(pen: Pen, colour: Colour) -> None:
    """A sailing boat on a little water of its own."""
    pen.line([(0, -0.25), (0, -1.0)], 0.04, WOOD)
    pen.poly([(0.04, -0.98), (0.04, -0.34), (0.42, -0.34)], (250, 246, 235))
    pen.poly([(-0.04, -0.9), (-0.04, -0.34), (-0.32, -0.34)], (235, 230, 215))
    pen.poly([(-0.55, -0.28), (0.55, -0.28), (0.36, -0.03), (-0.36, -0.03)], colour)
    for x in (-0.5, -0.3, -0.1, 0.1, 0.3, 0.5):
        pen.oval(x, 0, 0.13, 0.05, (90, 170, 225), outline=False)


def tree(pen: Pen, colour: Colour) -> None:
    """A round crown on a trunk."""
    pen.poly([(-0.08, 0), (-0.06, -0.5), (0.06, -0.5), (0.08, 0)], WOOD)
    for x, y, r in ((-0.2, -0.56, 0.2), (0.2, -0.56, 0.2), (0, -0.78, 0.25)):
        pen.oval(x, y, r, r, colour)
    pen.oval(0, -0.62, 0.22, 0.2, colour, outline=False)


def house(pen: Pen, colour: Colour) -> None:
    """Walls of the colour, with a darker roof, door and windows."""
    pen.box(0.2, -0.98, 0.32, -0.68, (170, 165, 160))
    pen.box(-0.42, -0.58, 0.42, 0, colour)
    pen.poly([(-0.54, -0.56), (0, -1.0), (0.54, -0.56)], shade(colour, 0.6))
    pen.box(-0.09, -0.32, 0.09, 0, (105, 75, 50))
    for x in (-0.33, 0.15):
        pen.box(x, -0.46, x + 0.18, -0.28, GLASS)


def bicycle(pen: Pen, colour: Colour) -> None:
    """Two spoked wheels and a frame."""
    for x in (-0.36, 0.36):
        for turn in range(3):
            a = pi * turn / 3
            dx, dy = 0.22 * cos(a), 0.22 * sin(a)
            pen.line([(x - dx, -0.25 - dy), (x + dx, -0.25 + dy)], 0.012, METAL)
        steps = [2 * pi * step / 24 for step in range(26)]
        ring = [(x + 0.23 * cos(a), -0.25 + 0.23 * sin(a)) for a in steps]
        pen.line(ring, 0.05, TYRE)
    frame = [(-0.36, -0.25), (-0.02, -0.22), (0.26, -0.56), (-0.14, -0.56), (-0.36, -0.25)]
    pen.limb(frame, 0.05, colour)
    pen.limb([(-0.02, -0.22), (-0.16, -0.66)], 0.05, colour)
    pen.limb([(0.36, -0.25), (0.24, -0.72)], 0.05, colour)
    pen.line([(-0.27, -0.68), (-0.06, -0.68)], 0.07)
    pen.line([(0.24, -0.72), (0.38, -0.74)], 0.06)


def umbrella(pen: Pen, colour: Colour) -> None:
    """An open umbrella with a crook."""
    pen.line([(0, -0.9), (0, -0.08), (0.05, -0.02), (0.12, -0.04), (0.13, -0.12)], 0.05, WOOD)
    arc = [(-0.5 * cos(pi * s / 12), -0.5 - 0.42 * sin(pi * s / 12)) for s in range(13)]
    scallops = [(0.33, -0.44), (0.17, -0.5), (0, -0.44), (-0.17, -0.5), (-0.33, -0.44)]
    pen.poly([*arc, *scallops], colour)
    for x in (-0.17, 0.17):
        pen.line([(x, -0.5), (x * 0.7, -0.76), (0, -0.92)], 0.02)


def chair(pen: Pen, colour: Colour) -> None:
    """A chair from its side, back on the left."""
    pen.limb([(-0.3, -0.98), (-0.27, -0.45), (-0.3, 0)], 0.09, colour)
    pen.limb([(0.27, -0.45), (0.3, 0)], 0.08, colour)
    pen.limb([(-0.14, -0.42), (-0.14, -0.04)], 0.06, shade(colour, 0.7))
    pen.limb([(0.12, -0.42), (0.12, -0.04)], 0.06, shade(colour, 0.7))
    pen.box(-0.34, -0.52, 0.36, -0.4, colour)


def flower(pen: Pen, colour: Colour) -> None:
    """Six petals on a stem with two leaves."""
    pen.line([(0, -0.6), (0.02, 0)], 0.06, (50, 130, 50))
    for side in (-1, 1):
        pen.at(side * 0.14, -0.2, turn=-0.6 * side).oval(0, 0, 0.14, 0.055, (60, 150, 60))
    for petal in range(6):
        a = pi * petal / 3
        pen.oval(0.2 * cos(a), -0.7 + 0.2 * sin(a), 0.13, 0.13, colour)
    centre = (250, 200, 60) if colour[1] < 180 or colour[2] > 180 else (150, 90, 40)
    pen.oval(0, -0.7, 0.12, 0.12, centre)


def kite(pen: Pen, colour: Colour) -> None:
    """A diamond with a tail of bows."""
    pen.poly([(0, -1.0), (0.34, -0.68), (0, -0.24), (-0.34, -0.68)], colour)
    pen.line([(0, -1.0), (0, -0.24)], 0.025)
    pen.line([(-0.34, -0.68), (0.34, -0.68)], 0.025)
    pen.line([(0, -0.24), (0.1, -0.16), (-0.02, -0.08), (0.08, 0)], 0.025)
    for x, y in ((0.1, -0.16), (-0.02, -0.08), (0.08, 0)):
        pen.oval(x, y, 0.05, 0.03, shade(colour, 0.8))


THINGS = {
    draw.__name__: draw
    for draw in (ball, car, boat, tree, house, bicycle, umbrella, chair, flower, kite)
}
