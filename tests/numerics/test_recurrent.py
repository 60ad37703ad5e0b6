"""PackedGRU against torch.nn.GRU on packed sequences."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from polyglance.numerics import precision
from polyglance.numerics.recurrent import TOGETHER, PackedGRU, pack


@pytest.mark.parametrize("hidden", [4, TOGETHER + 1])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("lengths", [[5, 2, 3, 1], [1], [4, 4, 4], [1, 6]])
def test_states_and_gradients_equal_those_of_torch(
    hidden: int, both: bool, lengths: list[int]
) -> None:
    torch.manual_seed(0)
    gru = PackedGRU(6, hidden, both).double()
    size = torch.tensor(lengths)
    words = torch.randn(9, 6, dtype=torch.double, requires_grad=True)
    index = torch.randint(0, 9, (len(lengths), max(lengths)))
    states, packing = gru.encode(words, index, size)

    packed = pack_padded_sequence(words[index], size, batch_first=True, enforce_sorted=False)
    padded, _ = pad_packed_sequence(torch.nn.GRU.forward(gru, packed)[0], batch_first=True)
    reference = padded.flatten(0, 1)[packing.flat]
    torch.testing.assert_close(states, reference)
    last = padded[torch.arange(len(lengths)), size - 1]
    torch.testing.assert_close(states[packing.last], last)

    weights = torch.randn_like(states)
    inputs = [words, *gru.parameters()]
    ours = torch.autograd.grad((states * weights).sum(), inputs)
    theirs = torch.autograd.grad((reference * weights).sum(), inputs)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


def test_packed_order_by_hand() -> None:
    packing = pack(torch.tensor([1, 3, 2]), width=3)
    assert packing.sizes == [3, 2, 1]
    assert packing.starts == [0, 3, 5]
    # Step 0 holds sentences 1, 2, 0 (longest first), step 1 sentences 1, 2, step 2 sentence 1.
    assert packing.flat.tolist() == [3, 6, 0, 4, 7, 5]
    assert packing.last.tolist() == [2, 5, 4]


def test_same_parameters_as_torch() -> None:
    assert (
        PackedGRU(6, 4, True).state_dict().keys()
        == torch.nn.GRU(6, 4, bidirectional=True).state_dict().keys()
    )


@pytest.mark.parametrize("both", [False, True])
def test_large_batches_in_float32_are_as_exact_as_float32(both: bool) -> None:
    """Of sizes that products are rounded up for, and that oneDNN takes where it is faster."""
    torch.manual_seed(0)
    gru = PackedGRU(20, 160, both)
    lengths = torch.randint(1, 14, (43,))
    words, index = torch.randn(50, 20, requires_grad=True), torch.randint(0, 47, (43, 13))
    states, _ = gru.encode(words, index, lengths)
    weights = torch.randn_like(states)
    inputs = [words, *gru.parameters()]
    once, again = (
        torch.autograd.grad((states * weights).sum(), inputs, retain_graph=True) for _ in range(2)
    )
    exact = PackedGRU(20, 160, both).double()
    exact.load_state_dict(gru.state_dict())
    wide = words.detach().double().requires_grad_()
    reference, _ = exact.encode(wide, index, lengths)
    loss = (reference * weights.double()).sum()
    torch.testing.assert_close(states.double(), reference, rtol=1e-5, atol=1e-5)
    for mine, twice, other in zip(
        once, again, torch.autograd.grad(loss, [wide, *exact.parameters()]), strict=True
    ):
        torch.testing.assert_close(mine.double(), other, rtol=1e-4, atol=1e-3)
        assert torch.equal(mine, twice)
    assert not once[0][47:].any()  # words that occur nowhere


def test_the_average_is_that_of_both_directions() -> None:
    torch.manual_seed(0)
    words, index, lengths = torch.randn(9, 6), torch.randint(0, 9, (3, 4)), torch.tensor([4, 1, 3])
    for hidden in (4, TOGETHER + 1):
        gru = PackedGRU(6, hidden, True)
        both, _ = gru.encode(words, index, lengths)
        mean, _ = gru.encode(words, index, lengths, average=True)
        torch.testing.assert_close(mean, both.unflatten(1, (2, -1)).mean(1))


def test_products_in_half_precision_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within autocast, where the processor multiplies bfloat16; sums and states stay float32."""
    torch.manual_seed(0)
    gru = PackedGRU(20, 64, True)
    lengths, index = torch.randint(1, 14, (43,)), torch.randint(0, 50, (43, 13))
    words = torch.randn(50, 20, requires_grad=True)

    def states_and_gradients() -> list[torch.Tensor]:
        states, _ = gru.encode(words, index, lengths)
        assert states.dtype == torch.float32
        inputs = [words, *gru.parameters()]
        return [states.detach(), *torch.autograd.grad(states.square().sum(), inputs)]

    full = states_and_gradients()
    found = {}
    for able in (False, True):
        monkeypatch.setattr(precision, "_has_fast_bf16", lambda able=able: able)
        with torch.autocast("cpu", torch.bfloat16):
            found[able] = states_and_gradients()
    for values in found.values():
        for mine, other in zip(values, full, strict=True):
            cosine = torch.nn.functional.cosine_similarity(mine.flatten(), other.flatten(), 0)
            assert cosine > 0.9995
    assert not torch.equal(found[False][0], found[True][0])
