"""Drawing scenes by lot, in families of four that share nouns and colours.

Within a family the colours change owners and the relation changes, so that neither the colours
nor the objects of a picture tell which of the four a caption describes.
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


def split_of(index: int) -> str:
    """Eight photographs of every ten are `train`, then one `val`, one `test`."""
    return {8: "val", 9: "test"}.get(index % CYCLE, "train")


def family_of(index: int) -> tuple[int, int]:
    """(family, variant): the members of a family are ten apart, hence in the same split."""
    block, within = divmod(index, CYCLE * VARIANTS)
    return block * CYCLE + within % CYCLE, within // CYCLE


def make_scene(seed: int, index: int) -> Scene:
    """Scene `index` of the world `seed`; it depends on nothing else."""
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
    nouns = shared.sample(NOUNS, 2)
    colours = shared.sample(list(COLOURS), 2)
    counts = shared.choices(_COUNTS, k=2)
    relations = _two_relations(shared, *zip(nouns, counts, strict=True))
    if variant % 2:
        colours.reverse()
    relation = relations[variant // 2]
    groups = tuple(
        _related(Group(*parts), role, own)
        for parts, role in zip(
            zip(nouns, colours, counts, strict=True), (relation, INVERSE[relation]), strict=True
        )
    )
    return Scene(groups, relation, _place(own, groups))


def _related(group: Group, relation: str, rng: Random) -> Group:
    """Size and action, such that nothing big hides a small thing behind it."""
    group = _sized(group, rng)
    if (relation, group.size) in (("front", "big"), ("behind", "small")):
        group = replace(group, size=None)
    return replace(group, action=_act(rng, _allowed(group.noun, relation)))


def _two_relations(rng: Random, first: tuple[str, int], second: tuple[str, int]) -> tuple[str, str]:
    special = [r for r in ("above", "front", "on") if _fits(r, first, second)]
    special += [INVERSE[r] for r in ("above", "front", "on") if _fits(r, second, first)]
    one = rng.choice(special) if special and rng.random() < 0.85 else rng.choice(("left", "right"))
    if one in ("left", "right") or INVERSE[one] in special:
        return one, INVERSE[one]
    return one, rng.choice(("left", "right"))


def _fits(relation: str, first: tuple[str, int], second: tuple[str, int]) -> bool:
    (noun, count), (other, others) = first, second
    if relation == "above":
        return noun in FLOATING
    if relation == "on":
        return noun in SITTERS and count <= 2 and other in SUPPORTS and others == 1
    return other in LARGE and others == 1 and count <= 3


def _allowed(noun: str, relation: str) -> tuple[str, ...]:
    """The actions that can be seen of a noun that stands in `relation` to another."""
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
