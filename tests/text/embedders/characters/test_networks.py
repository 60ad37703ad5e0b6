"""LIWE and charGRU: sizes of the paper, padding, order, and vectors kept at inference."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from polyglance.data.generated.captions import caption
from polyglance.data.generated.scenes import make_scene
from polyglance.text import tokenize_many
from polyglance.text.embedders.characters.alphabet import PAD, UNKNOWN, Alphabet
from polyglance.text.embedders.characters.spelling import character_ids
from polyglance.text.lexicon import Lexicon
from polyglance.text.embedders.characters.layer import SpeltWords
from polyglance.text.embedders.characters.weighted_norm import WeightedBatchNorm
from polyglance.text.embedders.characters.networks import LARGE, CharGRU, Liwe, WordEmbedder

ALPHABET = Alphabet("abcdefghijklmnopé狗")
KINDS = ["liwe", "chargru"]
WORDS = ["a", "dog", "dog", "fé", "abcdefghijkl", "狗", "Ж", "a"]
LENGTH = 9


def make(kind: str, pad_statistics: bool = False, seed: int = 0) -> WordEmbedder:
    """A small embedder in training mode, with batch norms that are not trivial."""
    torch.manual_seed(seed)
    size = len(ALPHABET)
    if kind == "chargru":
        return CharGRU(size, 7, 4, LENGTH, pad_statistics)
    model = Liwe(size, (6, 5), 7, 4, LENGTH, pad_statistics)
    for norm in (layer.norm for layer in model.layers):
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias)
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    return model


def spell(words: list[str], length: int = LENGTH) -> Tensor:
    return torch.from_numpy(character_ids(words, ALPHABET, length))


@pytest.mark.parametrize(
    ("layers", "weights"),
    [
        ((128, 256), 189_440),
        ((128, 384), 244_224),
        ((256, 256), 302_080),
        ((128, 512), 299_008),
        ((384, 384), 502_272),
        ((384, 448), 546_048),
        ((512, 512), 735_232),
        ((1024, 512), 1_316_864),
    ],
)
def test_golden_sizes(layers: tuple[int, int], weights: int) -> None:
    model = Liwe(101, layers)
    assert model.paper_size() == weights
    rest = 101 * 24 + sum(4 * n for n in (*layers, 300))  # bias, norm's two, weight norm's scale
    assert sum(p.numel() for p in model.parameters()) == weights + rest


def test_golden_size_of_the_character_gru() -> None:
    model = CharGRU(101)
    assert model.paper_size() == 293_400
    assert sum(p.numel() for p in model.parameters()) == 293_400 + 101 * 24


def test_large_characters_make_wide_words() -> None:
    model = Liwe(101, (8, 8), dimension=LARGE)
    assert model.layers[0].linear.weight.shape == (8, 3120)
    assert model.eval()(spell(["dog", "a"], 26)).shape == (2, 300)


def test_layers_by_hand() -> None:
    model = make("liwe").eval()
    with torch.no_grad():
        vectors = model.characters(spell(WORDS)).reshape(len(WORDS), -1)
        for layer in model.layers:
            norm, weight = layer.norm, layer.linear.parametrizations.weight
            direction = weight.original1 / weight.original1.norm(dim=1, keepdim=True)
            x = vectors @ (weight.original0 * direction).t() + layer.linear.bias
            x = (x - norm.running_mean) / (norm.running_var + 1e-5).sqrt() * norm.weight + norm.bias
            vectors = torch.where(x > 0, x, 0.1 * x)
        torch.testing.assert_close(model(spell(WORDS)), vectors)


def test_the_character_gru_is_torchs() -> None:
    model = make("chargru").eval()
    with torch.no_grad():
        for word in WORDS:
            row = spell([word])[:, : len(word)]
            states, _ = nn.GRU.forward(model.gru, model.characters(row))
            torch.testing.assert_close(model(spell([word])), states.amax(1))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(
    words=st.lists(st.text("abcé狗😀Жx", min_size=1, max_size=200), min_size=1, max_size=6),
    extra=st.integers(0, 4),
    data=st.data(),
)
def test_neither_padding_nor_company_changes_a_vector(
    kind: str, words: list[str], extra: int, data: st.DataObject
) -> None:
    model = make(kind).eval()
    order = data.draw(st.permutations(range(len(words))))
    with torch.no_grad():
        together = model(spell(words))
        shuffled = model(spell([words[i] for i in order] + [""] * extra))
        torch.testing.assert_close(shuffled[: len(words)], together[list(order)])
        for word, vector in zip(words, together, strict=True):
            narrow = spell([word], min(len(word), LENGTH))
            torch.testing.assert_close(model(narrow)[0], vector)
            torch.testing.assert_close(model(spell([word], LENGTH + extra))[0], vector)
    assert together.isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_vector_of_padding_never_moves(kind: str) -> None:
    model = make(kind)
    model(spell(WORDS)).square().sum().backward()
    assert not model.characters.weight[PAD].any()
    assert not model.characters.weight.grad[PAD].any()
    compat = make(kind, pad_statistics=True)
    compat(spell(WORDS)).square().sum().backward()
    assert compat.characters.weight.grad[PAD].any()


@pytest.mark.parametrize("pad_statistics", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_each_word_once_is_every_occurrence(kind: str, pad_statistics: bool) -> None:
    occurrences = [*WORDS, "dog", "fé", "dog", "", ""]
    distinct = list(dict.fromkeys(occurrences))
    counts = torch.tensor([occurrences.count(word) for word in distinct])
    target = torch.randn(len(occurrences), 7, generator=torch.Generator().manual_seed(1))
    place = torch.tensor([distinct.index(word) for word in occurrences])
    every, once = make(kind, pad_statistics), make(kind, pad_statistics)
    kept = slice(None) if pad_statistics else slice(0, -2)
    # All occurrences through torch's own batch norm; padding only where it shall count.
    all_vectors = every(spell(occurrences[kept]))
    vectors = once(spell(distinct), counts)[place]
    torch.testing.assert_close(vectors[kept], all_vectors)
    (all_vectors * target[kept]).sum().backward()
    (vectors * target)[kept].sum().backward()
    for (name, mine), theirs in zip(once.named_parameters(), every.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-4, msg=name)
    for mine, theirs in zip(once.buffers(), every.buffers(), strict=True):
        torch.testing.assert_close(mine, theirs)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=8), st.integers(0, 999))
def test_weighted_batch_norm_is_batch_norm_of_repeated_rows(counts: list[int], seed: int) -> None:
    if sum(counts) < 2:
        counts = [*counts, 2]
    rows = torch.randn(len(counts), 3, generator=torch.Generator().manual_seed(seed))
    repeats = torch.tensor(counts)
    mine, theirs = WeightedBatchNorm(3), nn.BatchNorm1d(3)
    expected = theirs(rows.repeat_interleave(repeats, 0))
    found = mine(rows, repeats).repeat_interleave(repeats, 0)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(mine.running_var, theirs.running_var)
    torch.testing.assert_close(mine.eval()(rows), theirs.eval()(rows))


def test_one_word_in_training_is_finite() -> None:
    vectors = make("liwe")(spell(["dog"]))
    assert vectors.isfinite().all()


@pytest.fixture(params=KINDS)
def words(request: pytest.FixtureRequest) -> SpeltWords:
    """Spelt words in evaluation, with room for 5."""
    return SpeltWords(make(request.param), Lexicon(ALPHABET, LENGTH), limit=5).eval()


def look_up(words: SpeltWords, ids: list[int]) -> Tensor:
    with torch.no_grad():
        return words(torch.tensor(ids))


def embedded(words: SpeltWords) -> list[int]:
    """Numbers of words embedded by each call from now on."""
    sizes: list[int] = []
    words.embedder.register_forward_hook(lambda _, args, output: sizes.append(len(output)))
    return sizes


def test_a_word_is_embedded_once(words: SpeltWords) -> None:
    ids = words.lexicon.encode(["dog", "a", "fé"])
    sizes = embedded(words)
    first = look_up(words, ids)
    again = look_up(words, ids[::-1])
    more = look_up(words, [*words.lexicon.encode(["b", "c"]), ids[1]])
    assert sizes == [3, 2]
    torch.testing.assert_close(again.flip(0), first, rtol=0, atol=0)
    torch.testing.assert_close(more[2], first[1], rtol=0, atol=0)
    with torch.no_grad():
        torch.testing.assert_close(first, words.embed(torch.tensor(ids)))


def test_the_table_is_bounded(words: SpeltWords) -> None:
    ids = words.lexicon.encode(["dog", "a", "fé", "b", "c", "d", "e", "f", "g"])
    with torch.no_grad():
        expected = words.embed(torch.tensor(ids))
    sizes = embedded(words)
    for part in (ids[:4], ids[2:7], ids, ids[2:7], ids[2:4]):
        torch.testing.assert_close(look_up(words, part), expected[[ids.index(i) for i in part]])
    assert sizes == [4, 5, 9]


@pytest.mark.parametrize("change", ["step", "load", "assign", "forget"])
def test_new_weights_give_new_vectors(words: SpeltWords, change: str) -> None:
    ids = words.lexicon.encode(["dog", "a"])
    before = look_up(words, ids)
    model = words.embedder
    if change == "step":
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
        words(torch.tensor(ids)).square().sum().backward()
        optimizer.step()
    elif change == "load":
        kind = "liwe" if isinstance(model, Liwe) else "chargru"
        model.load_state_dict(make(kind, seed=1).state_dict())
    elif change == "assign":
        model.characters.weight = nn.Parameter(torch.randn_like(model.characters.weight))
    else:
        model.characters.weight.data.add_(1)
        words.forget()
    after = look_up(words, ids)
    assert not torch.allclose(before, after)
    with torch.no_grad():
        torch.testing.assert_close(after, words.embed(torch.tensor(ids)))


def test_training_empties_the_table(words: SpeltWords) -> None:
    ids = words.lexicon.encode(["dog", "a", "fé"])
    before = look_up(words, ids)
    words.train()
    words(torch.tensor(ids))  # moves the running statistics of batch norm
    after = look_up(words.eval(), ids)
    assert torch.equal(before, after) == isinstance(words.embedder, CharGRU)


def test_a_lexicon_that_forgot_gives_new_vectors(words: SpeltWords) -> None:
    kept = len(words.lexicon)
    before = look_up(words, words.lexicon.encode(["dog"]))
    words.lexicon.forget(kept)
    ids = words.lexicon.encode(["abc"])
    assert ids == [kept]
    assert not torch.allclose(before, look_up(words, ids))


def test_gradients_pass_in_evaluation_too(words: SpeltWords) -> None:
    ids = words.lexicon.encode(["dog", "a"])
    look_up(words, ids)
    words(torch.tensor(ids)).sum().backward()
    assert words.embedder.characters.weight.grad is not None


def test_inference_mode_and_no_grad_share_the_table(words: SpeltWords) -> None:
    ids = words.lexicon.encode(["dog", "a", "fé"])
    with torch.inference_mode():
        first = words(torch.tensor(ids[:2]))
    sizes = embedded(words)
    second = look_up(words, ids)
    with torch.inference_mode():
        third = words(torch.tensor(ids))
    assert sizes == [1]
    assert torch.equal(second[:2], first)
    assert torch.equal(third, second)


def test_changing_modes_keeps_the_table_of_a_model_that_is_not_trained(words: SpeltWords) -> None:
    ids = words.lexicon.encode(["dog", "a"])
    look_up(words, ids)
    sizes = embedded(words)
    look_up(words.train().eval(), ids)
    assert sizes == []


def test_judging_between_forward_and_step_leaves_nothing_stale(words: SpeltWords) -> None:
    ids = words.lexicon.encode(["dog", "a", "b"])
    optimizer = torch.optim.Adam(words.parameters(), lr=0.1, fused=True)
    loss = words.train()(torch.tensor(ids)).square().sum()
    look_up(words.eval(), ids)
    words.train()
    loss.backward()
    optimizer.step()
    after = look_up(words.eval(), ids)
    with torch.no_grad():
        torch.testing.assert_close(after, words.embed(torch.tensor(ids)))


def test_no_cache_among_the_weights(words: SpeltWords) -> None:
    look_up(words, words.lexicon.encode(["dog"]))
    assert all(name.startswith("embedder.") for name in words.state_dict())


def test_padding_does_not_count_in_training() -> None:
    """The tower's distinct ids hold <pad> wherever captions differ in length."""
    results = []
    for ids, counts in ([4, 5], [3, 1]), ([0, 4, 5], [9, 3, 1]):
        words = SpeltWords(make("liwe"), Lexicon(ALPHABET, LENGTH))
        words.lexicon.encode(["dog", "a"])
        results.append(words(torch.tensor(ids), torch.tensor(counts))[-2:])
    torch.testing.assert_close(results[0], results[1])


def test_captions_of_every_script_have_known_characters() -> None:
    scenes = [caption(make_scene(0, i), 0, i) for i in range(3)]
    languages = [code for code in scenes[0] if code not in ("ja", "zh")]
    texts = {code: [scene[code]["translation"][0] for scene in scenes] for code in languages}
    tokens = {code: tokenize_many(found, code) for code, found in texts.items()}
    tokens |= {"zh": [["一只", "狗"]], "ja": [["犬", "が", "走っ", "て"]]}
    lexicon = Lexicon(Alphabet.build(tokens, threshold=1))
    for found in tokens.values():
        ids = lexicon.encode_many(found).flat
        rows = lexicon.characters(np.unique(ids))
        assert (rows != UNKNOWN).all()
        assert (rows[:, 0] != PAD).all()
