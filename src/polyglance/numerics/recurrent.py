"""A GRU over packed sentences with a hand-written backward pass.

It has the parameters, initialisation and results of `torch.nn.GRU` on packed sequences, which is
used on other devices. On a CPU it is faster for four reasons: distinct words are projected once,
not once per occurrence; no step computes padding; the weight gradients of all steps are one matrix
product; and two small directions share their steps, where call overhead dominates.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from polyglance.numerics.devices import move
from polyglance.numerics.gru_steps import Direction, Packing, pack
from polyglance.numerics.precision import full_precision, to_float32, uses_bf16_products
from polyglance.numerics.products import linear

TOGETHER = 32
"""Up to this many hidden units, both directions run as one GRU with block-diagonal matrices."""


def mirrored(packing: Packing, lengths: Tensor, width: int) -> Tensor:
    """[total]: for each packed row, the row of the same sentence read backwards.

    Args:
        packing: of the sentences.
        lengths: [B], of the sentences.
        width: the padded length.

    >>> mirrored(pack(torch.tensor([1, 3]), 3), torch.tensor([1, 3]), 3)
    tensor([3, 1, 2, 0])
    """
    sentence, place = packing.flat // width, packing.flat % width
    rows = packing.flat.new_empty(len(lengths) * width)
    rows[packing.flat] = torch.arange(len(packing.flat))
    return rows[sentence * width + lengths[sentence] - 1 - place]


def _run(
    gates: Tensor,
    occurrences: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    packing: Packing,
    reverse: bool,
) -> Tensor:
    """States of one direction; only matrix products may be in half precision."""
    half = uses_bf16_products(gates.device)
    with full_precision(gates.device):
        return Direction.apply(gates, occurrences, weight, bias, packing, reverse, half)


class _OnnxGRU(torch.autograd.Function):
    """ONNX's operator `GRU`, for tracing only: in torch it returns zeros."""

    @staticmethod
    def symbolic(graph: Any, *inputs: Any) -> Any:
        *values, hidden, direction = inputs
        return graph.op(
            "GRU",
            *values,
            hidden_size_i=hidden,
            direction_s=direction,
            linear_before_reset_i=1,
            outputs=2,
        )[0]

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, *others: Any) -> Tensor:
        weights, hidden = others[0], others[-2]
        return vectors.new_zeros(vectors.shape[0], len(weights), vectors.shape[1], hidden)


class PackedGRU(nn.GRU):
    """One-layer GRU or BiGRU over distinct word vectors and their occurrences.

    With `biases=1` the recurrent bias is fixed at 0, as in TensorFlow.

    Args:
        input_size: dimension of a word vector.
        hidden_size: dimension of a state, per direction.
        bidirectional: whether a second GRU reads the words in reverse.
        biases: 2, or 1 for no recurrent bias.

    >>> gru = PackedGRU(4, 3, bidirectional=True)
    >>> words, index = torch.randn(5, 4), torch.tensor([[0, 1, 2], [3, 4, 0]])
    >>> gru.encode(words, index, torch.tensor([3, 2]))[0].shape
    torch.Size([5, 6])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bidirectional: bool = False, biases: int = 2
    ) -> None:
        super().__init__(input_size, hidden_size, batch_first=True, bidirectional=bidirectional)
        if biases == 1:
            for name in [name for name in self._parameters if name.startswith("bias_hh")]:
                del self._parameters[name]
                self.register_buffer(name, torch.zeros(3 * hidden_size), persistent=False)
            self._flat_weights = [getattr(self, name) for name in self._flat_weights_names]

    def encode(
        self, words: Tensor, index: Tensor, lengths: Tensor, average: bool = False
    ) -> tuple[Tensor, Packing]:
        """States of all real tokens.

        Args:
            words: [U, input] vectors of the distinct words of the batch.
            index: [B, T] index into `words`; entries past a sentence's length are ignored.
            lengths: [B] at least 1.
            average: average the two directions instead of concatenating them.

        Returns:
            states [total, hidden·directions] in packed order, or [total, hidden] if averaged, and
            the packing.
        """
        if words.device.type != "cpu":
            found, packing = self._native(words, index, lengths)
            return _join(list(found.chunk(1 + self.bidirectional, 1)), average), packing
        packing = pack(lengths, index.shape[1])
        if self.bidirectional and self.hidden_size <= TOGETHER:
            return _join(self._together(words, index, lengths, packing), average), packing
        occurrences = index.reshape(-1)[packing.flat]
        suffixes = ["l0", "l0_reverse"] if self.bidirectional else ["l0"]
        states = []
        for suffix in suffixes:
            weight, bias = self._recurrent(suffix)
            gates, reverse = self._gates(words, suffix), suffix == "l0_reverse"
            states.append(_run(gates, occurrences, weight, bias, packing, reverse))
        return _join(states, average), packing

    def encode_padded(
        self, vectors: Tensor, lengths: Tensor, average: bool = False
    ) -> tuple[Tensor, Packing]:
        """`encode` for padded sequences [B, T, input].

        Args:
            vectors: [B, T, input].
            lengths: [B].
            average: whether to average two directions instead of concatenating them.
        """
        count, width, _ = vectors.shape
        index = torch.arange(count * width, device=vectors.device).view(count, width)
        return self.encode(vectors.flatten(0, 1), index, lengths.to(vectors.device), average)

    def traced(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """States [B, T, hidden·directions] of sequences [B, T, input], for export to ONNX.

        ONNX's operator takes padded sequences and lengths; its gate order is update, reset,
        candidate, torch's is reset, update, candidate.
        """
        suffixes = ["l0", "l0_reverse"] if self.bidirectional else ["l0"]
        both = [
            torch.stack([_onnx_order(getattr(self, f"{name}_{suffix}")) for suffix in suffixes])
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]
        inputs, recurrent, *biases = both
        direction = "bidirectional" if self.bidirectional else "forward"
        states = _OnnxGRU.apply(
            vectors.transpose(0, 1),
            inputs,
            recurrent,
            torch.cat(biases, 1),
            lengths.to(torch.int32),
            self.hidden_size,
            direction,
        )  # [T, directions, B, hidden]
        return states.permute(2, 0, 1, 3).flatten(2)

    def _native(self, words: Tensor, index: Tensor, lengths: Tensor) -> tuple[Tensor, Packing]:
        """`encode` with torch's own GRU (cuDNN on CUDA), which takes the same packed order."""
        plan = pack(lengths.cpu(), index.shape[1])
        order, flat, last = move((plan.order, plan.flat, plan.last), words.device)
        packing = Packing(plan.sizes, plan.starts, order, flat, last)
        vectors = words.index_select(0, index.reshape(-1)[flat])
        sizes = torch.tensor(plan.sizes)  # torch wants them on the CPU
        states, _ = super().forward(PackedSequence(vectors, sizes))
        return states.data, packing

    def _together(
        self, words: Tensor, index: Tensor, lengths: Tensor, packing: Packing
    ) -> list[Tensor]:
        """Both directions in one pass: step t reads token t and the t-th from the end."""
        hidden, tokens = self.hidden_size, index.reshape(-1)
        mirror = mirrored(packing, lengths, index.shape[1])
        places = tokens[packing.flat], tokens[packing.flat[mirror]]
        gates, weights, biases = [], [], []
        for suffix, occurrences in zip(("l0", "l0_reverse"), places, strict=True):
            weight, bias = self._recurrent(suffix)
            gates.append(self._gates(words, suffix).index_select(0, occurrences))
            weights.append(weight.view(3, hidden, hidden))
            biases.append(bias)
        blocks = weights[0].new_zeros(3, 2, hidden, 2, hidden)
        for place, weight in enumerate(weights):
            blocks[:, place, :, place] = weight
        weight = blocks.view(6 * hidden, 2 * hidden)
        states = _run(_by_gate(gates), None, weight, _by_gate(biases), packing, False)
        forward, backward = states.split(hidden, 1)
        return [forward, backward.index_select(0, mirror)]

    def _gates(self, words: Tensor, suffix: str) -> Tensor:
        """Gate inputs [U, 3H] from the words."""
        weight, bias = getattr(self, f"weight_ih_{suffix}"), getattr(self, f"bias_ih_{suffix}")
        return to_float32(linear(words, weight, bias))

    def _recurrent(self, suffix: str) -> tuple[Tensor, Tensor]:
        """Recurrent weight [3H, H] and bias [3H]."""
        return getattr(self, f"weight_hh_{suffix}"), getattr(self, f"bias_hh_{suffix}")


def _join(states: list[Tensor], average: bool) -> Tensor:
    """Concatenate the states [total, H] of the directions, or average them."""
    if len(states) == 1:
        return states[0]
    return (states[0] + states[1]) / 2 if average else torch.cat(states, 1)


def _onnx_order(weight: Tensor) -> Tensor:
    """Reset, update, candidate [3H, …] → update, reset, candidate."""
    reset, update, candidate = weight.detach().chunk(3)
    return torch.cat([update, reset, candidate])


def _by_gate(parts: list[Tensor]) -> Tensor:
    """[…, 3H] of two directions → […, 6H], grouped by gate."""
    return torch.stack([part.unflatten(-1, (3, -1)) for part in parts], -2).flatten(-3)
