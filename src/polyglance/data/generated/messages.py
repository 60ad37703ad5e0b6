"""The content of captions, derived from the scene, so that captions are true."""

from dataclasses import dataclass
from random import Random

from polyglance.data.generated.world import INVERSE, SEVERAL, Group, Scene

FORMS = ("statement", "fronted", "presence", "label")
"""A dog sits … · In a meadow, a dog sits … · There is a dog … · A dog on …"""


@dataclass(frozen=True, slots=True)
class Mention:
    """How a group is named; `count` is 1 to 5, or `SEVERAL`. Only single things are `definite`."""

    noun: str
    count: int = 1
    colour: str | None = None
    size: str | None = None
    definite: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """Who does what, where. `variant` selects synonyms; `place` or `other` may be missing."""

    subject: Mention
    action: str | None = None
    relation: str | None = None
    other: Mention | None = None
    place: str | None = None
    form: str = "statement"
    variant: int = 0


def whole_message(scene: Scene) -> Message:
    """Everything about the first group, and its relation to the second."""
    mentions = [Mention(g.noun, g.count, g.colour, g.size) for g in scene.groups]
    other = mentions[1] if len(mentions) > 1 else None
    return Message(mentions[0], scene.groups[0].action, scene.relation, other, scene.place)


def free_message(scene: Scene, rng: Random) -> Message:
    """A random description: a subject, some attributes, a form."""
    first = 0 if len(scene.groups) == 1 or rng.random() < 0.6 else 1
    subject = scene.groups[first]
    other = scene.groups[1 - first] if len(scene.groups) > 1 and rng.random() < 0.8 else None
    relation = _relation(scene, first, rng) if other else None
    form = rng.choice(FORMS)
    action = subject.action if form in ("statement", "fronted") and rng.random() < 0.8 else None
    wanted = form == "fronted" or not (action or relation) or rng.random() < 0.5
    single = subject.count == 1 and (other is None or other.count == 1)
    known = form in ("statement", "fronted") and bool(action or relation)
    definite = single and known and rng.random() < 0.3
    return Message(
        _mention(subject, definite, rng),
        action,
        relation,
        _mention(other, definite, rng) if other else None,
        scene.place if wanted else None,
        form,
        rng.randrange(2),
    )


def _relation(scene: Scene, subject: int, rng: Random) -> str | None:
    relation = scene.relation
    if relation is None:
        return None
    if relation in ("left", "right") and rng.random() < 0.25:
        return "next"
    return INVERSE[relation] if subject else relation


def _mention(group: Group, definite: bool, rng: Random) -> Mention:
    colour = group.colour if rng.random() < 0.85 else None
    size = group.size if rng.random() < 0.75 else None
    vague = group.count >= 3 and rng.random() < 0.25
    return Mention(group.noun, SEVERAL if vague else group.count, colour, size, definite)
