"""The contents of the world: nouns, colours, actions, relations, places."""

from dataclasses import dataclass

PEOPLE = ("man", "woman", "girl", "boy")
ANIMALS = ("dog", "cat", "horse", "bird", "fish")
THINGS = (
    "ball", "car", "boat", "tree", "house", "bicycle", "umbrella", "chair", "flower", "kite"
)  # fmt: skip
NOUNS = PEOPLE + ANIMALS + THINGS
PLACES = ("meadow", "beach", "street", "snow", "night", "room")
COLOURS = {
    "red": (214, 40, 40),
    "blue": (45, 95, 215),
    "green": (40, 150, 60),
    "yellow": (245, 205, 40),
    "white": (246, 246, 246),
    "black": (38, 38, 44),
    "brown": (133, 84, 46),
    "purple": (140, 65, 175),
}
SEVERAL = 6
"""The vague count of a mention: three or more."""

_LEGGED = ("run", "sit", "sleep", "jump", "eat")
ACTIONS = {
    **dict.fromkeys((*PEOPLE, "dog"), (*_LEGGED, "swim")),
    "cat": _LEGGED,
    "horse": ("run", "sleep", "jump", "eat"),
    "bird": ("fly", "sit", "sleep", "eat"),
    "fish": ("swim", "jump"),
}
INVERSE = {
    "left": "right",
    "right": "left",
    "above": "below",
    "below": "above",
    "front": "behind",
    "behind": "front",
    "on": "under",
    "under": "on",
    "next": "next",
}
"""(a, relation, b) is (b, INVERSE[relation], a); `next` is what left and right imply."""

FLOATING = ("bird", "kite", "ball", "umbrella")
SUPPORTS = ("chair", "car", "boat")
SITTERS = (*PEOPLE, "dog", "cat", "bird", "ball", "flower", "umbrella")
LARGE = ("house", "tree", "car", "boat", "horse")
OUTDOOR = ("house", "tree", "car", "boat", "horse", "fish")


@dataclass(frozen=True, slots=True)
class Group:
    """`count` equal things: five small red dogs that run. A person's colour is the clothes'."""

    noun: str
    colour: str
    count: int
    size: str | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """One group, or two, of which `groups[0]` is `relation` (left of, …) `groups[1]`."""

    groups: tuple[Group, ...]
    relation: str | None
    place: str


def kind(noun: str) -> str:
    """`person`, `animal` or `thing`."""
    return "person" if noun in PEOPLE else "animal" if noun in ANIMALS else "thing"
