"""How well a model knows the words of a lexicon, by language, without images.

    python benchmarks/lexicon_words.py WORDS.jsonl.gz [MODEL ...] [--tuples 1500] [--languages el]

WORDS is written by 'polyglance data words'; MODEL is a folder, the included model by default. Of
some tuples drawn at random, the first word of a language searches for the first English word of
its tuple among those of all: the percentage found among the first ten (chance: 10 / tuples). A
model may have been trained on these words; the figures then say how much it remembers.
"""

import argparse
import random
import warnings
from pathlib import Path

import numpy as np

import polyglance
from polyglance.data.text_only import read_tuples
from polyglance.numerics.similarity import normalise

TOP = 10


def first_words(path: Path, count: int, seed: int) -> list[dict[str, str]]:
    """Language → first word, of `count` tuples drawn at random."""
    table = read_tuples(path, None, 0)
    found: dict[int, dict[str, str]] = {}
    for number, language, text in zip(table.image, table.languages, table.texts, strict=True):
        found.setdefault(int(number), {}).setdefault(language, text)
    chosen = [words for words in found.values() if "en" in words]
    random.Random(seed).shuffle(chosen)
    return chosen[:count]


def measure(model: polyglance.Model, words: list[dict[str, str]], language: str) -> float:
    """Percentage of a language's words whose English word is among the ten closest."""

    def embed(texts: list[str]) -> np.ndarray:
        return normalise(np.asarray(model.encode_text(texts, show_progress=False)))

    rows = [row for row, own in enumerate(words) if language in own]
    scores = embed([words[row][language] for row in rows]) @ embed([own["en"] for own in words]).T
    right = scores[np.arange(len(rows)), rows]
    return 100 * float(np.mean((scores > right[:, None]).sum(1) < TOP))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", type=Path)
    parser.add_argument("models", nargs="*", default=[""])
    parser.add_argument("--tuples", type=int, default=1500)
    parser.add_argument("--languages", default="")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    words = first_words(given.words, given.tuples, given.seed)
    every = sorted({language for own in words for language in own} - {"en"})
    languages = given.languages.split(",") if given.languages else every
    print(f"| model | {' | '.join(languages)} | mean |")
    print("| --- |" + " ---: |" * (len(languages) + 1))
    for name in given.models:
        model = polyglance.load(*filter(None, [name]))
        found = [measure(model, words, language) for language in languages]
        cells = [f"{value:.1f}" for value in [*found, float(np.mean(found))]]
        print(f"| {name or 'included'} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
