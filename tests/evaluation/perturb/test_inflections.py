"""Inflections by frequent endings."""

from polyglance.evaluation.perturb.inflections import inflections


def test_forms_by_frequent_endings() -> None:
    verbs = ["walk", "jump", "climb", "play", "kick"]
    counts = {verb + ending: 9 for verb in verbs for ending in ("", "s", "ing")}
    counts |= {"table": 9, "tablet": 9, "dogs": 9, "dog": 9, "kickx": 9, "playz": 2}
    for n in range(200):
        counts[f"{n:03}".translate(str.maketrans("0123456789", "qwrtyuiopa")) + "mnbv"] = 9
    found = inflections(counts)
    assert found["walk"] == ["walking", "walks"]
    assert found["dogs"] == ["dog"]
    assert "table" not in found
    assert "kickx" not in found
