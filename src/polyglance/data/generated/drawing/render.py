"""From a scene to its image."""

from random import Random

from PIL import Image, ImageDraw

from polyglance.data.generated.drawing.backgrounds import background
from polyglance.data.generated.drawing.creatures import WATER, bird, fish, person, quadruped
from polyglance.data.generated.drawing.layout import Spot, place_members
from polyglance.data.generated.drawing.pen import INK, Colour, Pen, shade
from polyglance.data.generated.drawing.things import THINGS
from polyglance.data.generated.world import COLOURS, Scene, kind

SIZE = 192
_OVERSAMPLING = 2
_CREATURES = {"dog": quadruped, "cat": quadruped, "horse": quadruped, "bird": bird, "fish": fish}
_LIFTED = {"jump": 0.2, "fly": 0.12}


def render(scene: Scene, rng: Random) -> Image.Image:
    """An RGB image, `SIZE` pixels square; `rng` jitters places, sizes, tints and facing."""
    size = SIZE * _OVERSAMPLING
    image = background(scene.place, size, rng)
    draw = ImageDraw.Draw(image)
    facing = rng.random() < 0.5
    for spot in place_members(scene, rng):
        _member(draw, spot, size, facing ^ (rng.random() < 0.15), rng)
    return image.reduce(_OVERSAMPLING)


def _member(draw: ImageDraw.ImageDraw, spot: Spot, size: int, flip: bool, rng: Random) -> None:
    group = spot.group
    colour = _tinted(COLOURS[group.colour], rng)
    ink = (150, 150, 160) if group.colour == "black" else INK
    pen = Pen(draw, (spot.x * size, spot.y * size), spot.unit * size, flip, ink=ink)
    _behind(pen, group.action, group.noun)
    body = pen.at(0, -_LIFTED.get(group.action or "", 0.0))
    if kind(group.noun) == "person":
        person(body, group.noun, colour, group.action, rng.random())
    elif group.noun in _CREATURES:
        _CREATURES[group.noun](body, group.noun, colour, group.action)
    else:
        THINGS[group.noun](body, colour)
    _before(pen, group.action, group.noun)


def _behind(pen: Pen, action: str | None, noun: str) -> None:
    """Shadows, water and speed lines."""
    if action == "swim" or (noun == "fish" and action == "jump"):
        pen.oval(0, -0.06, 0.62, 0.14, WATER)
    elif action == "jump":
        pen.oval(0, 0, 0.36, 0.05, (90, 90, 95), outline=False)
    elif action == "run":
        for y in (-0.22, -0.42, -0.62):
            pen.line([(-0.85, y), (-0.55, y)], 0.025)


def _before(pen: Pen, action: str | None, noun: str) -> None:
    """Waves over a swimmer's body, food, and the letters of sleep."""
    if action == "swim":
        depth = -0.3 if kind(noun) == "person" else -0.22
        pen.poly([(-0.62, -0.06), (-0.5, depth), (0.5, depth), (0.62, -0.06), (0.3, 0.09),
                  (-0.3, 0.09)], WATER, outline=False)  # fmt: skip
        for y in (depth + 0.02, depth + 0.13):
            wave = [(-0.5 + 0.125 * s, y + (0.03 if s % 2 else -0.03)) for s in range(9)]
            pen.line(wave, 0.025, (235, 246, 255))
    elif action == "eat" and kind(noun) == "person":
        pen.oval(0.17, -0.8, 0.07, 0.07, (205, 60, 50))
        pen.line([(0.17, -0.87), (0.2, -0.92)], 0.025, (60, 130, 50))
    elif action == "eat":
        pen.poly([(0.48, -0.14), (0.88, -0.14), (0.8, 0.02), (0.56, 0.02)], (120, 150, 190))
        pen.oval(0.68, -0.14, 0.2, 0.06, (196, 140, 80))
    elif action == "sleep":
        for step in range(3):
            r, x, y = 0.05 + 0.02 * step, 0.5 - 0.14 * step, -0.52 - 0.17 * step
            pen.line([(x - r, y - r), (x + r, y - r), (x - r, y + r), (x + r, y + r)], 0.035)


def _tinted(colour: Colour, rng: Random) -> Colour:
    return shade(colour, rng.uniform(0.9, 1.12))
