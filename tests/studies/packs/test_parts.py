"""Ranks in as few bytes as they need, the same when they come back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglance.studies.packs.archive import PART_NAME
from polyglance.studies.packs.parts import as_lists, filled, outlined, packed_ranks, unpacked_ranks


@given(st.lists(st.integers(0, (1 << 32) - 1)))
def test_ranks_come_back(values: list[int]) -> None:
    name, content = packed_ranks(values)
    assert PART_NAME.fullmatch(name)
    assert unpacked_ranks(name, content).tolist() == values


@pytest.mark.parametrize(("most", "width"), [(0, 1), (255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_a_rank_has_the_bytes_that_the_largest_needs(most: int, width: int) -> None:
    assert len(packed_ranks([0, 1, most])[1]) == 3 * width


@pytest.mark.parametrize("wrong", [[-1], [1 << 32]])
def test_invalid_ranks_are_not_packed(wrong: list[int]) -> None:
    with pytest.raises(ValueError, match="ranks are numbers"):
        packed_ranks(wrong)


def test_parts_shared_by_results_are_stored_once() -> None:
    def result(ranks: list[int]) -> dict:
        own = {"photo": [0, 1], "caption_image": [0, 1], "image_to_text": ranks}
        return {"photos": ["a.jpg", "ß.jpg"], "languages": {"en": {"known": True, "ranks": own}}}

    parts: dict[str, bytes] = {}
    first, second = (outlined(result(ranks), parts.__setitem__) for ranks in ([0, 1], [1, 0]))
    assert len(parts) == 3, "names, indices (the same twice, and as ranks), and other ranks"
    assert first["photos"] == second["photos"]
    back = filled(second, parts.__getitem__)
    assert isinstance(back["languages"]["en"]["ranks"]["photo"], np.ndarray)
    assert as_lists(back) == result([1, 0])
    with pytest.raises(ValueError, match="another name"):
        filled({**second, "photos": "../photos.json"}, parts.__getitem__)
