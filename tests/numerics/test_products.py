"""Products by oneDNN against float64, and where they are not taken."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from polyglance.numerics import products
from polyglance.numerics.products import LEAST, Linear, linear, product

pytestmark = pytest.mark.skipif(
    products._linear() is None or not torch.backends.mkldnn.is_available(),
    reason="this build of torch has no oneDNN",
)


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[torch.Size, torch.Size]]:
    """Sizes of the products that oneDNN makes, which it does on every processor."""
    found: list[tuple[torch.Size, torch.Size]] = []
    own = products._linear()

    def counted(left: Tensor, right: Tensor, *rest: object) -> Tensor:
        found.append((left.shape, right.shape))
        return own(left, right, *rest)

    monkeypatch.setattr(products, "prefers_onednn", lambda: True)
    monkeypatch.setattr(products, "_linear", lambda: counted)
    return found


def exact(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left · rightᵀ + bias, rounded once."""
    found = left.double() @ right.double().t()
    return (found if bias is None else found + bias.double()).float()


@pytest.mark.parametrize("form", ["plain", "transposed", "cut", "stepped"])
def test_products_are_right_whatever_the_strides(
    form: str, calls: list[tuple[torch.Size, torch.Size]]
) -> None:
    torch.manual_seed(0)
    n, k, m = 77, 130, 129
    left, right, bias = torch.randn(n, k), torch.randn(m, k), torch.randn(m)
    if form == "transposed":
        left, right = torch.randn(k, n).t(), torch.randn(k, m).t()
    elif form == "cut":
        left, right = torch.randn(n, k + 5)[:, :k], torch.randn(m, k + 3)[:, :k]
    elif form == "stepped":
        left, right = torch.randn(2 * n, k)[::2], torch.randn(m, 2 * k)[:, ::2]
    near = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(product(left, right, bias), exact(left, right, bias), **near)
    torch.testing.assert_close(product(left, right), exact(left, right), **near)
    assert len(calls) == 2


def test_small_products_and_other_types_are_torchs(
    calls: list[tuple[torch.Size, torch.Size]],
) -> None:
    least = LEAST // (64 * 64)
    product(torch.ones(least - 1, 64), torch.ones(64, 64))
    product(torch.ones(least, 64, dtype=torch.float64), torch.ones(64, 64, dtype=torch.float64))
    assert not calls
    product(torch.ones(least, 64), torch.ones(64, 64))
    assert calls == [((least, 64), (64, 64))]


@pytest.mark.parametrize("shape", [(90, 120), (3, 30, 120)])
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_are_those_of_torch(
    shape: tuple[int, ...], bias: bool, calls: list[tuple[torch.Size, torch.Size]]
) -> None:
    torch.manual_seed(0)
    layer = Linear(120, 110, bias=bias)
    inputs = torch.randn(shape, requires_grad=True)
    weights = torch.randn(*shape[:-1], 110)
    found = torch.autograd.grad((layer(inputs) * weights).sum(), [inputs, *layer.parameters()])
    assert len(calls) == 3  # forward, and the gradients of inputs and weights
    reference = torch.nn.Linear(120, 110, bias=bias, dtype=torch.float64)
    reference.load_state_dict(layer.state_dict())
    wide = inputs.detach().double().requires_grad_()
    loss = (reference(wide) * weights.double()).sum()
    expected = torch.autograd.grad(loss, [wide, *reference.parameters()])
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other.float(), rtol=1e-4, atol=1e-4)


def test_no_gradient_is_computed_that_nobody_needs(
    calls: list[tuple[torch.Size, torch.Size]],
) -> None:
    layer = Linear(120, 110)
    layer(torch.randn(90, 120)).sum().backward()
    assert len(calls) == 2


def test_autocast_and_traces_take_torchs_own_layer(
    calls: list[tuple[torch.Size, torch.Size]],
) -> None:
    layer, inputs = Linear(120, 110), torch.randn(90, 120)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(inputs).dtype == torch.bfloat16
    traced = torch.jit.trace(layer, inputs, check_trace=False)
    torch.testing.assert_close(traced(inputs), functional.linear(inputs, *layer.parameters()))
    assert not calls


def test_fake_tensors_have_shapes_alone(calls: list[tuple[torch.Size, torch.Size]]) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert linear(torch.empty(90, 120), torch.empty(110, 120)).shape == (90, 110)
    assert linear(torch.empty(90, 120, device="meta"), torch.empty(110, 120, device="meta")).is_meta
    assert not calls


def test_the_rule_asks_for_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    for maker, expected in (("GenuineIntel", False), ("AuthenticAMD", True)):
        monkeypatch.setattr(products, "_vendor", lambda maker=maker: maker)
        products.prefers_onednn.cache_clear()
        assert products.prefers_onednn() == (expected and torch.backends.mkl.is_available())
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    products.prefers_onednn.cache_clear()
    assert not products.prefers_onednn()
    products.prefers_onednn.cache_clear()
