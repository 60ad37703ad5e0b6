"""Vocabulary sizes of Multi30K task 1 from the available captions (Kádár et al. 2018, §4).

Draws 29,000 of the images that have translations in en, de, fr and cs, as many as Multi30K trains
on, from a dataset folder and its text-only tuples, and counts words as the papers' code does.

python benchmarks/multi30k_vocabulary.py DIR
"""

import argparse
import statistics
from collections.abc import Collection
from itertools import combinations
from pathlib import Path

import numpy as np

from polyglance.storage.files import read_jsonl
from polyglance.text.embedders.vocabulary import SPECIALS, Vocabulary
from polyglance.text.tokenizers import tokenize_many

LANGUAGES = ("en", "de", "fr", "cs")
TRAIN = 29_000


def translations(folder: Path) -> list[dict[str, str]]:
    """The translations of every image that has all four languages."""
    found = []
    for name in ("captions.jsonl.gz", "text-only.jsonl.gz"):
        for _, row in read_jsonl(folder / name):
            texts = {code: row["captions"].get(code, {}).get("translation") for code in LANGUAGES}
            if all(texts.values()):
                found.append({code: value[0] for code, value in texts.items() if value})
    return found


def jaccard(a: Collection[str], b: Collection[str]) -> float:
    """Overlap |a ∩ b| / |a ∪ b| of two word sets; 0 for two empty ones."""
    first, second = set(a), set(b)
    return len(first & second) / max(len(first | second), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=6)
    options = parser.parse_args()
    rows = translations(options.folder)
    tokens = {
        code: tokenize_many([row[code] for row in rows], code, "moses+treebank")
        for code in LANGUAGES
    }
    sizes: dict[str, list[int]] = {code: [] for code in LANGUAGES}
    overlaps: dict[str, list[float]] = {}
    for draw in range(options.draws):
        chosen = np.random.default_rng(draw).choice(len(rows), TRAIN, replace=False)
        tables = Vocabulary.build_tables({c: [tokens[c][i] for i in chosen] for c in LANGUAGES})
        words = {code: table.words[len(SPECIALS) :] for code, table in tables.items()}
        for code in LANGUAGES:
            sizes[code].append(len(words[code]))
        for a, b in combinations(LANGUAGES, 2):
            overlaps.setdefault(f"{a}-{b}", []).append(jaccard(words[a], words[b]))
    print(f"{len(rows)} images with all four languages, {options.draws} draws of {TRAIN}")
    for code, values in sizes.items():
        print(f"{code} {statistics.mean(values):.0f} ± {statistics.stdev(values):.0f}")
    print(" ".join(f"{pair} {statistics.mean(v):.4f}" for pair, v in overlaps.items()))


if __name__ == "__main__":
    main()
