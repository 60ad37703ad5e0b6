"""Samples scenes, in families of four with the same nouns and colours.

Within a family, colours are swapped and the relation changes, so that neither colours nor objects
alone determine which of the four images a caption describes.
"""

from dataclasses import replace
from random import Random

from polyglance.data.generated.world import (
    ACTIONS,
    COLOURS,
    FLOATING,
    INVERSE,
    LARGE,
    NOUNS,
    OUTDOOR,
    PEOPLE,
    PLACES,
    SITTERS,
    SUPPORTS,
    Group,
    Scene,
)

CYCLE = 10
VARIANTS = 4
_COUNTS = (1, 1, 1, 1, 1, 2, 2, 3, 4, 5)
_STILL = ("sit", "sleep", "eat")
_FITTING = {
    "left": (NOUNS, NOUNS, (5, 5)),
    "above": (FLOATING, NOUNS, (5, 5)),
    "front": (NOUNS, LARGE, (3, 1)),
    "on": (SITTERS, SUPPORTS, (2, 1)),
}
"""For each relation, the possible nouns of both sides, and the most of each."""


def split_of(index: int) -> str:
    """Of every ten images, eight are `train`, one `val`, one `test`."""
    return {8: "val", 9: "test"}.get(index % CYCLE, "train")


def family_of(index: int) -> tuple[int, int]:
    """(family, variant); members of a family are ten apart, so in the same split."""
    block, within = divmod(index, CYCLE * VARIANTS)
    return block * CYCLE + within % CYCLE, within // CYCLE


def make_scene(seed: int, index: int) -> Scene:
    """Scene `index` of the world `seed`."""
    family, variant = family_of(index)
    shared, own = Random(f"{seed}/family/{family}"), Random(f"{seed}/scene/{index}")
    if shared.random() < 0.15:
        return _single(shared, own, variant)
    return _pair(shared, own, variant)


def _single(shared: Random, own: Random, variant: int) -> Scene:
    noun, colour = shared.choice(NOUNS), shared.choice(list(COLOURS))
    count = shared.sample((1, 2, 3, 4, 5), VARIANTS)[variant]
    group = _sized(Group(noun, colour, count), own)
    group = replace(group, action=_act(own, ACTIONS.get(noun, ())))
    return Scene((group,), None, _place(own, (group,)))


def _pair(shared: Random, own: Random, variant: int) -> Scene:
    nouns, counts, relations = _base(shared)
    colours = shared.sample(list(COLOURS), 2)
    if variant % 2:
        colours.reverse()
    relation = relations[variant // 2]
    parts = zip(nouns, colours, counts, strict=True)
    roles = (relation, INVERSE[relation])
    groups = tuple(_related(Group(*p), role, own) for p, role in zip(parts, roles, strict=True))
    return Scene(groups, relation, _place(own, groups))


def _base(rng: Random) -> tuple[list[str], list[int], tuple[str, str]]:
    """What a family shares: two nouns, their counts, and two possible relations."""
    relation = rng.choice(list(_FITTING))
    firsts, seconds, most = _FITTING[relation]
    first = rng.choice(firsts)
    nouns = [first, rng.choice([noun for noun in seconds if noun != first])]
    counts = [min(rng.choice(_COUNTS), limit) for limit in most]
    mirrored = nouns[0] in seconds and nouns[1] in firsts
    mirrored = mirrored and counts[0] <= most[1] and counts[1] <= most[0]
    other = INVERSE[relation] if mirrored else rng.choice(("left", "right"))
    if rng.random() < 0.5:
        return nouns, counts, (relation, other)
    return nouns[::-1], counts[::-1], (INVERSE[relation], INVERSE[other])


def _related(group: Group, relation: str, rng: Random) -> Group:
    """Add size and action, such that nothing big hides something small."""
    group = _sized(group, rng)
    if (relation, group.size) in (("front", "big"), ("behind", "small"), ("under", "small")):
        group = replace(group, size=None)
    return replace(group, action=_act(rng, _allowed(group.noun, relation)))


def _allowed(noun: str, relation: str) -> tuple[str, ...]:
    """The actions that are visible in a relation."""
    actions = ACTIONS.get(noun, ())
    if relation == "above":
        return tuple(action for action in actions if action == "fly")
    if relation in ("left", "right"):
        return actions
    return tuple(action for action in actions if action in _STILL)


def _act(rng: Random, actions: tuple[str, ...]) -> str | None:
    return rng.choice(actions) if actions and rng.random() < 0.85 else None


def _sized(group: Group, rng: Random) -> Group:
    if group.count > 2 or group.noun in PEOPLE:
        return group
    return replace(group, size=rng.choice((None, "big", "small")))


def _place(rng: Random, groups: tuple[Group, ...]) -> str:
    outdoor = any(group.noun in OUTDOOR or group.action == "swim" for group in groups)
    return rng.choice([place for place in PLACES if not (outdoor and place == "room")])
