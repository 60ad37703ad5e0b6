"""How much two languages share latent tokens, by assignment method.

python benchmarks/latent_tokens.py [--data DIR] [--lexicon FILE] [--languages de,en]
    [--tokens 4000] [--updates 300] [--assignments start,aligned,random]

All words that occur twice are latent, in batches of 100 images. `start` is `aligned` before its
first update. `paper` uses the embedder's own vectors, which are trained here first (some
minutes). Besides the share of a lexicon's pairs on one token, it prints the share of words with at
least one translation on the same token, and what random tokens of the same sizes would give.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from polyglance.data import Dataset, load_dataset
from polyglance.recipes import load_recipe
from polyglance.text.embedders import TrainingTexts
from polyglance.text.embedders.base import TokenAssignment
from polyglance.text.embedders.universal.sharing import token_sharing
from polyglance.text.lexicon import Lexicon
from polyglance.text.tokenizers import tokenize_many
from polyglance.text.vectors.trained import Corpus, language_vectors
from polyglance.text.vectors.word_vectors import WordVectors
from polyglance.training.assignment import assign_tokens

SHARED = Path(__file__).parents[2] / "shared" / "data"


def known_words(texts: TrainingTexts) -> dict[str, list[str]]:
    """Words that occur twice, the most frequent first, by language."""
    found = {}
    for code, captions in sorted(texts.by_language().items()):
        counts = Counter(word for words in captions for word in words)
        found[code] = [word for word, count in counts.most_common() if count >= 2]
    return found


def word_vectors(
    assignment: str, texts: TrainingTexts, dataset: Dataset, cache: Path
) -> dict[str, WordVectors]:
    """Vectors that an assignment needs: skip-gram for `paper`, none for the others."""
    words = known_words(texts)
    if assignment != "paper":
        return {code: WordVectors(own, np.zeros((len(own), 1))) for code, own in words.items()}
    recipe = load_recipe("smalr-la", {"text.embedder.vector_dim": 100})
    corpus, captions = Corpus(recipe, dataset, sorted(words)), texts.by_language()
    return {
        code: language_vectors(code, own, captions[code], corpus, cache)
        for code, own in words.items()
    }


def describe(
    found: TokenAssignment, vectors: dict[str, WordVectors], lexicon: Lexicon
) -> dict[str, float]:
    """What runs report, the share of words with a translation on their token, and chance."""
    tables = {
        code: dict(zip(vectors[code].words, (1 + own).tolist(), strict=True))
        for code, own in found.tokens.items()
    }
    result = token_sharing(tables, len(found.vectors), lexicon)
    first, second = sorted(tables)
    pairs = [
        (tables[first][a], tables[second][b], a)
        for a, b in set(lexicon.pairs(first, second, normalised=True))
        if a in tables[first] and b in tables[second]
    ]
    words = {word for *_, word in pairs}
    reached = {word for one, two, word in pairs if one == two}
    sides = [Counter(pair[side] for pair in pairs) for side in (0, 1)]
    chance = sum(count * sides[1][token] for token, count in sides[0].items()) / len(pairs) ** 2
    result["words"] = 100 * len(reached) / len(words)
    result["chance"] = 100 * chance
    return result


def main() -> None:
    """Every assignment with one seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=str(SHARED / "flickr8k-ml"))
    parser.add_argument("--lexicon", type=Path, default=SHARED / "lexicon.tsv.gz")
    parser.add_argument("--languages", default="de,en")
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--assignments", default="start,aligned,random")
    given = parser.parse_args()
    torch.set_num_threads(1)
    dataset, lexicon = load_dataset(given.data), Lexicon.open(given.lexicon)
    table = dataset.split("train").captions(given.languages.split(","))
    words = tokenize_many(table.texts, table.languages)
    print("assignment  used  % shared  % of pairs  (of)  % of words  % by chance  CPU s")
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        texts = TrainingTexts(table, words, dataset, cache, False)
        for name in given.assignments.split(","):
            vectors = word_vectors(name, texts, dataset, cache)
            assignment = {"updates": given.updates}
            if name == "start":
                assignment |= {"updates": 1, "lr": 1e-9}
            if name == "paper":
                assignment |= {"kind": name, "soft": 0, "warmup": 0}
            if name == "random":
                assignment = {"kind": name}
            rare = {"tokens": given.tokens, "assignment": assignment}
            changes = {"word_dim": 128, "rare": rare}
            recipe = load_recipe("smalr-la", {"text.embedder": changes, "training.batch_size": 100})
            start = time.process_time()
            shown = describe(assign_tokens(recipe, vectors, texts), vectors, lexicon)
            print(
                f"{name:10} {shown['used']:5.0f} {shown['shared']:9.1f} {shown['pairs']:11.1f} "
                f"{shown['lexicon_pairs']:6.0f} {shown['words']:10.1f} {shown['chance']:12.2f} "
                f"{time.process_time() - start:6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
