"""Animals and people in their poses, facing right."""

from dataclasses import dataclass

from polyglance.data.generated.drawing.pen import Colour, Pen, shade

WHITE: Colour = (255, 255, 255)
WATER: Colour = (90, 170, 225)


@dataclass(frozen=True)
class Build:
    """Proportions of a four-legged animal."""

    legs: float
    girth: float
    neck: float
    head: float


BUILDS = {
    "dog": Build(legs=0.34, girth=0.15, neck=0.13, head=0.14),
    "cat": Build(legs=0.26, girth=0.13, neck=0.05, head=0.17),
    "horse": Build(legs=0.46, girth=0.16, neck=0.32, head=0.11),
}


def quadruped(pen: Pen, noun: str, colour: Colour, pose: str | None) -> None:
    """A dog, cat or horse about one unit wide."""
    build = BUILDS[noun]
    dark = shade(colour, 0.75)
    if pose == "sleep":
        _lying(pen, noun, build, colour)
        return
    if pose == "sit":
        _sitting(pen, noun, build, colour)
        return
    top = -build.legs - build.girth
    if pose in ("run", "jump"):
        pen = pen.at(0, 0, turn=-0.3 if pose == "jump" else -0.04)
        feet = ((-0.34, -0.62), (-0.2, -0.42), (0.2, 0.46), (0.3, 0.64))
    else:
        feet = ((-0.3, -0.3), (-0.19, -0.16), (0.17, 0.17), (0.28, 0.28))
    _tail(pen, noun, (-0.34, top - 0.02), colour)
    for number, (hip, foot) in enumerate(feet):
        fill = dark if number in (1, 2) else colour
        lift = 0.1 if pose in ("run", "jump") and number in (0, 3) else 0.0
        pen.limb([(hip, top + 0.05), ((hip + foot) / 2, top / 2), (foot, -lift)], 0.085, fill)
    pen.oval(0, top, 0.39, build.girth, colour)
    if pose == "eat":
        neck = (0.52, min(top + build.neck + 0.16, -build.head))
    else:
        neck = (0.36 + build.neck * 0.5, top - 0.06 - build.neck)
    pen.limb([(0.29, top - 0.02), neck], 0.16, colour)
    if noun == "horse":
        pen.line([(0.24, top - 0.12), (neck[0] - 0.08, neck[1] - 0.04)], 0.07, shade(colour, 0.45))
    _head(pen.at(*neck, turn=0.5 if pose == "eat" else 0.0), noun, build, colour, False)


def _sitting(pen: Pen, noun: str, build: Build, colour: Colour) -> None:
    _tail(pen, noun, (-0.34, -0.08), colour)
    pen.at(-0.02, -0.34, turn=-0.95).oval(0, 0, 0.36, build.girth + 0.04, colour)
    pen.oval(-0.16, -0.14, 0.19, 0.14, colour)
    pen.limb([(-0.1, -0.04), (0.08, -0.04)], 0.08, colour)
    pen.limb([(0.14, -0.42), (0.19, -0.04)], 0.09, colour)
    _head(pen.at(0.22, -0.66 - build.neck * 0.5), noun, build, colour, False)


def _lying(pen: Pen, noun: str, build: Build, colour: Colour) -> None:
    _tail(pen, noun, (-0.36, -0.1), colour, limp=True)
    pen.oval(0, -build.girth, 0.42, build.girth, colour)
    pen.limb([(-0.25, -0.03), (-0.02, -0.03)], 0.08, colour)
    pen.limb([(0.2, -0.03), (0.52, -0.03)], 0.08, colour)
    _head(pen.at(0.44, -build.head - 0.02), noun, build, colour, True)


def _tail(
    pen: Pen, noun: str, base: tuple[float, float], colour: Colour, limp: bool = False
) -> None:
    x, y = base
    if limp:
        pen.limb([(x, y), (x - 0.16, -0.03)], 0.06, colour)
    elif noun == "horse":
        pen.limb([(x, y), (x - 0.12, y + 0.1), (x - 0.14, y + 0.32)], 0.09, shade(colour, 0.45))
    elif noun == "cat":
        pen.limb(
            [(x, y), (x - 0.14, y - 0.08), (x - 0.12, y - 0.3), (x - 0.02, y - 0.36)], 0.055, colour
        )
    else:
        pen.limb([(x, y), (x - 0.16, y - 0.2)], 0.065, colour)


def _head(pen: Pen, noun: str, build: Build, colour: Colour, asleep: bool) -> None:
    r, dark = build.head, shade(colour, 0.6)
    if noun == "horse":
        pen.poly([(-0.06, -r), (-0.02, -r - 0.12), (0.04, -r)], colour)
        pen.at(0.09, 0.02, turn=0.55).oval(0, 0, 0.2, r * 0.85, colour)
        pen.oval(0.22, 0.1, 0.05, 0.05, dark, outline=False)
    elif noun == "cat":
        for side in (-1, 1):
            pen.poly(
                [(side * 0.15, -0.06), (side * 0.15, -r - 0.13), (side * 0.02, -r + 0.02)], colour
            )
        pen.oval(0, 0, r, r * 0.9, colour)
        pen.poly([(0.02, 0.03), (0.1, 0.03), (0.06, 0.08)], (235, 130, 140), outline=False)
        for slope in (-0.04, 0.03):
            pen.line([(0.1, 0.06), (0.28, 0.06 + slope)], 0.012)
            pen.line([(0.0, 0.06), (-0.16, 0.06 + slope)], 0.012)
    else:
        pen.oval(0, 0, r, r, colour)
        pen.oval(0.14, 0.05, 0.13, 0.075, colour)
        pen.oval(0.25, 0.02, 0.035, 0.03, (25, 20, 25), outline=False)
        pen.at(-0.08, 0.02, turn=0.25).oval(0, 0, 0.06, 0.15, dark)
    _eye(pen, 0.06, -0.04, asleep)
    if noun == "cat":
        _eye(pen, -0.06, -0.04, asleep)


def _eye(pen: Pen, x: float, y: float, asleep: bool) -> None:
    if asleep:
        pen.line([(x - 0.04, y), (x, y + 0.02), (x + 0.04, y)], 0.02)
    else:
        pen.oval(x, y, 0.035, 0.035, WHITE, outline=False)
        pen.oval(x + 0.01, y, 0.02, 0.02, (20, 20, 25), outline=False)


def bird(pen: Pen, noun: str, colour: Colour, pose: str | None) -> None:
    """A bird; in flight both wings are spread."""
    dark, beak = shade(colour, 0.72), (240, 150, 30)
    lift = -0.06 if pose in ("sit", "sleep") else -0.2
    if pose == "fly":
        lift = -0.3
        pen.poly([(-0.05, lift - 0.18), (-0.3, lift - 0.62), (0.16, lift - 0.2)], dark)
    elif lift < -0.1:
        for x in (-0.04, 0.1):
            pen.line([(x, lift), (x, 0), (x + 0.08, 0)], 0.035, beak)
    bow = 0.45 if pose == "eat" else 0.0
    pen = pen.at(0, lift, turn=bow)
    pen.poly([(-0.28, -0.2), (-0.62, -0.32), (-0.6, -0.12)], dark)
    pen.oval(0, -0.18, 0.34, 0.2, colour)
    pen.oval(0.3, -0.38, 0.16, 0.15, colour)
    pen.poly([(0.43, -0.43), (0.62, -0.35), (0.43, -0.3)], beak)
    _eye(pen, 0.33, -0.41, pose == "sleep")
    if pose == "fly":
        pen.poly([(-0.16, -0.22), (-0.1, -0.78), (0.12, -0.66), (0.18, -0.2)], dark)
    else:
        pen.poly([(0.12, -0.26), (-0.1, -0.08), (-0.4, -0.14), (-0.16, -0.28)], dark)


def fish(pen: Pen, noun: str, colour: Colour, pose: str | None) -> None:
    """A fish, leaping upwards when it jumps."""
    dark = shade(colour, 0.72)
    pen = pen.at(0, -0.34, turn=-0.6 if pose == "jump" else 0.0)
    pen.poly([(-0.32, 0), (-0.62, -0.22), (-0.54, 0), (-0.62, 0.22)], dark)
    pen.poly([(-0.16, -0.16), (0.0, -0.36), (0.16, -0.18)], dark)
    pen.oval(0, 0, 0.42, 0.22, colour)
    pen.poly([(-0.02, 0.04), (-0.18, 0.18), (-0.2, 0.0)], dark)
    pen.line([(0.2, -0.17), (0.15, 0), (0.2, 0.17)], 0.02)
    _eye(pen, 0.28, -0.05, False)


def person(pen: Pen, noun: str, colour: Colour, pose: str | None, tint: float = 0.5) -> None:
    """A man, woman, girl or boy in clothes of one colour; children have larger heads."""
    child, dress = noun in ("girl", "boy"), noun in ("woman", "girl")
    skin = shade((233, 188, 150), 0.55 + 0.5 * tint)
    hair = ((60, 40, 25), (30, 25, 25), (200, 150, 60), (120, 60, 30))[int(tint * 3.99)]
    if pose == "sleep":
        pen.oval(0.0, -0.03, 0.58, 0.05, (225, 215, 235))
        pen = pen.at(0.55, -0.1, turn=-1.57)
    body = pen.at(0, -0.02 if pose != "jump" else -0.08)
    hip, neck, radius = -0.42, -0.72, 0.15 if child else 0.12
    if pose == "sit":
        hip, neck = -0.16, -0.47
        pen.box(-0.2, -0.13, 0.16, 0.0, (150, 110, 70))
    for side in (-1, 1):
        body.limb(_leg(side, hip, pose), 0.09, skin if dress else shade(colour, 0.8))
    if dress:
        hem = hip + (0.04 if pose == "sit" else 0.18)
        body.poly([(-0.09, neck), (0.09, neck), (0.23, hem), (-0.23, hem)], colour)
    else:
        body.poly([(-0.15, neck), (0.15, neck), (0.12, hip + 0.05), (-0.12, hip + 0.05)], colour)
    for side in (-1, 1):
        body.limb(_arm(side, neck, pose), 0.07, colour if not dress else skin)
    _face(body.at(0, neck - radius * 0.95), noun, radius, skin, hair, pose == "sleep")


def _leg(side: int, hip: float, pose: str | None) -> list[tuple[float, float]]:
    if pose == "run":
        return [(0.04 * side, hip), (0.2 * side, -0.24), (0.34 * side if side > 0 else -0.4, -0.1)]
    if pose == "jump":
        return [(0.06 * side, hip), (0.22 * side, -0.26), (0.12 * side, -0.06)]
    if pose == "sit":
        return [(0.0, hip), (0.24, hip + 0.02 * side), (0.28 + 0.05 * side, -0.02)]
    return [(0.06 * side, hip), (0.08 * side, -0.02)]


def _arm(side: int, neck: float, pose: str | None) -> list[tuple[float, float]]:
    shoulder = (0.13 * side, neck + 0.06)
    if pose == "jump":
        return [shoulder, (0.3 * side, neck - 0.12), (0.34 * side, neck - 0.26)]
    if pose == "run":
        return [shoulder, (0.27 * side, neck + 0.18), (0.27 * side + 0.14, neck + 0.06)]
    if pose == "eat" and side > 0:
        return [shoulder, (0.28, neck + 0.14), (0.2, neck - 0.04)]
    if pose == "swim":
        return [shoulder, (0.34 * side, neck - 0.02), (0.46 * side, neck + 0.1)]
    return [shoulder, (0.22 * side, neck + 0.2), (0.22 * side, neck + 0.3)]


def _face(pen: Pen, noun: str, r: float, skin: Colour, hair: Colour, asleep: bool) -> None:
    if noun == "woman":
        pen.poly([(-r * 1.2, -r * 0.3), (r * 1.2, -r * 0.3), (r * 1.35, r * 1.7),
                  (-r * 1.35, r * 1.7)], hair)  # fmt: skip
    if noun == "girl":
        for side in (-1, 1):
            pen.oval(side * r * 1.35, r * 0.1, r * 0.45, r * 0.6, hair)
    pen.oval(0, -r * 0.12, r * 1.08, r * 1.05, hair)
    pen.oval(0, r * 0.08, r * 0.95, r * 0.9, skin)
    if noun == "man":
        pen.poly([(-r * 0.85, r * 0.35), (r * 0.85, r * 0.35), (r * 0.4, r * 1.05),
                  (-r * 0.4, r * 1.05)], hair)  # fmt: skip
    for side in (-1, 1):
        if asleep:
            pen.line([(side * 0.3 * r, 0), (side * 0.7 * r, 0)], 0.02)
        else:
            pen.oval(side * 0.38 * r, -0.02, 0.018, 0.024, (20, 20, 25), outline=False)
    pen.line([(-0.3 * r, 0.5 * r), (0, 0.62 * r), (0.3 * r, 0.5 * r)], 0.02, (150, 50, 50))
