"""Scenes, what is said of them, and where their members stand."""

from collections import Counter, defaultdict
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.data.generated.drawing import SIZE, render
from polyglance.data.generated.drawing.layout import Spot, place_members
from polyglance.data.generated.languages import LANGUAGES
from polyglance.data.generated.messages import Mention, Message, free_message, whole_message
from polyglance.data.generated.scenes import family_of, make_scene, split_of
from polyglance.data.generated.store import caption
from polyglance.data.generated.world import ACTIONS, INVERSE, PEOPLE, SEVERAL, Group, Scene

scenes = st.builds(make_scene, st.integers(0, 3), st.integers(0, 5000))


def agrees(mention: Mention, group: Group) -> bool:
    counted = mention.count == group.count or (mention.count == SEVERAL and group.count >= 3)
    coloured = mention.colour in (None, group.colour)
    return mention.noun == group.noun and counted and coloured and mention.size in (
        None, group.size,
    )  # fmt: skip


def is_true(message: Message, scene: Scene) -> bool:
    """Whether some reading of the message holds in the scene."""
    for number, group in enumerate(scene.groups):
        if not agrees(message.subject, group) or message.action not in (None, group.action):
            continue
        if message.place not in (None, scene.place):
            continue
        if message.relation is None:
            return True
        relation = scene.relation or ""
        holding = {INVERSE[relation] if number else relation}
        if holding & {"left", "right"}:
            holding.add("next")
        other = scene.groups[1 - number]
        if message.relation in holding and message.other and agrees(message.other, other):
            return True
    return False


@given(scenes, st.integers(0, 10**6))
def test_messages_are_true(scene: Scene, lot: int) -> None:
    assert is_true(whole_message(scene), scene)
    assert is_true(free_message(scene, Random(lot)), scene)


@given(scenes)
def test_a_wrong_binding_is_not_true(scene: Scene) -> None:
    if len(scene.groups) == 2:
        first, second = scene.groups
        swapped = Scene(
            (
                Group(first.noun, second.colour, first.count, first.size, first.action),
                Group(second.noun, first.colour, second.count, second.size, second.action),
            ),
            scene.relation,
            scene.place,
        )
        assert not is_true(whole_message(scene), swapped)


@given(scenes)
def test_scenes_are_possible(scene: Scene) -> None:
    for group in scene.groups:
        assert group.action is None or group.action in ACTIONS[group.noun]
        assert group.size is None or (group.count <= 2 and group.noun not in PEOPLE)
    assert (scene.relation is None) == (len(scene.groups) == 1)


@given(scenes, st.integers(0, 10**6))
def test_members_stand_as_the_relation_says(scene: Scene, lot: int) -> None:
    spots = place_members(scene, Random(lot))
    assert Counter(spot.group for spot in spots) == Counter(
        {group: group.count for group in scene.groups}
    )
    assert all(0 <= spot.x <= 1 and 0 <= spot.y <= 1 for spot in spots)
    if len(scene.groups) == 2:
        first, second = ([s for s in spots if s.group == group] for group in scene.groups)
        assert _holds(scene.relation or "", first, second, spots)


def _holds(relation: str, first: list[Spot], second: list[Spot], order: list[Spot]) -> bool:
    if relation in ("right", "below", "behind", "under"):
        return _holds(INVERSE[relation], second, first, order)
    if relation == "left":
        return max(s.x for s in first) < min(s.x for s in second)
    if relation in ("above", "on"):
        return max(s.y for s in first) < min(s.y for s in second)
    nearer = min(s.y for s in first) > max(s.y for s in second)
    return nearer and order.index(first[0]) > order.index(second[0])


def test_splits_are_eight_one_one_and_keep_families_together() -> None:
    assert Counter(split_of(index) for index in range(1000)) == {
        "train": 800, "val": 100, "test": 100,
    }  # fmt: skip
    splits = defaultdict(set)
    for index in range(400):
        splits[family_of(index)[0]].add(split_of(index))
    assert all(len(names) == 1 for names in splits.values())


def _bag(scene: Scene) -> tuple[object, ...]:
    """What a bag of colours and objects sees of a scene."""
    return (
        tuple(sorted(group.noun for group in scene.groups)),
        tuple(sorted(group.colour for group in scene.groups)),
    )


def test_a_bag_of_colours_and_objects_does_not_find_the_scene() -> None:
    test = [make_scene(0, index) for index in range(1000) if split_of(index) == "test"]
    sharing = defaultdict(list)
    for scene in test:
        sharing[_bag(scene)].append(scene)
    bound = {
        bag: {
            (frozenset((g.noun, g.colour, g.count) for g in s.groups), s.groups[0].noun, s.relation)
            for s in members
        }
        for bag, members in sharing.items()
    }
    confusable = sum(len(bound[_bag(scene)]) > 1 for scene in test)
    assert confusable >= 0.95 * len(test)
    best_recall_at_1 = len(sharing) / len(test)
    assert best_recall_at_1 <= 0.3


def test_members_of_a_family_have_the_same_colours_elsewhere() -> None:
    index = next(i for i in range(100) if len(make_scene(0, i).groups) == 2)
    base = index % 10 + index // 40 * 40
    family = [make_scene(0, base + 10 * variant) for variant in range(4)]
    assert len({_bag(scene) for scene in family}) == 1
    owners = {tuple((g.noun, g.colour) for g in scene.groups) for scene in family}
    assert len(owners) == 2
    assert len({scene.relation for scene in family}) == 2


@pytest.mark.parametrize("index", [0, 7, 123])
def test_every_language_has_both_kinds(index: int) -> None:
    captions = caption(make_scene(0, index), 0, index)
    assert tuple(captions) == LANGUAGES
    for kinds in captions.values():
        assert {kind: len(texts) for kind, texts in kinds.items()} == {
            "independent": 2, "translation": 1,
        }  # fmt: skip


def test_independent_captions_vary() -> None:
    texts = [
        text
        for index in range(100)
        for text in caption(make_scene(0, index), 0, index)["en"]["independent"]
    ]
    assert len(set(texts)) > 0.9 * len(texts)


def test_the_colour_of_a_group_can_be_seen() -> None:
    def share(colour: str, red: bool) -> float:
        scene = Scene((Group("car", colour, 1, "big"),), None, "snow")
        pixels = render(scene, Random(0)).convert("RGB").resize((48, 48)).tobytes()
        triples = zip(pixels[::3], pixels[1::3], pixels[2::3], strict=True)
        hits = sum((r > 2 * b and r > 2 * g) if red else (b > 2 * r) for r, g, b in triples)
        return hits / 48**2

    assert share("red", red=True) > 0.04 > share("blue", red=True)
    assert share("blue", red=False) > 0.04 > share("red", red=False)


@pytest.mark.parametrize("noun", list(ACTIONS))
def test_actions_and_counts_change_the_picture(noun: str) -> None:
    variants = [Group(noun, "red", 1, None, action) for action in (None, *ACTIONS[noun])]
    variants += [Group(noun, "red", count) for count in (2, 3, 4, 5)]
    pictures = [render(Scene((group,), None, "beach"), Random(5)) for group in variants]
    assert all(picture.size == (SIZE, SIZE) and picture.mode == "RGB" for picture in pictures)
    assert len({picture.tobytes() for picture in pictures}) == len(variants)
