"""Training speed: PackedGRU against torch's packed GRU, and the time of an update by stage.

python benchmarks/stages.py                          # the GRU alone
python benchmarks/stages.py --data DIR --recipe nce  # and an epoch's stages on real captions
"""

import argparse
import time

import numpy as np
import torch
from timing import median_seconds
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from polyglance.numerics.recurrent import PackedGRU


def compare_gru(batch: int, steps: int, hidden: int, rounds: int) -> None:
    """Forward and backward of a BiGRU over captions of similar length."""
    torch.manual_seed(0)
    gru = PackedGRU(300, hidden, bidirectional=True)
    lengths = torch.randint(steps - 3, steps + 1, (batch,))
    words = torch.randn(batch * steps // 3, 300, requires_grad=True)
    index = torch.randint(0, len(words), (batch, steps))

    def ours() -> None:
        gru.encode(words, index, lengths)[0].sum().backward()

    def torchs() -> None:
        packed = pack_padded_sequence(words[index], lengths, True, enforce_sorted=False)
        states, _ = torch.nn.GRU.forward(gru, packed)
        pad_packed_sequence(states, batch_first=True)[0].sum().backward()

    seconds = median_seconds({"PackedGRU": ours, "torch": torchs}, rounds)
    print(f"BiGRU-{hidden}, batch {batch}, {steps} words, {torch.get_num_threads()} threads")
    for name, value in seconds.items():
        print(f"  {name:10} {1000 * value:7.1f} ms forward and backward")
    print(f"  ratio      {seconds['torch'] / seconds['PackedGRU']:7.2f}")


def profile_updates(data: str, recipe: str, overrides: list[str], updates: int) -> None:
    """Time shares of an update, and captions per second."""
    from polyglance.data import load_dataset
    from polyglance.models.tensors import to_tensors
    from polyglance.objectives import build_objective
    from polyglance.recipes import load_recipe, parse_overrides
    from polyglance.text.embedders import TextBatch
    from polyglance.training.inputs.data import fresh_model, prepare
    from polyglance.training.samplers.batches import bucketed_batches

    chosen = load_recipe(recipe, parse_overrides(overrides))
    started = time.perf_counter()
    start, rows = prepare(chosen, load_dataset(data), fresh_model)
    print(f"data ready in {time.perf_counter() - started:.1f} s: {len(rows)} captions")
    objective = build_objective(chosen.loss)
    network = start.model.network.train()
    weights = [*network.parameters(), *objective.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=1e-4, fused=True)
    size = chosen.training.batch_size
    batches = bucketed_batches(rows.lengths, size, np.random.default_rng(0))
    spent: dict[str, float] = {}
    captions = 0
    for batch in batches[:updates]:
        clock = time.perf_counter()

        def lap(name: str) -> None:
            nonlocal clock
            now = time.perf_counter()
            spent[name] = spent.get(name, 0.0) + now - clock
            clock = now

        ids, lengths = (torch.from_numpy(part) for part in rows.ids.pad(batch))
        features = to_tensors(rows.features, rows.image[batch])
        lap("gather")
        images = network.embed_images(*features)
        lap("image tower")
        texts = network.embed_text(TextBatch(ids, lengths))
        lap("text tower")
        loss = objective(network.scores(images, texts), torch.from_numpy(rows.image[batch]))
        lap("scores and loss")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        lap("backward")
        torch.nn.utils.clip_grad_norm_(weights, chosen.training.clip)
        lap("clipping")
        optimizer.step()
        lap("optimizer")
        captions += len(batch)
    total = sum(spent.values())
    for name, value in spent.items():
        print(f"  {name:16} {1000 * value / updates:7.1f} ms  {100 * value / total:4.1f} %")
    print(
        f"  {captions / total:.0f} captions/s: {len(rows) / captions * total / 60:.1f} min an epoch"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="dataset folder")
    parser.add_argument("--recipe", default="nce")
    parser.add_argument("--set", action="append", default=[], help="path=value of the recipe")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    for hidden in (256, 512):
        compare_gru(256, 14, hidden, options.rounds)
    if options.data:
        profile_updates(options.data, options.recipe, options.set, options.updates)


if __name__ == "__main__":
    main()
