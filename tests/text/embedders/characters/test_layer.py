"""The layer over characters: vectors kept while the weights stay, words of a call, pretrained."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from polyglance.text.embedders.cache import LRU
from polyglance.text.embedders.characters.forms import Form, FormTable
from polyglance.text.embedders.characters.layer import CharacterLayer
from polyglance.text.embedders.characters.networks import CharGRU, Liwe
from polyglance.text.embedders.encoded import FIRST_UNSEEN, Unseen
from polyglance.text.vectors.word_vectors import WordVectors
from tests.text.embedders.characters.small import ALPHABET, LENGTH, make, spell
from tests.text.threads import at_once

WORDS = ["dog", "a", "fé", "b", "c", "d", "e", "f", "g"]
TABLE = FormTable(ALPHABET, LENGTH, [Form(word) for word in WORDS])


def ids_of(*words: str) -> list[int]:
    return [TABLE.ids[Form(word)] for word in words]


def layer_of(kind: str, limit: int = 5) -> CharacterLayer:
    layer = CharacterLayer(make(kind), TABLE.characters)
    layer.cache = LRU(limit)
    return layer


@pytest.fixture(params=["liwe", "chargru"])
def words(request: pytest.FixtureRequest) -> CharacterLayer:
    """A layer in evaluation, which keeps 5 words."""
    return layer_of(request.param).eval()


def look_up(words: CharacterLayer, ids: list[int]) -> Tensor:
    with torch.no_grad():
        return words(torch.tensor(ids))


def plain(words: CharacterLayer, ids: list[int]) -> Tensor:
    """The same without the cache."""
    with torch.no_grad():
        return words.embedder(words.forms[ids])


def embedded(words: CharacterLayer) -> list[int]:
    """Numbers of words embedded by each call from now on."""
    sizes: list[int] = []
    words.embedder.register_forward_hook(lambda _, args, output: sizes.append(len(output)))
    return sizes


def test_a_word_is_embedded_once(words: CharacterLayer) -> None:
    ids = ids_of("dog", "a", "fé")
    expected = plain(words, ids)
    sizes = embedded(words)
    first = look_up(words, ids)
    again = look_up(words, ids[::-1])
    more = look_up(words, [*ids_of("b", "c"), ids[1]])
    assert sizes == [3, 2]
    torch.testing.assert_close(again.flip(0), first, rtol=0, atol=0)
    torch.testing.assert_close(more[2], first[1], rtol=0, atol=0)
    torch.testing.assert_close(first, expected)


def test_the_cache_is_bounded(words: CharacterLayer) -> None:
    ids = ids_of(*WORDS)
    expected = plain(words, ids)
    sizes = embedded(words)
    for part in (ids[:4], ids[2:7], ids, ids[2:7], ids[2:4]):
        torch.testing.assert_close(look_up(words, part), expected[[ids.index(i) for i in part]])
        assert len(words.cache) <= 5
    # The longest unused go: 0 and 1, then 2 to 5, then 0, 1, 7 and 8.
    assert sizes == [4, 3, 4, 4]


@pytest.mark.parametrize("change", ["step", "fused step", "load", "assign"])
def test_new_weights_give_new_vectors(words: CharacterLayer, change: str) -> None:
    ids = ids_of("dog", "a")
    before = look_up(words, ids)
    network = words.embedder
    if "step" in change:
        optimizer = torch.optim.Adam(network.parameters(), lr=0.1, fused="fused" in change)
        words(torch.tensor(ids)).square().sum().backward()
        optimizer.step()
    elif change == "load":
        kind = "liwe" if isinstance(network, Liwe) else "chargru"
        network.load_state_dict(make(kind, seed=1).state_dict())
    else:
        network.characters.weight = nn.Parameter(torch.randn_like(network.characters.weight))
    after = look_up(words, ids)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, plain(words, ids))


def test_training_empties_the_cache(words: CharacterLayer) -> None:
    ids = ids_of("dog", "a", "fé")
    before = look_up(words, ids)
    words.train()
    assert len(words.cache) == 0
    words(torch.tensor(ids))  # moves the running statistics of batch norm
    after = look_up(words.eval(), ids)
    assert torch.equal(before, after) == isinstance(words.embedder, CharGRU)
    torch.testing.assert_close(after, plain(words, ids))


def test_the_same_mode_keeps_the_cache(words: CharacterLayer) -> None:
    ids = ids_of("dog", "a")
    look_up(words, ids)
    sizes = embedded(words)
    look_up(words.eval(), ids)
    assert sizes == []


def test_gradients_pass_in_evaluation_too(words: CharacterLayer) -> None:
    ids = ids_of("dog", "a")
    look_up(words, ids)
    words(torch.tensor(ids)).sum().backward()
    assert words.embedder.characters.weight.grad is not None


def test_inference_mode_and_no_grad_share_the_cache(words: CharacterLayer) -> None:
    ids = ids_of("dog", "a", "fé")
    with torch.inference_mode():
        first = words(torch.tensor(ids[:2]))
    sizes = embedded(words)
    second = look_up(words, ids)
    with torch.inference_mode():
        third = words(torch.tensor(ids))
    assert sizes == [1]
    assert torch.equal(second[:2], first)
    assert torch.equal(third, second)


@pytest.mark.parametrize("mode", [True, False])
def test_reading_between_forward_and_step_leaves_nothing_stale(
    words: CharacterLayer, mode: bool
) -> None:
    ids = ids_of("dog", "a", "b")
    optimizer = torch.optim.Adam(words.parameters(), lr=0.1, fused=True)
    loss = words.train(mode)(torch.tensor(ids)).square().sum()
    before = look_up(words.eval(), ids)
    words.train(mode)
    loss.backward()
    optimizer.step()
    after = look_up(words.eval(), ids)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, plain(words, ids))


def test_no_cache_among_the_weights(words: CharacterLayer) -> None:
    weights = {f"embedder.{name}" for name in words.embedder.state_dict()}
    look_up(words, ids_of("dog"))
    assert weights
    assert set(words.state_dict()) == weights


def pickled(layer: CharacterLayer) -> CharacterLayer:
    return pickle.loads(pickle.dumps(layer))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_copies_are_their_own(words: CharacterLayer, copied) -> None:
    if isinstance(words.embedder, Liwe) and copied is pickled:
        pytest.skip("torch does not pickle modules with weight norm")
    ids = ids_of("dog", "a")
    before = look_up(words, ids)
    other = copied(words)
    assert torch.equal(look_up(other, ids), before)
    assert other.cache is not words.cache
    other.embedder.load_state_dict(
        make("liwe" if isinstance(words.embedder, Liwe) else "chargru", seed=1).state_dict()
    )
    assert not torch.allclose(look_up(other, ids), before)
    torch.testing.assert_close(look_up(other, ids), plain(other, ids))
    assert torch.equal(look_up(words, ids), before)


def test_no_words_at_all(words: CharacterLayer) -> None:
    with torch.no_grad():
        found = words(torch.empty(0, dtype=torch.int64))
    assert found.shape == (0, words.dim)


def test_padding_does_not_count_in_training() -> None:
    """The tower's distinct ids hold <pad> wherever captions differ in length."""
    results = []
    for ids, counts in ([4, 5], [3, 1]), ([0, 4, 5], [9, 3, 1]):
        words = layer_of("liwe")
        results.append(words(torch.tensor(ids), torch.tensor(counts))[-2:])
    torch.testing.assert_close(results[0], results[1])


def test_words_of_a_call_are_read_like_the_others(words: CharacterLayer) -> None:
    unseen = Unseen({"characters": spell(["cab", "dog"]).numpy()})
    ids = torch.tensor([*ids_of("dog", "a"), FIRST_UNSEEN, FIRST_UNSEEN + 1])
    with torch.no_grad():
        found = words(ids, None, unseen)
        expected = words.embedder(spell(["dog", "a", "cab", "dog"]))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found[3], found[0], rtol=0, atol=0)
    other = Unseen({"characters": spell(["éé"]).numpy()})
    with torch.no_grad():
        again = words(torch.tensor([FIRST_UNSEEN]), None, other)
        torch.testing.assert_close(again, words.embedder(spell(["éé"])))


def test_gradients_reach_the_characters_of_unseen_words() -> None:
    words = layer_of("chargru")
    unseen = Unseen({"characters": spell(["狗"]).numpy()})
    words(torch.tensor([FIRST_UNSEEN]), torch.tensor([1]), unseen).sum().backward()
    touched = words.embedder.characters.weight.grad.abs().sum(1).nonzero().flatten().tolist()
    assert touched == spell(["狗"])[0, :1].tolist()


def test_pretrained_vectors_stand_beside() -> None:
    vectors = WordVectors(["dog", "cab"], np.array([[1, 2], [3, 4]], np.float32))
    rows = vectors.rows(["<pad>", "<start>", "<end>", "<unk>", *WORDS])
    words = CharacterLayer(make("liwe"), TABLE.characters, vectors, rows).eval()
    assert (words.dim, words.fixed) == (7 + 2, 6)
    unseen = Unseen(
        {"characters": spell(["cab", "ba"]).numpy(), "rows": vectors.rows(["cab", "ba"])}
    )
    with torch.no_grad():
        ids = torch.tensor([*ids_of("dog", "a"), FIRST_UNSEEN, FIRST_UNSEEN + 1])
        found = words(ids, None, unseen)
        spelt = words.embedder(spell(["dog", "a", "cab", "ba"]))
    torch.testing.assert_close(found[:, :7], spelt)
    assert found[:, 7:].tolist() == [[1, 2], [0, 0], [3, 4], [0, 0]]
    assert set(words.state_dict()) - {f"embedder.{k}" for k in words.embedder.state_dict()} == {
        "table"
    }


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("limit", [40, 50_000])
def test_vectors_do_not_mix_between_threads(limit: int) -> None:
    forms = [Form(f"{a}{b}") for a in "abcdefghij" for b in "abcdefghij"]
    table = FormTable(ALPHABET, LENGTH, forms)
    words = CharacterLayer(make("liwe"), table.characters).eval()
    words.cache = LRU(limit)
    ids = torch.tensor([table.ids[form] for form in forms])
    with torch.no_grad():
        expected = words.embedder(words.forms[ids])

    def work(thread: int) -> bool:
        generator = torch.Generator().manual_seed(thread)
        with torch.inference_mode():
            for _ in range(30):
                rows = torch.randperm(len(ids), generator=generator)[:25]
                if not torch.allclose(words(ids[rows]), expected[rows], atol=1e-6):
                    return False
        return True

    assert all(at_once(work))
    assert len(words.cache) <= limit
