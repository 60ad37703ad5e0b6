"""Groups of texts by owner and language."""

import numpy as np

from polyglance.training.inputs.by_language import ByLanguage


def test_against_a_plain_dictionary() -> None:
    generator = np.random.default_rng(3)
    owner = generator.integers(0, 12, 80) * 3
    codes = [("de", "en", "fr")[i] for i in generator.integers(0, 3, 80)]
    found = ByLanguage(np.arange(80) + 5, owner, codes)
    plain: dict[tuple[int, str], list[int]] = {}
    for row, (own, code) in enumerate(zip(owner.tolist(), codes, strict=True)):
        plain.setdefault((own, code), []).append(row + 5)
    made = {}
    for number, own in enumerate(found.owners.tolist()):
        for group in range(found.first[number], found.first[number] + found.count[number]):
            rows = found.rows[found.start[group] : found.start[group] + found.size[group]]
            made[own, str(found.language[group])] = rows.tolist()
    assert made == plain
    assert len(found) == len(set(owner.tolist()))


def test_draws_say_which_text() -> None:
    found = ByLanguage(np.array([4, 5, 6]), np.zeros(3, int), ["en"] * 3)
    groups, draws = np.zeros(4, int), np.array([0.0, 0.34, 0.7, 0.999])
    assert found.texts(groups, draws).tolist() == [4, 5, 6, 6]
    assert found.texts(groups, draws, 1).tolist() == [5, 6, 4, 4]
