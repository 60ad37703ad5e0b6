"""What it saves to embed each distinct word once, and to keep word vectors at inference.

python benchmarks/liwe.py [--data DIR] [--batch 128] [--rounds 10]

The captions are those of DIR, of ../shared/data/flickr8k-ml where that is there, or made up.
Times are of the processor, on one thread.
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
from torch import Tensor, nn

from polyglance.data import load_dataset
from polyglance.recurrent import PackedGRU
from polyglance.text import Vocabulary, tokenize_many
from polyglance.text.embedders.characters.alphabet import Alphabet
from polyglance.text.embedders.characters.layer import SpeltWords
from polyglance.text.embedders.characters.networks import LARGE, CharGRU, Liwe, WordEmbedder
from polyglance.text.lexicon import Lexicon

SHARED = Path(__file__).parents[2] / "shared" / "data" / "flickr8k-ml"
Captions = list[list[str]]


def read_captions(data: str | None, number: int) -> dict[str, Captions]:
    """Words of `number` captions: of all languages of a dataset, and of one alone."""
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
    """Median processor time of each function."""
    spent = median_seconds(functions, rounds, time.process_time)
    return {name: 1000 * value for name, value in spent.items()}


def batches(words: Vocabulary | Lexicon, captions: Captions, size: int) -> Iterator[list[Tensor]]:
    """ids [B, T] and lengths [B] of captions in their order."""
    ragged = words.encode_many(captions, ends=False)
    for start in range(0, len(captions), size):
        rows = np.arange(start, min(start + size, len(captions)))
        yield [torch.from_numpy(part) for part in ragged.pad(rows)]


def compare_training(
    name: str, embedder: WordEmbedder, lexicon: Lexicon, captions: Captions, rounds: int
) -> None:
    """Word vectors of one batch and their gradients: once a distinct word, or every occurrence."""
    words = SpeltWords(embedder, lexicon).train()
    ids, lengths = next(batches(lexicon, captions, len(captions)))
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


@torch.inference_mode()
def encode(
    words: Vocabulary | Lexicon,
    vectors: Callable[[Tensor], Tensor],
    gru: PackedGRU | None,
    captions: Captions,
    size: int,
) -> None:
    """Words → ids → vectors → states, in batches of `size`."""
    for ids, lengths in batches(words, captions, size):
        distinct, index = torch.unique(ids, return_inverse=True)
        found = vectors(distinct)
        if gru is not None:
            gru.encode(found, index, lengths)


def compare_inference(embedder: WordEmbedder, lexicon: Lexicon, captions: Captions) -> None:
    """Vectors kept, against a word table and against spelling every word again."""
    vocabulary = Vocabulary.build({"": captions}, threshold=1)
    spelt = SpeltWords(embedder, lexicon).eval()
    table = nn.Embedding(len(vocabulary), embedder.size)
    for size, gru in product((1, 128), (None, PackedGRU(embedder.size, 512))):
        rest = (gru, captions[: max(32, size)], size)
        spent = milliseconds(
            {
                "table": partial(encode, vocabulary, table, *rest),
                "kept": partial(encode, lexicon, spelt, *rest),
                "anew": partial(encode, lexicon, spelt.embed, *rest),
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
    alphabet = Alphabet.build(parts, threshold=1)
    lexicon = Lexicon(alphabet)
    embedders = {
        "LIWE(384,448)": Liwe(len(alphabet)),
        "L-LIWE": Liwe(len(alphabet), dimension=LARGE),
        "charGRU": CharGRU(len(alphabet)),
    }
    for label, captions in parts.items():
        print(f"training, {len(captions)} captions ({label}), forward and backward, one thread:")
        for name, embedder in embedders.items():
            compare_training(name, embedder, lexicon, captions, options.rounds)
    label, captions = next(iter(parts.items()))
    print(f"inference, LIWE(384,448), {label}:")
    compare_inference(embedders["LIWE(384,448)"], lexicon, captions)


if __name__ == "__main__":
    main()
