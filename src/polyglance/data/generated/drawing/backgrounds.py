"""Backgrounds: a horizon with what belongs to the place, in jittered tints."""

from random import Random

from PIL import Image, ImageDraw

from polyglance.data.generated.drawing.pen import Colour, shade

HORIZON = 0.46
_SKY_AND_GROUND: dict[str, tuple[Colour, Colour, Colour]] = {
    "meadow": ((120, 190, 240), (205, 232, 250), (125, 190, 95)),
    "beach": ((130, 205, 245), (215, 240, 250), (238, 216, 160)),
    "street": ((185, 205, 220), (225, 230, 235), (140, 140, 146)),
    "snow": ((165, 190, 215), (225, 235, 245), (236, 242, 248)),
    "night": ((20, 26, 66), (62, 66, 120), (74, 84, 92)),
    "room": ((226, 205, 180), (236, 220, 200), (176, 130, 88)),
}


def background(place: str, size: int, rng: Random) -> Image.Image:
    """An image of the empty place, `size` pixels square."""
    tint = rng.uniform(0.92, 1.06)
    top, low, ground = (shade(colour, tint) for colour in _SKY_AND_GROUND[place])
    horizon = int(size * (HORIZON + rng.uniform(-0.04, 0.04)))
    image = Image.new("RGB", (size, size), ground)
    ramp = Image.linear_gradient("L").resize((size, horizon))
    sky = Image.composite(Image.new("RGB", ramp.size, low), Image.new("RGB", ramp.size, top), ramp)
    image.paste(sky, (0, 0))
    _DETAILS[place](ImageDraw.Draw(image), size, horizon, ground, rng)
    return image


def _meadow(
    draw: ImageDraw.ImageDraw, size: int, horizon: int, ground: Colour, rng: Random
) -> None:
    _cloud(draw, size, rng)
    for _ in range(3):
        x, w = rng.uniform(-0.2, 0.9) * size, rng.uniform(0.4, 0.7) * size
        draw.ellipse((x, horizon - 0.07 * size, x + w, horizon + 0.1 * size), shade(ground, 0.9))
    draw.rectangle((0, horizon + 0.03 * size, size, size), ground)
    for _ in range(45):
        x, y = rng.uniform(0, size), rng.uniform(horizon + 0.06 * size, size)
        for lean in (-3, 0, 3):
            draw.line((x, y, x + lean, y - 0.022 * size), shade(ground, 0.78), 2)


def _beach(draw: ImageDraw.ImageDraw, size: int, horizon: int, ground: Colour, rng: Random) -> None:
    sun = rng.uniform(0.1, 0.8) * size
    draw.ellipse((sun, 0.04 * size, sun + 0.12 * size, 0.16 * size), (255, 235, 140))
    shore = horizon + 0.12 * size
    draw.rectangle((0, horizon, size, shore), (70, 150, 205))
    for _ in range(14):
        x, y = rng.uniform(0, size), rng.uniform(horizon + 4, shore - 4)
        draw.line((x, y, x + 0.06 * size, y), (190, 225, 240), 2)
    draw.line((0, shore, size, shore + rng.uniform(-4, 4)), (240, 248, 250), 5)
    _dots(draw, size, shore, shade(ground, 0.85), rng)


def _street(
    draw: ImageDraw.ImageDraw, size: int, horizon: int, ground: Colour, rng: Random
) -> None:
    x = -rng.uniform(0, 0.1) * size
    while x < size:
        width, top = rng.uniform(0.12, 0.22) * size, rng.uniform(0.1, 0.3) * size
        grey = rng.randint(165, 205)
        draw.rectangle((x, top, x + width - 3, horizon), (grey, grey - 6, grey - 14))
        for row in range(int(top) + 8, horizon - 12, 20):
            for column in range(int(x) + 8, int(x + width) - 12, 18):
                draw.rectangle((column, row, column + 7, row + 9), (120, 130, 145))
        x += width
    draw.rectangle((0, horizon, size, horizon + 0.05 * size), (190, 188, 182))
    start = rng.uniform(-0.1, 0.0)
    for dash in range(6):
        left = (start + dash * 0.2) * size
        draw.rectangle((left, 0.74 * size, left + 0.1 * size, 0.76 * size), (235, 232, 215))


def _snow(draw: ImageDraw.ImageDraw, size: int, horizon: int, ground: Colour, rng: Random) -> None:
    for _ in range(3):
        x, w = rng.uniform(-0.2, 0.9) * size, rng.uniform(0.3, 0.5) * size
        peak = (x + w / 2, rng.uniform(0.15, 0.3) * size)
        draw.polygon([(x, horizon), peak, (x + w, horizon)], (190, 205, 222))
    for _ in range(70):
        x, y, r = rng.uniform(0, size), rng.uniform(0, size), rng.uniform(1.5, 3.5)
        fill = (255, 255, 255) if y < horizon else (206, 218, 232)
        draw.ellipse((x - r, y - r, x + r, y + r), fill)


def _night(draw: ImageDraw.ImageDraw, size: int, horizon: int, ground: Colour, rng: Random) -> None:
    moon = rng.uniform(0.08, 0.82) * size
    draw.ellipse((moon, 0.05 * size, moon + 0.11 * size, 0.16 * size), (248, 244, 210))
    for _ in range(40):
        x, y, r = rng.uniform(0, size), rng.uniform(0, horizon - 6), rng.uniform(1, 2.4)
        draw.ellipse((x - r, y - r, x + r, y + r), (250, 248, 225))
    _dots(draw, size, horizon, shade(ground, 0.8), rng)


def _room(draw: ImageDraw.ImageDraw, size: int, horizon: int, ground: Colour, rng: Random) -> None:
    left = rng.uniform(0.05, 0.7) * size
    right, top, low = left + 0.24 * size, 0.08 * size, 0.32 * size
    draw.rectangle((left, top, right, low), (190, 222, 240), (250, 250, 245), 5)
    draw.line(((left + right) / 2, top, (left + right) / 2, low), (250, 250, 245), 4)
    draw.rectangle((0, horizon - 8, size, horizon), (240, 236, 228))
    for board in range(1, 8):
        y = horizon + board * board * 0.011 * size
        draw.line((0, y, size, y), shade(ground, 0.85), 2)


def _cloud(draw: ImageDraw.ImageDraw, size: int, rng: Random) -> None:
    x, y = rng.uniform(0.05, 0.75) * size, rng.uniform(0.06, 0.16) * size
    for dx, dy, r in ((0, 0, 0.05), (0.07, -0.02, 0.06), (0.14, 0.0, 0.05)):
        left, top = x + (dx - r) * size, y + (dy - r) * size
        draw.ellipse((left, top, left + 2 * r * size, top + 1.6 * r * size), (250, 252, 255))


def _dots(draw: ImageDraw.ImageDraw, size: int, top: float, fill: Colour, rng: Random) -> None:
    for _ in range(90):
        x, y = rng.uniform(0, size), rng.uniform(top + 6, size)
        draw.ellipse((x - 1.5, y - 1.5, x + 1.5, y + 1.5), fill)


_DETAILS = {
    "meadow": _meadow,
    "beach": _beach,
    "street": _street,
    "snow": _snow,
    "night": _night,
    "room": _room,
}
