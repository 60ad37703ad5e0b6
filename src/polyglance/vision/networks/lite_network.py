"""EfficientNet-Lite as a trainable torch module; its batch norms stay frozen.

Tan and Le 2019, EfficientNet, §4 and Table 1; the Lite variants have neither
squeeze-and-excitation nor swish.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyglance.numerics.products import linear

EPSILON = 1e-3
STEM, HEAD = 32, 1280
BLOCKS = (
    # kernel, stride, expansion, channels, repeats
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
"""Blocks of Lite0; the others are wider and deeper."""
SCALES = ((1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8))
"""Width and depth factors of Lite0 to Lite4."""


class Convolution(nn.Module):
    """A convolution, batch norm with frozen statistics, and ReLU6 if `active`.

    The norm is folded into the kernel at every run, which saves a pass over the activations; the
    unfolded kernel is what is trained.

    Args:
        inputs: channels.
        outputs: channels.
        kernel: height and width.
        stride: 2 halves the grid.
        groups: that channels are divided into; as many as channels is depthwise.
        active: whether ReLU6 follows.
    """

    mean: Tensor
    variance: Tensor
    gain: Tensor
    shift: Tensor
    bias: Tensor | None

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        active: bool = True,
    ) -> None:
        super().__init__()
        self.stride, self.groups, self.active = stride, groups, active
        self.kernel = kernel
        self.register_buffer("bias", None)
        self.weight = nn.Parameter(torch.empty(outputs, inputs // groups, kernel, kernel))
        nn.init.kaiming_normal_(self.weight, mode="fan_out")
        for name, value in (("gain", 1.0), ("shift", 0.0), ("mean", 0.0), ("variance", 1.0)):
            self.register_buffer(name, torch.full((outputs,), value))

    def folded(self) -> tuple[Tensor, Tensor]:
        """The kernel with its norm folded in, and the resulting bias [outputs]."""
        scale = self.gain / (self.variance + EPSILON).sqrt()
        return self.weight * scale.view(-1, 1, 1, 1), self.shift - self.mean * scale

    def fold(self) -> None:
        """Fold the norm into the kernel permanently, for export."""
        with torch.no_grad():
            weight, self.bias = self.folded()
            self.weight.copy_(weight)

    def forward(self, images: Tensor) -> Tensor:
        """[B, inputs, h, w] → [B, outputs, ⌈h/stride⌉, ⌈w/stride⌉]."""
        weight, bias = self.folded() if self.bias is None else (self.weight, self.bias)
        if self.kernel == 1 and not torch.jit.is_tracing():
            return self._pixelwise(images, weight.flatten(1), bias)
        padding = self.kernel // 2
        if self.stride > 1:
            # Without an explicit value, onnxruntime does not merge the padding into the
            # convolution, and changes the memory layout back and forth around it.
            images, padding = functional.pad(images, self._around(images), value=0.0), 0
        return self._activate(
            functional.conv2d(images, weight, bias, self.stride, padding, groups=self.groups)
        )

    def _pixelwise(self, images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """As a matrix product: torch's 1×1 convolution is slow to train on a CPU."""
        batch, channels, height, width = images.shape
        pixels = images.permute(0, 2, 3, 1).reshape(-1, channels)
        found = self._activate(linear(pixels, weight, bias))
        return found.view(batch, height, width, -1).permute(0, 3, 1, 2)

    def _activate(self, found: Tensor) -> Tensor:
        # In place would copy the input first if a gradient is needed.
        inplace = not torch.is_grad_enabled()
        return functional.relu6(found, inplace=inplace) if self.active else found

    def _around(self, images: Tensor) -> list[int]:
        """Padding left, right, above and below, like TensorFlow's SAME."""
        sizes = [int(size) for size in (images.shape[3], images.shape[2])]
        needed = [
            max((math.ceil(n / self.stride) - 1) * self.stride + self.kernel - n, 0) for n in sizes
        ]
        return [part for n in needed for part in (n // 2, n - n // 2)]


class Block(nn.Module):
    """An inverted residual block: expansion, depthwise convolution, projection.

    Args:
        inputs: channels.
        outputs: channels.
        kernel: height and width of the depthwise kernel.
        stride: of the depthwise convolution.
        expansion: hidden channels per input channel.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expand = Convolution(inputs, hidden) if expansion > 1 else nn.Identity()
        self.depthwise = Convolution(hidden, hidden, kernel, stride, groups=hidden)
        self.project = Convolution(hidden, outputs, active=False)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, images: Tensor) -> Tensor:
        """[B, inputs, h, w] → [B, outputs, ⌈h/stride⌉, ⌈w/stride⌉]."""
        found = self.project(self.depthwise(self.expand(images)))
        return found + images if self.residual else found


def lite_stages(number: int) -> list[nn.Module]:
    """The five stages of Lite`number`, each of which halves the grid, with random weights."""
    width, depth = SCALES[number]
    stages: list[list[nn.Module]] = [[Convolution(3, STEM, 3, 2)]]
    inputs = STEM
    for place, (kernel, stride, expansion, channels, repeats) in enumerate(BLOCKS):
        outputs = _rounded(channels * width)
        fixed = place in (0, len(BLOCKS) - 1)
        for repeat in range(repeats if fixed else math.ceil(repeats * depth)):
            step = stride if repeat == 0 else 1
            if step > 1:
                stages.append([])
            stages[-1].append(Block(inputs, outputs, kernel, step, expansion))
            inputs = outputs
    stages[-1].append(Convolution(inputs, HEAD))
    return [nn.Sequential(*parts) for parts in stages]


def _rounded(channels: float) -> int:
    """The nearest multiple of eight that is at least nine tenths of `channels`."""
    found = max(8, int(channels + 4) // 8 * 8)
    return found + 8 if found < 0.9 * channels else found


def convolutions(stages: list[nn.Module]) -> Iterator[Convolution]:
    """All convolutions, in the order of the forward pass."""
    for stage in stages:
        yield from (part for part in stage.modules() if isinstance(part, Convolution))


def copy_pretrained(network: nn.Module, stages: list[nn.Module]) -> None:
    """Copy the weights of `efficientnet_lite_pytorch`'s network into the stages."""
    kernels = [part for part in network.modules() if isinstance(part, nn.Conv2d)]
    norms = [part for part in network.modules() if isinstance(part, nn.BatchNorm2d)]
    with torch.no_grad():
        for own, kernel, norm in zip(convolutions(stages), kernels, norms, strict=True):
            own.weight.copy_(kernel.weight)
            names = {"weight": own.gain, "bias": own.shift}
            names |= {"running_mean": own.mean, "running_var": own.variance}
            for name, value in names.items():
                value.copy_(norm.state_dict()[name])
