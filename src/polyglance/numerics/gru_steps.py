"""The steps of a GRU over packed sentences, with a hand-written backward pass."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from polyglance.numerics.products import product

ROUND = 8
"""Row counts of a step's products are rounded up to a multiple of this.

oneDNN compiles a kernel per size. The extra rows belong to other steps or are zero; their results
are discarded.
"""
BLOCK = 64
"""Likewise for the product over all steps."""


class Packing(NamedTuple):
    """Time-major order of a batch without padding.

    Sentences sorted by length (longest first); step t holds the first `sizes[t]` of them.
    """

    sizes: list[int]
    starts: list[int]
    order: Tensor  # [B] sentence at sorted position
    flat: Tensor  # [total] index into the [B·T] padded batch, in packed order
    last: Tensor  # [B] packed row of each sentence's last token, in original order


def pack(lengths: Tensor, width: int) -> Packing:
    """Plan the packed order of sentences with `lengths` [B] ≥ 1, padded to `width`."""
    order = torch.argsort(lengths, descending=True, stable=True)
    steps = torch.arange(int(lengths.max()))
    active = lengths[order].unsqueeze(0) > steps.unsqueeze(1)  # [T, B]
    sizes = active.sum(1)
    starts = torch.cumsum(sizes, 0) - sizes
    flat = (order.unsqueeze(0) * width + steps.unsqueeze(1))[active]
    position = torch.argsort(order)
    last = starts[lengths - 1] + position
    return Packing(sizes.tolist(), starts.tolist(), order, flat, last)


class Step(NamedTuple):
    """Step `t` of the packing, its first row `start`, and that of the step before, `before`.

    The first `known` rows have a previous state; the others begin their sentence, at zero.
    """

    t: int
    start: int
    before: int
    known: int


def plan(packing: Packing, reverse: bool) -> Iterator[Step]:
    """The steps of one direction, in order of computation."""
    steps = range(len(packing.sizes))
    before = size = 0
    for t in reversed(steps) if reverse else steps:
        start = packing.starts[t]
        yield Step(t, start, before, min(size, packing.sizes[t]))
        before, size = start, packing.sizes[t]


def _rounded(matrix: Tensor, start: int, count: int) -> Tensor:
    """`count` rows of a matrix from `start` on, and up to `ROUND` − 1 more."""
    return matrix[start : start + -(-count // ROUND) * ROUND]


def _first(rows: Tensor, count: int) -> Tensor:
    return rows if len(rows) == count else rows[:count]


class _Gates:
    """Views of every step: both reset and update [n, 2H], each one, and the candidate [n, H]."""

    def __init__(self, gates: Tensor, sizes: list[int]) -> None:
        hidden = gates.shape[1] // 3
        self.both = gates[:, : 2 * hidden].split(sizes)
        self.reset = gates[:, :hidden].split(sizes)
        self.update = gates[:, hidden : 2 * hidden].split(sizes)
        self.candidate = gates[:, 2 * hidden :].split(sizes)


class Direction(torch.autograd.Function):
    """One direction of a GRU: gate inputs [U, 3H] of words, and occurrences → states [total, H].

    Gates are computed in place in `gates`. A step writes its states into `outputs`, from which the
    next step reads them without a copy. With `half`, matrix products are in bfloat16; states, gates
    and sums remain float32.
    """

    @staticmethod
    def forward(
        ctx: Any,
        words: Tensor,
        occurrences: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        packing: Packing,
        reverse: bool,
        half: bool,
    ) -> Tensor:
        """States [total, H], in packed order.

        Args:
            ctx: torch's context, which keeps what the gradient needs.
            words: [U, 3H], gate inputs.
            occurrences: [total], index into `words`; None if `words` has a row for each.
            weight: [3H, H], recurrent.
            bias: [3H], recurrent.
            packing: the order of the occurrences.
            reverse: whether texts are read from their ends.
            half: whether matrix products are in bfloat16.
        """
        gates = words.clone() if occurrences is None else words.index_select(0, occurrences)
        outputs = gates.new_zeros(len(gates) + ROUND, weight.shape[1])
        matrix = weight.bfloat16() if half else weight
        parts, states = _Gates(gates, packing.sizes), outputs[: len(gates)].split(packing.sizes)
        steps = list(plan(packing, reverse))
        products = []
        for step in steps:
            projected = None
            if step.known:
                projected = product(_rounded(outputs, step.before, step.known), matrix, bias)
                projected = _first(projected, step.known)
            before = outputs[step.before : step.before + step.known]
            _forward(parts, step, projected, bias, before, states[step.t])
            products.append(projected)
        ctx.steps, ctx.products, ctx.gates = steps, products, parts
        ctx.sizes, ctx.outputs, ctx.count, ctx.half = packing.sizes, outputs, len(words), half
        ctx.save_for_backward(weight, bias, occurrences)
        return outputs[: len(gates)]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weight, bias, occurrences = ctx.saved_tensors
        total, hidden = grads[0].shape
        # The first rows of sentences have no previous state.
        skipped = ctx.sizes[0] if ctx.steps[0].t == 0 else 0
        padded = skipped + -(-(total - skipped + ROUND) // BLOCK) * BLOCK
        recurrent = weight.new_zeros(
            padded, 3 * hidden
        )  # gradients of the gates w.r.t. W_hh's output
        candidates = weight.new_empty(
            total, hidden
        )  # gradients of the candidates w.r.t. W_ih's output
        previous = weight.new_zeros(padded, hidden)
        matrix = weight.bfloat16() if ctx.half else weight
        to_gates, to_candidates = _Gates(recurrent[:total], ctx.sizes), candidates.split(ctx.sizes)
        states, from_above = previous[:total].split(ctx.sizes), grads[0].split(ctx.sizes)
        back: Tensor | None = None
        for step, projected in zip(reversed(ctx.steps), reversed(ctx.products), strict=True):
            grad = from_above[step.t].clone()
            if back is not None:
                _first(grad, len(back)).add_(back)
            state = states[step.t]
            before = ctx.outputs[step.before : step.before + step.known]
            _first(state, step.known).copy_(before)
            kept = _backward(
                grad, state, ctx.gates, step, projected, bias, to_gates, to_candidates[step.t]
            )
            if step.known:
                back = product(_rounded(recurrent, step.start, step.known), matrix.t())
                back = _first(back, step.known).add_(_first(kept, step.known))
        to_words = _by_word(recurrent[:total], candidates, occurrences, ctx.count)
        to_weight = product(recurrent[skipped:].t(), previous[skipped:].to(matrix.dtype).t())
        return to_words, None, to_weight, recurrent.sum(0), None, None, None


def _forward(
    gates: _Gates,
    step: Step,
    projected: Tensor | None,
    bias: Tensor,
    before: Tensor,
    states: Tensor,
) -> None:
    """Compute one step.

    Args:
        gates: their inputs from the words; the step's are replaced by their values.
        step: the step.
        projected: [k, 3H], W_hh's output for the previous states; None without any.
        bias: [3H], W_hh's output for the other n − k, whose previous state is zero.
        before: [k, H], the previous states.
        states: [n, H], output.
    """
    known, (count, hidden) = step.known, states.shape
    both, candidate = gates.both[step.t], gates.candidate[step.t]
    reset, update = gates.reset[step.t], gates.update[step.t]
    if projected is not None:
        _first(both, known).add_(projected[:, : 2 * hidden])
    if known < count:
        both[known:].add_(bias[: 2 * hidden])
    both.sigmoid_()
    if projected is not None:
        _first(candidate, known).addcmul_(_first(reset, known), projected[:, 2 * hidden :])
    if known < count:
        candidate[known:].addcmul_(reset[known:], bias[2 * hidden :])
    candidate.tanh_()
    if projected is not None:
        weights, out = _first(update, known), _first(states, known)
        torch.lerp(_first(candidate, known), before, weights, out=out)
    if known < count:
        new = candidate[known:]
        torch.addcmul(new, new, update[known:], value=-1, out=states[known:])


def _backward(
    grad: Tensor,
    before: Tensor,
    gates: _Gates,
    step: Step,
    projected: Tensor | None,
    bias: Tensor,
    to_gates: _Gates,
    to_candidate: Tensor,
) -> Tensor:
    """Compute the gradients of one step.

    Args:
        grad: [n, H], of the states; overwritten.
        before: [n, H], the previous states, zero if there are none.
        gates: reset, update and candidate.
        step: the step.
        projected: [k, 3H], W_hh's output for the previous states.
        bias: [3H].
        to_gates: gradients w.r.t. W_hh's output; the step's are written.
        to_candidate: [n, H], gradients w.r.t. W_ih's output for the candidate; output.

    Returns:
        [n, H], the direct gradient of the previous states, without the path through the gates.
    """
    known, (count, hidden) = step.known, grad.shape
    both, candidate = gates.both[step.t], gates.candidate[step.t]
    kept = grad * gates.update[step.t]
    partial = grad.new_empty(count, 2 * hidden)
    torch.sub(before, candidate, out=partial[:, hidden:]).mul_(grad)
    torch.ops.aten.tanh_backward.grad_input(grad.sub_(kept), candidate, grad_input=to_candidate)
    to_reset = partial[:, :hidden]
    if projected is not None:
        torch.mul(
            _first(to_candidate, known), projected[:, 2 * hidden :], out=_first(to_reset, known)
        )
    if known < count:
        torch.mul(to_candidate[known:], bias[2 * hidden :], out=to_reset[known:])
    torch.ops.aten.sigmoid_backward.grad_input(partial, both, grad_input=to_gates.both[step.t])
    torch.mul(to_candidate, gates.reset[step.t], out=to_gates.candidate[step.t])
    return kept


def _by_word(
    recurrent: Tensor, candidates: Tensor, occurrences: Tensor | None, count: int
) -> Tensor:
    """Sum the gradients of occurrences into those of words, [count, 3H].

    Args:
        recurrent: [total, 3H], of reset and update; the last third is ignored.
        candidates: [total, H].
        occurrences: [total], the word of each; None if all words are distinct.
        count: number of words.
    """
    hidden = candidates.shape[1]
    if occurrences is None:
        return torch.cat([recurrent[:, : 2 * hidden], candidates], 1)
    # `embedding_bag` takes a tenth of the time of `index_add_`.
    order, counts = torch.argsort(occurrences, stable=True), torch.bincount(occurrences)
    counts = functional.pad(counts, (0, count - len(counts)))
    starts = torch.cumsum(counts, 0) - counts
    grad = functional.embedding_bag(order, recurrent, starts, mode="sum")
    grad[:, 2 * hidden :] = functional.embedding_bag(order, candidates, starts, mode="sum")
    return grad
