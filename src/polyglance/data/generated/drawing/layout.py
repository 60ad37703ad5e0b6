"""Where the members of a scene's groups stand. All lengths are fractions of the image."""

from dataclasses import dataclass
from random import Random

from polyglance.data.generated.world import Group, Scene

Box = tuple[float, float, float, float]
"""left, top, right, bottom"""

_SIDES: dict[str, tuple[Box, Box]] = {
    "left": ((0.02, 0.3, 0.48, 0.95), (0.52, 0.3, 0.98, 0.95)),
    "above": ((0.12, 0.02, 0.88, 0.42), (0.12, 0.54, 0.88, 0.96)),
}
_MIRROR = {"right": "left", "below": "above", "behind": "front", "under": "on"}
_SIZE = {"small": (0.55, 0.2), None: (0.8, 0.36), "big": (1.0, 0.56)}
"""The share of its cell that a member takes, and its largest unit."""

_ROWS = {1: ((1,),), 2: ((2,), (1, 1)), 3: ((3,), (1, 2)), 4: ((2, 2), (4,)), 5: ((2, 3), (5,))}
_TOPS = {"chair": 0.5, "car": 0.58, "boat": 0.28}
"""How high above its feet a support carries things, in its own units."""

EXTENT = {
    "man": (0.62, 1.02), "woman": (0.62, 1.0), "girl": (0.72, 1.02), "boy": (0.72, 1.02),
    "dog": (1.1, 0.78), "cat": (1.1, 0.76), "horse": (1.2, 1.15), "bird": (1.2, 0.9),
    "fish": (1.15, 0.75), "ball": (0.8, 0.8), "car": (1.2, 0.66), "boat": (1.2, 1.05),
    "tree": (0.85, 1.05), "house": (1.1, 1.05), "bicycle": (1.2, 0.8), "umbrella": (1.02, 0.98),
    "chair": (0.8, 1.05), "flower": (0.72, 1.05), "kite": (0.75, 1.05),
}  # fmt: skip
"""Width and height of each noun in its own units, lying and flying poses included."""


@dataclass(frozen=True)
class Spot:
    """One member: its group, where its feet are, and the length of its unit."""

    group: Group
    x: float
    y: float
    unit: float


def place_members(scene: Scene, rng: Random) -> list[Spot]:
    """All members in the order of drawing, the far ones first."""
    groups = scene.groups
    if len(groups) == 1:
        return _fill(groups[0], (0.1, 0.3, 0.9, 0.95), rng)
    relation = scene.relation or "left"
    if relation in _MIRROR:
        groups, relation = (groups[1], groups[0]), _MIRROR[relation]
    if relation == "on":
        return _stack(groups[0], groups[1], rng)
    if relation == "front":
        return _overlap(groups[0], groups[1], rng)
    first, second = _SIDES[relation]
    return _fill(groups[1], second, rng) + _fill(groups[0], first, rng)


def _unit(group: Group, width: float, height: float) -> float:
    """The unit that fits a member into a cell. People who lie or swim are one unit wide."""
    wide, high = EXTENT[group.noun]
    if group.action in ("sleep", "swim"):
        wide = max(wide, 1.15)
    if group.action in ("jump", "run", "eat"):
        wide, high = wide + 0.25, high + 0.18
    share, largest = _SIZE[group.size]
    return min(share * min(width / wide, height / high), largest)


def _fill(group: Group, box: Box, rng: Random) -> list[Spot]:
    left, top, right, bottom = box

    def cell(rows: tuple[int, ...]) -> tuple[float, float]:
        return (right - left) / max(rows), (bottom - top) / len(rows)

    rows = max(_ROWS[group.count], key=lambda rows: _unit(group, *cell(rows)))
    width, height = cell(rows)
    unit = _unit(group, width, height) * rng.uniform(0.92, 1.0)
    slack = max(0.0, bottom - top - unit * len(rows) * EXTENT[group.noun][1])
    shift = rng.uniform(0, 0.5) * min(slack, 0.2)
    spots = []
    for number, members in enumerate(rows):
        for column in range(members):
            x = (left + right) / 2 + (column - (members - 1) / 2) * width
            y = bottom - shift - (len(rows) - 1 - number) * height
            jitter = 0.02 * min(1.0, unit * 5)
            spots.append(
                Spot(group, x + rng.uniform(-jitter, jitter), y + rng.uniform(-jitter, 0), unit)
            )
    return spots


def _row(group: Group, x: float, y: float, unit: float, width: float) -> list[Spot]:
    offsets = [(column - (group.count - 1) / 2) * width for column in range(group.count)]
    return [Spot(group, x + offset, y, unit) for offset in offsets]


def _stack(upper: Group, support: Group, rng: Random) -> list[Spot]:
    base = max(0.42, _unit(support, 0.7, 0.55)) * rng.uniform(0.94, 1.0)
    x, y = 0.5 + rng.uniform(-0.08, 0.08), 0.95 - rng.uniform(0, 0.05)
    width = base * (0.85 if upper.count == 1 else 0.55)
    unit = _unit(upper, width, 0.4)
    on_top = _row(upper, x, y - _TOPS[support.noun] * base, unit, width)
    return [Spot(support, x, y, base), *on_top]


def _overlap(near: Group, far: Group, rng: Random) -> list[Spot]:
    """The near ones cover some of the far one's foot, a little to one side of it."""
    width = min(0.4, 0.8 / near.count)
    unit = _unit(near, width, 0.36) * rng.uniform(0.92, 1.0)
    x, y = 0.5 + rng.uniform(-0.06, 0.06), 0.96 - rng.uniform(0, 0.04)
    behind = y - 0.7 * unit * EXTENT[near.noun][1]
    base = max(0.36, _unit(far, 0.9, behind - 0.05))
    aside = rng.choice((-0.12, 0.12)) if near.count == 1 else 0.0
    return [Spot(far, x, behind, base), *_row(near, x + aside, y, unit, width)]
