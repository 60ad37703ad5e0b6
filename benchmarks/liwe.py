"""Savings from embedding each distinct word once, and from caching word vectors at inference.

python benchmarks/liwe.py [--data DIR] [--batch 128] [--rounds 10]

The captions are those of DIR, of ../shared/data/flickr8k-ml if it exists, or generated. Times are
CPU times on one thread.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from timing import median_seconds

from polyglance.data import load_dataset
from polyglance.numerics.recurrent import PackedGRU
from polyglance.recipes import load_recipe
from polyglance.text.embedders import CharacterEmbedder, Embedder, TableEmbedder, TextBatch
from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.embedders.characters.forms import FormTable, forms_of
from polyglance.text.embedders.characters.layer import CharacterLayer
from polyglance.text.embedders.characters.networks import LARGE, CharacterNetwork, CharGRU, Liwe
from polyglance.text.embedders.layer import WordLayer
from polyglance.text.embedders.vocabulary import Vocabulary
from polyglance.text.tokenizers import tokenize_many

SHARED = Path(__file__).parents[2] / "shared" / "data" / "flickr8k-ml"
Captions = list[list[str]]


def read_captions(data: str | None, number: int) -> dict[str, Captions]:
    """Words of `number` captions: in all languages of a dataset, and in one."""
    source = data or (str(SHARED) if SHARED.is_dir() else None)
    generator = np.random.default_rng(0)
    if source is None:
        ranks = (generator.pareto(1.0, (number, 12)) * 5).astype(int)
        return {"made up": [[np.base_repr(7919 * (rank + 9), 30) for rank in r] for r in ranks]}
    part = load_dataset(source).split("train")
    one = "en" if "en" in part.languages else part.languages[0]
    tables = {code: part.captions(code and [code]) for code in (None, one)}
    parts = {}
    for code, table in tables.items():
        rows = generator.permutation(len(table.texts))[:number]
        texts, codes = ([column[i] for i in rows] for column in (table.texts, table.languages))
        parts[code or "all languages"] = tokenize_many(texts, codes)
    return parts


def milliseconds(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median CPU time of each function."""
    spent = median_seconds(functions, rounds, time.process_time)
    return {name: 1000 * value for name, value in spent.items()}


def batches(embedder: Embedder, captions: Captions, size: int) -> Iterator[TextBatch]:
    """Batches of captions in order."""
    for start in range(0, len(captions), size):
        part = captions[start : start + size]
        found = embedder.encode([""] * len(part), part, [None] * len(part))
        ids, lengths = (torch.from_numpy(array) for array in found.ids.pad())
        yield TextBatch(ids, lengths, found.unseen)


def compare_training(
    name: str, network: CharacterNetwork, table: FormTable, captions: Captions, rounds: int
) -> None:
    """Word vectors of a batch and their gradients: per distinct word, or per occurrence."""
    words = CharacterLayer(network, table.characters).train()
    ids, lengths, _ = next(batches(spelling(table), captions, len(captions)))
    real = ids[torch.arange(ids.shape[1]) < lengths[:, None]]
    distinct, index, counts = torch.unique(real, return_inverse=True, return_counts=True)

    def once() -> None:
        words(distinct, counts).index_select(0, index).square().mean().backward()

    def occurrences() -> None:
        words(real).square().mean().backward()

    spent = milliseconds({"once": once, "every": occurrences}, rounds)
    print(
        f"  {name:13} {spent['every']:7.1f} ms every occurrence {spent['once']:7.1f} ms each once  "
        f"ratio {spent['every'] / spent['once']:.2f} ({len(real)} words, {len(distinct)} distinct)"
    )


def spelling(table: FormTable) -> CharacterEmbedder:
    """A character embedder over a table of forms."""
    return CharacterEmbedder(load_recipe("liwe", {"text.embedder.ends": False}), {"": table})


@torch.inference_mode()
def encode(
    embedder: Embedder,
    layer: WordLayer,
    gru: PackedGRU | None,
    captions: Captions,
    size: int,
    forget: bool = False,
) -> None:
    """Words → ids → vectors → states, in batches of `size`; optionally without a cache."""
    for batch in batches(embedder, captions, size):
        if forget and isinstance(layer, CharacterLayer):
            layer.cache.clear()
        found, index = layer.look_up(batch, None)
        if gru is not None:
            gru.encode(found, index, batch.lengths)


def compare_inference(network: CharacterNetwork, alphabet: Alphabet, captions: Captions) -> None:
    """Cached vectors, against a word table and against recomputing every word."""
    settings = {"text.embedder.ends": False, "text.embedder.word_dim": network.dim}
    table = TableEmbedder(
        load_recipe("vsepp", settings), {"": Vocabulary.build({"": captions}, min_count=1)}
    )
    words = spelling(FormTable(alphabet, network.word_length))
    spelt = CharacterLayer(network, words.tables[""].characters).eval()
    rows = table.layer().eval()
    for size, gru in product((1, 128), (None, PackedGRU(network.dim, 512))):
        rest = (gru, captions[: max(32, size)], size)
        spent = milliseconds(
            {
                "table": partial(encode, table, rows, *rest),
                "kept": partial(encode, words, spelt, *rest),
                "anew": partial(encode, words, spelt, *rest, True),
            },
            10,
        )
        print(
            f"  batches of {size:3}, {'words alone' if gru is None else 'with GRU-512':12} "
            f"{spent['table']:7.2f} ms table {spent['kept']:7.2f} ms kept {spent['anew']:7.2f} ms "
            f"anew  ratio kept/table {spent['kept'] / spent['table']:.2f}"
        )


def main() -> None:
    """Both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="dataset folder, table or 'generated'")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    parts = read_captions(options.data, options.batch)
    alphabet = Alphabet.build(parts, min_count=1)
    every = (form for own in parts.values() for one in own for form in forms_of(one, ends=False))
    table = FormTable(alphabet, 26, every)
    networks = {
        "LIWE(384,448)": Liwe(len(alphabet)),
        "L-LIWE": Liwe(len(alphabet), char_dim=LARGE),
        "charGRU": CharGRU(len(alphabet)),
    }
    for label, captions in parts.items():
        print(f"training, {len(captions)} captions ({label}), forward and backward, one thread:")
        for name, network in networks.items():
            compare_training(name, network, table, captions, options.rounds)
    label, captions = next(iter(parts.items()))
    print(f"inference, LIWE(384,448), {label}:")
    compare_inference(networks["LIWE(384,448)"], alphabet, captions)


if __name__ == "__main__":
    main()
