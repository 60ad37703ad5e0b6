"""The GPU that is not there is as strict as one that is."""

import pytest
import torch

from polyglance.numerics.recurrent import PackedGRU
from tests.devices.pretend import pretend_gpu


def test_tensors_of_two_devices_do_not_meet() -> None:
    with pretend_gpu() as device:
        there = torch.ones(3).to(device)
        for use in (
            lambda: there + torch.ones(3),
            lambda: there.index_select(0, torch.tensor([0, 1])),
            lambda: there[torch.tensor([True, False, True])],
            lambda: torch.where(torch.tensor([True, False, True]), there, 0.0),
        ):
            with pytest.raises((RuntimeError, AssertionError), match="device"):
                use()


def test_there_is_no_array_of_a_tensor_on_the_device() -> None:
    with pretend_gpu() as device:
        there = torch.ones(3).to(device)
        with pytest.raises(RuntimeError, match="numpy"):
            there.numpy()
        assert there.cpu().numpy().tolist() == [1, 1, 1]


def test_values_and_gradients_are_those_of_the_cpu() -> None:
    layer = torch.nn.Linear(3, 2)
    inputs = torch.randn(4, 3)
    layer(inputs).square().sum().backward()
    wanted = layer.weight.grad.clone()
    layer.zero_grad()
    with pretend_gpu() as device:
        layer.to(device)
        loss = layer(inputs.to(device)).square().sum()
        assert loss.device == device
        loss.backward()
        assert layer.weight.grad.device == device
        torch.testing.assert_close(layer.weight.grad.cpu(), wanted)


@pytest.mark.parametrize("biases", [1, 2])
@pytest.mark.parametrize(("hidden", "both"), [(5, False), (5, True), (40, True)])
def test_the_gru_of_other_devices_gives_our_numbers(hidden: int, both: bool, biases: int) -> None:
    torch.manual_seed(0)
    gru = PackedGRU(4, hidden, both, biases)
    words, index = torch.randn(6, 4), torch.randint(0, 6, (3, 5))
    lengths = torch.tensor([2, 5, 1])
    states, plan = gru.encode(words, index, lengths)
    states.square().sum().backward()
    wanted = {name: part.grad.clone() for name, part in gru.named_parameters()}
    gru.zero_grad()
    with pretend_gpu() as device:
        gru.to(device)
        found, packing = gru.encode(*(part.to(device) for part in (words, index, lengths)))
        torch.testing.assert_close(found.detach().cpu(), states.detach(), atol=1e-6, rtol=1e-5)
        assert packing.last.cpu().equal(plan.last)
        found.square().sum().backward()
        for name, part in gru.named_parameters():
            torch.testing.assert_close(part.grad.cpu(), wanted[name], atol=1e-5, rtol=1e-4)
