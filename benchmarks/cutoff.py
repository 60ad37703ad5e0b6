"""Does a search say that nothing looks like what is asked for, and only then?

    python benchmarks/cutoff.py [MODEL] [--split test] [--json FILE]

Without a MODEL it is the one that the package carries. Pictures and captions are of a split that
the background was not made of. Every query asks a gallery of 100 pictures:

- `captions`: of one more picture; a mistake is that it is not shown;
- `captions of others`: pictures unlike it, those of the half whose English captions share least
  nouns with its own; a mistake is that any is shown, as with what follows;
- `nonsense`: random letters, or syllables, one to five words;
- `talk`: sentences of Tatoeba, about anything but pictures;
- `words`: nouns that three or more captions of one more picture have; a mistake is that neither it
  nor another one that a caption gives the word is shown;
- `words of absent things`: which no caption of the split has.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from polyglance.data import Dataset, load_dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.encoder import encode_quietly
from polyglance.evaluation.perturb.lexical import translations
from polyglance.evaluation.perturb.words import words_of
from polyglance.runtime import open_model
from polyglance.storage.files import read_jsonl
from polyglance.text.lexicon import Lexicon

SHARED = Path(__file__).parents[2] / "shared" / "data"
GALLERY = 100
THINGS = """
submarine volcano microscope penguin violin cactus telescope piano lighthouse igloo scorpion
typewriter harp iceberg octopus tornado satellite skeleton spider syringe toothbrush walrus
screwdriver pyramid pineapple giraffe hippopotamus cathedral coffin compass crocodile envelope
galaxy hedgehog jellyfish kidney mosquito mushroom orchid passport radiator saxophone snail
spaceship stethoscope teapot tombstone tractor unicorn waterfall whale windmill zebra
"""
"""What Flickr's photographs of people and dogs hardly show; what a caption names is left out."""


def nonsense(count: int, chance: Random) -> list[str]:
    """Half of random letters, half of syllables; one to five words."""
    consonants, vowels = "bcdfghjklmnprstvz", "aeiou"

    def letters() -> str:
        size = chance.randint(4, 9)
        return "".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(size))

    def syllables() -> str:
        size = chance.randint(2, 4)
        return "".join(chance.choice(consonants) + chance.choice(vowels) for _ in range(size))

    makers = [letters, syllables]
    return [
        " ".join(makers[number % 2]() for _ in range(chance.randint(1, 5)))
        for number in range(count)
    ]


def talk(path: Path, languages: Sequence[str], count: int, chance: Random) -> list[str]:
    """Sentences of Tatoeba in the languages."""
    found = [
        text
        for _, row in read_jsonl(path)
        if str(row["id"]).startswith("tatoeba")
        for code in languages
        for texts in row["captions"].get(code, {}).values()
        for text in texts
    ]
    return chance.sample(found, min(count, len(found)))


class Split:
    """Pictures of a split with their captions, as a model embeds them."""

    def __init__(self, model: Any, part: Dataset, seed: int) -> None:
        self.model, self.part = model, part
        self.images = np.asarray(model.encode_dataset(part))
        self.chance, self.draw = Random(seed), np.random.default_rng(seed)
        self.languages = [code for code in part.languages if code in model.languages]
        self.words = [self._words(number) for number in range(len(part.images))]

    def _words(self, number: int) -> dict[str, Counter[str]]:
        """How many captions of a picture have each word, by language."""
        found = {}
        for code in self.languages:
            kinds = self.part.images[number].captions.get(code, {})
            texts = [text for own in kinds.values() for text in own]
            found[code] = Counter(word for text in texts for word in set(words_of(text, code)))
        return found

    def captions(self, count: int) -> tuple[list[str], list[int]]:
        """Texts of any language, and their pictures."""
        every = [
            (text, number)
            for number, one in enumerate(self.part.images)
            for code in self.languages
            for text in next(iter(one.captions.get(code, {"": []}).values()))[:1]
        ]
        texts, owners = zip(*self.chance.sample(every, min(count, len(every))), strict=True)
        return list(texts), list(owners)

    def present_words(self, nouns: Callable[[str], set[str]], count: int) -> tuple[Any, Any]:
        """Nouns that three or more captions of a picture have, and the pictures."""
        every = sorted(
            (word, number)
            for number, own in enumerate(self.words)
            for code, words in own.items()
            for word, times in words.items()
            if times >= 3 and word in nouns(code)
        )
        chosen = self.chance.sample(every, min(count, len(every)))
        return [word for word, _ in chosen], [number for _, number in chosen]

    def unlike(self, number: int, nouns: set[str]) -> np.ndarray:
        """The half of the pictures whose English captions share least nouns with those of one."""
        own = self.words[number]["en"].keys() & nouns
        alike = [len(own & other["en"].keys()) for other in self.words]
        return np.argsort(alike, kind="stable")[: len(alike) // 2]

    def best_right(self, words: list[str], rows: list[int]) -> np.ndarray:
        """The best score [m] of pictures whose captions have the word, of 100 and the one given."""
        scores = self.scores(words)
        found = []
        for column, (word, row) in enumerate(zip(words, rows, strict=True)):
            drawn = self.draw.choice(len(self.images), GALLERY, replace=False)
            right = [n for n in drawn if any(word in own for own in self.words[n].values())]
            found.append(scores[[row, *right], column].max())
        return np.array(found)

    def best(self, texts: list[str], pools: Sequence[np.ndarray] | None = None) -> np.ndarray:
        """The best score [m] of each text among 100 pictures, of any or of its pool."""
        scores = self.scores(texts)
        size = min(GALLERY, len(self.images) // 2)
        rows = [
            self.draw.choice(len(self.images) if pools is None else pools[n], size, replace=False)
            for n in range(len(texts))
        ]
        return np.array([scores[own, n].max() for n, own in enumerate(rows)])

    def scores(self, texts: list[str]) -> np.ndarray:
        """Calibrated scores [N, m], as searches have them."""
        found = np.asarray(encode_quietly(self.model, texts, None))
        return self.model.background.calibrated(self.images, found)


def noun_table(lexicon: Lexicon) -> Callable[[str], set[str]]:
    """Language → its words in the lexicon that are nouns in most senses."""
    known: dict[str, set[str]] = {}

    def nouns(code: str) -> set[str]:
        if code not in known:
            known[code] = {
                word
                for word, synsets in lexicon.synsets(code, normalised=True).items()
                if 2 * sum(str(one).endswith("-n") for one in synsets) > len(synsets)
            }
        return known[code]

    return nouns


def absent_words(split: Split, lexicon: Lexicon) -> list[str]:
    """Names of things in the model's languages that no caption has."""
    english, found = lexicon.synsets("en", normalised=True), []
    for code in split.languages:
        table = translations(english, lexicon.synsets(code, normalised=True))
        said = {word for own in split.words for word in own[code]}
        for thing in THINGS.split():
            word = thing if code == "en" else table(thing)
            if word is not None and not said & set(words_of(word, code)):
                found.append(word)
    return found


def measure(split: Split, given: argparse.Namespace) -> dict[str, Any]:
    """For every kind of query how many there were, and the share of mistakes."""
    cutoff, lexicon = split.model.background.cutoff, Lexicon.open(given.lexicon)
    found: dict[str, Any] = {}

    def shown(kind: str, best: np.ndarray, right: bool) -> None:
        wrong = best < cutoff if right else best >= cutoff
        found[kind] = {"queries": len(best), "mistakes": float(wrong.mean())}

    texts, owners = split.captions(given.queries)
    nouns = noun_table(lexicon)
    far = {number: split.unlike(number, nouns("en")) for number in set(owners)}
    shown("captions", split.scores(texts)[owners, np.arange(len(texts))], True)
    shown("captions of others", split.best(texts, [far[n] for n in owners]), False)
    shown("nonsense", split.best(nonsense(given.queries // 2, split.chance)), False)
    said = talk(given.parallel, split.languages, given.queries // 2, split.chance)
    shown("talk", split.best(said), False)
    words, rows = split.present_words(nouns, given.queries // 2)
    shown("words", split.best_right(words, rows), True)
    shown("words of absent things", split.best(absent_words(split, lexicon)), False)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--data", default=str(SHARED / "flickr8k-ml"))
    parser.add_argument("--lexicon", type=Path, default=SHARED / "lexicon.tsv.gz")
    parser.add_argument("--parallel", type=Path, default=SHARED / "parallel.jsonl.gz")
    parser.add_argument("--split", default="test")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    start, model = time.perf_counter(), open_model(given.model)
    background = getattr(model, "background", None)
    if background is None:
        raise PolyglanceError(f"{given.model}: has no background; export with --background DATA")
    split = Split(model, load_dataset(given.data).split(given.split), given.seed)
    found = measure(split, given)
    print(f"{given.data}, {given.split}; pictures fit from a score of {background.cutoff:.2f}\n")
    print("| query | queries | a mistake is | % mistakes |\n| --- | ---: | --- | ---: |")
    for kind, own in found.items():
        which = "a miss" if kind in ("captions", "words") else "a false alarm"
        print(f"| {kind} | {own['queries']} | {which} | {100 * own['mistakes']:.1f} |")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if given.json:
        value = {"cutoff": background.cutoff, "queries": found}
        given.json.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
