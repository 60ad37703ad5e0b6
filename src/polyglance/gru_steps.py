"""The steps of a GRU over packed sentences and a hand-written backward pass."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from polyglance.products import product

ROUND = 8
"""Products of a step have a multiple of so many rows: oneDNN prepares itself for every size once.

The rows behind those of a step are others' or zero, and what comes of them is not looked at.
"""


BLOCK = 64
"""The same of the product over all steps."""


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
    """Rows of a step in packed order, and those of the states before it.

    The first of its rows have a state before them; the others begin their sentence, at zero.
    """

    rows: slice
    before: slice

    @property
    def known(self) -> int:
        """Rows that have a state before them."""
        return self.before.stop - self.before.start


def _rounded(start: int, count: int) -> slice:
    """`count` rows and perhaps some behind them."""
    return slice(start, start + -(-count // ROUND) * ROUND)


def plan(packing: Packing, reverse: bool) -> Iterator[Step]:
    """The steps of one direction in the order in which they are taken."""
    steps = range(len(packing.sizes))
    start = size = 0
    for t in reversed(steps) if reverse else steps:
        known = min(size, packing.sizes[t])
        before = slice(start, start + known)
        start, size = packing.starts[t], packing.sizes[t]
        yield Step(slice(start, start + size), before)


class Direction(torch.autograd.Function):
    """One direction of a GRU: gates [U, 3H] of words, and where they stand → states [total, H].

    Reset, update and candidate become what they are in the rows of `gates`, in place. A step's
    states are the rows of `outputs`, which the next step reads: nothing is copied in between.
    With `half`, matrix products are of bfloat16; states, gates and sums are float32 all the same.
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
        gates = words.clone() if occurrences is None else words.index_select(0, occurrences)
        outputs = gates.new_zeros(len(gates) + ROUND, weight.shape[1])
        matrix = weight.bfloat16() if half else weight
        steps = list(plan(packing, reverse))
        products = []
        for step in steps:
            said = None
            if step.known:
                rows = _rounded(step.before.start, step.known)
                said = product(outputs[rows], matrix, bias)[: step.known]
            _forward(gates[step.rows], said, bias, outputs[step.before], outputs[step.rows])
            products.append(said)
        ctx.steps, ctx.products, ctx.gates = steps, products, gates
        ctx.outputs, ctx.count, ctx.half = outputs, len(words), half
        ctx.save_for_backward(weight, bias, occurrences)
        return outputs[: len(gates)]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weight, bias, occurrences = ctx.saved_tensors
        outputs, total, hidden = ctx.outputs, len(ctx.gates), weight.shape[1]
        # Rows that begin a sentence have no state to be multiplied with.
        first = ctx.steps[0].rows
        skipped = first.stop if first.start == 0 else 0
        padded = skipped + -(-(total - skipped + ROUND) // BLOCK) * BLOCK
        recurrent = weight.new_zeros(padded, 3 * hidden)  # the gates' gradients as W_hh sees them
        candidates = weight.new_empty(total, hidden)  # the candidates' as W_ih does
        previous = weight.new_empty(padded, hidden)
        previous[total:] = 0
        matrix = weight.bfloat16() if ctx.half else weight
        back: Tensor | None = None
        for step, own in zip(reversed(ctx.steps), reversed(ctx.products), strict=True):
            grad = grads[0][step.rows].clone()
            if back is not None:
                grad[: len(back)].add_(back)
            state = previous[step.rows]
            state[: step.known] = outputs[step.before]
            state[step.known :] = 0
            parts = recurrent[step.rows], candidates[step.rows]
            kept = _backward(grad, state, ctx.gates[step.rows], own, bias, *parts)
            if step.known:
                rows = _rounded(step.rows.start, step.known)
                back = product(recurrent[rows], matrix.t())[: step.known].add_(kept[: step.known])
        to_words = _by_word(recurrent[:total], candidates, occurrences, ctx.count)
        states = previous[skipped:].to(matrix.dtype)
        to_weight = product(recurrent[skipped:].t(), states.t())
        return to_words, None, to_weight, recurrent.sum(0), None, None, None


def _forward(
    gates: Tensor, said: Tensor | None, bias: Tensor, before: Tensor, states: Tensor
) -> None:
    """One step.

    Args:
        gates: [n, 3H], what the words say to them; becomes reset, update and candidate.
        said: [k, 3H], what the states before say; None without any.
        bias: [3H], what the state before says to the other n − k, for which it is zero.
        before: [k, H], the states before.
        states: [n, H], which are written.
    """
    known, hidden = len(before), states.shape[1]
    reset_update, candidate = gates[:, : 2 * hidden], gates[:, 2 * hidden :]
    if said is not None:
        reset_update[:known].add_(said[:, : 2 * hidden])
    if known < len(gates):
        reset_update[known:].add_(bias[: 2 * hidden])
    reset_update.sigmoid_()
    reset, update = reset_update[:, :hidden], reset_update[:, hidden:]
    if said is not None:
        candidate[:known].addcmul_(reset[:known], said[:, 2 * hidden :])
    if known < len(gates):
        candidate[known:].addcmul_(reset[known:], bias[2 * hidden :])
    candidate.tanh_()
    if said is not None:
        torch.lerp(candidate[:known], before, update[:known], out=states[:known])
    if known < len(gates):
        new = candidate[known:]
        torch.addcmul(new, new, update[known:], value=-1, out=states[known:])


def _backward(
    grad: Tensor,
    before: Tensor,
    gates: Tensor,
    said: Tensor | None,
    bias: Tensor,
    recurrent: Tensor,
    candidates: Tensor,
) -> Tensor:
    """Gradients of one step, written to `recurrent` [n, 3H] and `candidates` [n, H].

    Args:
        grad: [n, H], of the states.
        before: [n, H], the states before, zero where there are none.
        gates: [n, 3H], reset, update and candidate.
        said: [k, 3H], what `_forward` gave.
        bias: [3H].
        recurrent: of the gates, as the recurrent weights see them.
        candidates: of the candidates, as the input weights see them.

    Returns:
        [n, H], the gradient of the states before without what comes through the gates.
    """
    hidden, known = grad.shape[1], 0 if said is None else len(said)
    reset_update, candidate = gates[:, : 2 * hidden], gates[:, 2 * hidden :]
    reset, update = reset_update[:, :hidden], reset_update[:, hidden:]
    kept = grad * update
    to_gates = torch.empty_like(reset_update)
    torch.sub(before, candidate, out=to_gates[:, hidden:]).mul_(grad)
    torch.ops.aten.tanh_backward.grad_input(grad.sub_(kept), candidate, grad_input=candidates)
    if said is not None:
        torch.mul(candidates[:known], said[:, 2 * hidden :], out=to_gates[:known, :hidden])
    if known < len(gates):
        torch.mul(candidates[known:], bias[2 * hidden :], out=to_gates[known:, :hidden])
    torch.ops.aten.sigmoid_backward.grad_input(
        to_gates, reset_update, grad_input=recurrent[:, : 2 * hidden]
    )
    torch.mul(candidates, reset, out=recurrent[:, 2 * hidden :])
    return kept


def _by_word(
    recurrent: Tensor, candidates: Tensor, occurrences: Tensor | None, count: int
) -> Tensor:
    """Gradients of occurrences → of `count` words, [count, 3H].

    Args:
        recurrent: [total, 3H], of reset and update, and something else.
        candidates: [total, H].
        occurrences: [total], the word of each; None is each one's own.
        count: of the words.
    """
    hidden = candidates.shape[1]
    if occurrences is None:
        return torch.cat([recurrent[:, : 2 * hidden], candidates], 1)
    # Sums of bags take a tenth of the time of `index_add_`.
    order, counts = torch.argsort(occurrences, stable=True), torch.bincount(occurrences)
    counts = functional.pad(counts, (0, count - len(counts)))
    starts = torch.cumsum(counts, 0) - counts
    grad = functional.embedding_bag(order, recurrent, starts, mode="sum")
    grad[:, 2 * hidden :] = functional.embedding_bag(order, candidates, starts, mode="sum")
    return grad
