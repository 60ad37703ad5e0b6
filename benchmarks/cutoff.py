"""Whether a search reports that nothing matches exactly when nothing does.

    python benchmarks/cutoff.py [MODEL] [--split test] [--galleries 25 100] [--json FILE]

The default MODEL is the included one. On `val`, for development, the background is computed from
one half of the images and evaluated on the other, both ways; on another split the model's own
background is evaluated. Every query searches galleries of 100 images, or of the given sizes:

- `captions`: with one matching image added; an error is that it is not shown;
- `captions of others`: dissimilar images, those of the half whose English captions share the
  fewest nouns with the query's image; an error is that any is shown, as for the following;
- `nonsense`: random letters, or syllables, one to five words;
- `talk`: sentences from Tatoeba, not about images;
- `words`: nouns that three or more captions of an added image have; an error is that neither it
  nor another image with the word in a caption is shown. Function words, some of which a lexicon
  lists as nouns too, are left out, as captions of an image do not agree on them;
- `words of absent things`: nouns in no caption of the split.

The area under the ROC curve measures how well the score separates the best matching image from
the best one of a gallery without a match, whatever the threshold.

A second table is about every image of the split that a word matches, not only the best one. Words
are grouped by prevalence, the share of images that have them; an image has a word if three or more
captions of a language do, or both of two. *Recall* is the share of a word's images that are shown,
*precision* the share of the shown images that have the word in any caption: a lower bound, as
captions of a man may call him a guy. Both are means over words, precision over those that show an
image; *nothing* is the share of the others.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from polyglance.data import Dataset, load_dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.encoder import encode_quietly
from polyglance.evaluation.perturb.lexical import translations
from polyglance.evaluation.perturb.words import words_of
from polyglance.runtime import Background, background_of, open_model
from polyglance.runtime.calibration_words import AGREEMENT, agreement
from polyglance.storage.files import read_jsonl
from polyglance.text.lexicon import Lexicon

SHARED = Path(__file__).parents[2] / "shared" / "data"
PREVALENCE = (0.1, 0.02, 0.0)
"""Least shares of images that have a word, of the classes of words; the last is exclusive."""
RIGHT = ("captions", "words")
"""Kinds of queries that have a match."""
THINGS = """
submarine volcano microscope penguin violin cactus telescope piano lighthouse igloo scorpion
typewriter harp iceberg octopus tornado satellite skeleton spider syringe toothbrush walrus
screwdriver pyramid pineapple giraffe hippopotamus cathedral coffin compass crocodile envelope
galaxy hedgehog jellyfish kidney mosquito mushroom orchid passport radiator saxophone snail
spaceship stethoscope teapot tombstone tractor unicorn waterfall whale windmill zebra
"""
"""Things rare in Flickr's photos of people and dogs; those named in a caption are left out."""


def nonsense(count: int, chance: Random) -> list[str]:
    """Half random letters, half syllables; one to five words."""
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
    """Images of a split with their captions, embedded by a model, and a background."""

    def __init__(self, model: Any, part: Dataset, background: Background, seed: int) -> None:
        self.model, self.part, self.background = model, part, background
        self.images = np.asarray(model.encode_dataset(part))
        self.chance, self.draw = Random(seed), np.random.default_rng(seed)
        self.languages = [code for code in part.languages if code in model.languages]
        self.words = [self._words(number) for number in range(len(part.images))]

    def _words(self, number: int) -> dict[str, Counter[str]]:
        """How many captions of an image have each word, by language."""
        found = {}
        for code in self.languages:
            kinds = self.part.images[number].captions.get(code, {})
            texts = [text for own in kinds.values() for text in own]
            found[code] = Counter(word for text in texts for word in set(words_of(text, code)))
        return found

    def captions(self, count: int) -> tuple[list[str], list[int]]:
        """Texts in any language, and their images."""
        every = [
            (text, number)
            for number, one in enumerate(self.part.images)
            for code in self.languages
            for text in next(iter(one.captions.get(code, {"": []}).values()))[:1]
        ]
        texts, owners = zip(*self.chance.sample(every, min(count, len(every))), strict=True)
        return list(texts), list(owners)

    def present_words(self, nouns: Callable[[str], set[str]], count: int) -> tuple[Any, Any]:
        """Nouns that three or more captions of an image have, and the images."""
        every = sorted(
            (word, number)
            for number, own in enumerate(self.words)
            for code, words in own.items()
            for word, times in words.items()
            if times >= 3 and word in nouns(code) and self._agreed(code, word)
        )
        chosen = self.chance.sample(every, min(count, len(every)))
        return [word for word, _ in chosen], [number for _, number in chosen]

    def prevalent_words(self, code: str) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Content words of a language, and which images [N, W] have them in several captions, or
        in any."""
        words = sorted({word for own in self.words for word in own.get(code, ())})
        counts = np.array([[own[code][word] for word in words] for own in self.words])
        captions = np.array([self._captions(number)[code] for number in range(len(self.words))])
        several = (counts >= np.clip(captions, 2, 3)[:, None]).astype(bool)
        kept = [
            column
            for column in np.flatnonzero(several.any(0))
            if words[column].isalpha() and self._agreed(code, words[column])
        ]
        return [words[column] for column in kept], several[:, kept], counts[:, kept] > 0

    def unlike(self, number: int, nouns: set[str]) -> np.ndarray:
        """The half of the images whose English captions share the fewest nouns with one's."""
        own = self.words[number]["en"].keys() & nouns
        alike = [len(own & other["en"].keys()) for other in self.words]
        return np.argsort(alike, kind="stable")[: len(alike) // 2]

    @cache  # noqa: B019
    def _agreed(self, code: str, word: str) -> bool:
        """Whether captions of an image agree on a word more than on function words."""
        own = Counter({n: one[code][word] for n, one in enumerate(self.words) if one[code][word]})
        captions = Counter({n: self._captions(n)[code] for n in range(len(self.words))})
        return agreement(own, captions) >= AGREEMENT

    @cache  # noqa: B019
    def _captions(self, number: int) -> Counter[str]:
        """Number of captions of an image, by language."""
        one = self.part.images[number].captions
        return Counter({code: sum(map(len, kinds.values())) for code, kinds in one.items()})

    def best_right(self, words: list[str], rows: list[int], size: int) -> np.ndarray:
        """The best score [m] among images whose captions have the word, drawn or passed."""
        scores, found = self.scores(words), []
        for column, (word, row) in enumerate(zip(words, rows, strict=True)):
            drawn = self._drawn(len(self.images), size)
            right = [n for n in drawn if any(word in own for own in self.words[n].values())]
            found.append(scores[[row, *right], column].max())
        return np.array(found)

    def best(
        self, texts: list[str], size: int, pools: Sequence[np.ndarray] | None = None
    ) -> np.ndarray:
        """The best score [m] of each text among drawn images, of all or of its pool."""
        scores, found = self.scores(texts), []
        for n in range(len(texts)):
            pool = np.arange(len(self.images)) if pools is None else pools[n]
            found.append(scores[pool[self._drawn(len(pool), size)], n].max())
        return np.array(found)

    def _drawn(self, count: int, size: int) -> np.ndarray:
        return self.draw.choice(count, min(size, count), replace=False)

    def scores(self, texts: list[str]) -> np.ndarray:
        """Calibrated scores [N, m] minus the cut-off."""
        found = np.asarray(encode_quietly(self.model, texts, None))
        return self.background.calibrated(self.images, found) - self.background.cutoff


def noun_table(lexicon: Lexicon) -> Callable[[str], set[str]]:
    """Language → its words in the lexicon that are mostly nouns."""
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
    """Names of things in the model's languages that occur in no caption."""
    english, found = lexicon.synsets("en", normalised=True), []
    for code in split.languages:
        table = translations(english, lexicon.synsets(code, normalised=True))
        said = {word for own in split.words for word in own[code]}
        for thing in THINGS.split():
            word = thing if code == "en" else table(thing)
            if word is not None and not said & set(words_of(word, code)):
                found.append(word)
    return found


def measure(
    split: Split, size: int, lexicon: Lexicon, given: argparse.Namespace
) -> dict[str, np.ndarray]:
    """The best scores, relative to the cut-off, by kind of query."""
    nouns, found = noun_table(lexicon), {}
    texts, owners = split.captions(given.queries)
    far = {number: split.unlike(number, nouns("en")) for number in set(owners)}
    found["captions"] = split.scores(texts)[owners, np.arange(len(texts))]
    found["captions of others"] = split.best(texts, size, [far[n] for n in owners])
    found["nonsense"] = split.best(nonsense(given.queries // 2, split.chance), size)
    said = talk(given.parallel, split.languages, given.queries // 2, split.chance)
    found["talk"] = split.best(said, size)
    words, rows = split.present_words(nouns, given.queries // 2)
    found["words"] = split.best_right(words, rows, size)
    found["words of absent things"] = split.best(absent_words(split, lexicon), size)
    return found


def by_prevalence(split: Split) -> dict[str, np.ndarray]:
    """[W, 2] by class of words: recall, and precision or NaN if no image is shown."""
    found: dict[str, list[tuple[float, float]]] = {}
    for code in split.languages:
        words, several, has = split.prevalent_words(code)
        if not words:
            continue
        shown = split.scores(words) >= 0
        recall = (shown & several).sum(0) / several.sum(0)
        total = shown.sum(0)
        precision = np.where(total > 0, (shown & has).sum(0) / np.maximum(total, 1), np.nan)
        for number, share in enumerate(several.mean(0)):
            name = f"more than {next(100 * one for one in PREVALENCE if share > one):g} % of images"
            for group in ("English", "all languages") if code == "en" else ("all languages",):
                own = (float(recall[number]), float(precision[number]))
                found.setdefault(f"{name} | {group}", []).append(own)
    return {name: np.array(own) for name, own in found.items()}


def area(right: np.ndarray, wrong: np.ndarray) -> float:
    """The share of pairs in which the match has the higher score; ties count half."""
    below = np.searchsorted(np.sort(wrong), right, "left")
    not_above = np.searchsorted(np.sort(wrong), right, "right")
    return float((below + not_above).mean() / 2 / len(wrong))


def splits(model: Any, given: argparse.Namespace) -> list[Split]:
    """What is evaluated: on val both halves, each with a background of the other."""
    part = load_dataset(given.data).split(given.split)
    if given.split != "val":
        own = getattr(model, "background", None)
        if own is None:
            raise PolyglanceError(
                f"{given.model}: has no background; export with --background DATA"
            )
        return [Split(model, part, own, given.seed)]
    rows = np.random.default_rng(given.seed).permutation(len(part.images))
    halves = [
        replace(part, images=[part.images[row] for row in np.sort(own)])
        for own in np.array_split(rows, 2)
    ]
    return [
        Split(model, judged, background_of(model, other), given.seed)
        for judged, other in (halves, halves[::-1])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--data", default=str(SHARED / "flickr8k-ml"))
    parser.add_argument("--lexicon", type=Path, default=SHARED / "lexicon.tsv.gz")
    parser.add_argument("--parallel", type=Path, default=SHARED / "parallel.jsonl.gz")
    parser.add_argument("--split", default="val")
    parser.add_argument("--galleries", type=int, nargs="+", default=[100])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    start, lexicon, said = time.perf_counter(), Lexicon.open(given.lexicon), {}
    judged = splits(open_model(given.model), given)
    for size in given.galleries:
        parts = [measure(split, size, lexicon, given) for split in judged]
        found = {kind: np.concatenate([part[kind] for part in parts]) for kind in parts[0]}
        said[size] = shown(f"{given.data}, {given.split}; galleries of {size} pictures", found)
    said["prevalence"] = shown_by_prevalence([by_prevalence(split) for split in judged])
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if given.json:
        given.json.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


def shown(title: str, found: dict[str, np.ndarray]) -> dict[str, Any]:
    """Print the errors by kind of query, and the areas; returns both."""
    wrong = {kind: own < 0 if kind in RIGHT else own >= 0 for kind, own in found.items()}
    mistakes = {kind: float(own.mean()) for kind, own in wrong.items()}
    print(f"{title}\n\n| query | queries | a mistake is | % mistakes | area: captions | words |")
    print("| --- | ---: | --- | ---: | ---: | ---: |")
    areas: dict[str, list[float]] = {}
    for kind, own in found.items():
        which = "a miss" if kind in RIGHT else "a false alarm"
        areas[kind] = [] if kind in RIGHT else [area(found[one], own) for one in RIGHT]
        cells = [f"{one:.3f}" for one in areas[kind]] or ["", ""]
        row = [kind, str(len(own)), which, f"{100 * mistakes[kind]:.1f}", *cells]
        print(f"| {' | '.join(row)} |")
    print()
    return {"mistakes": mistakes, "areas": areas}


def shown_by_prevalence(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Print recall and precision by class of words; returns them."""
    print("| words that | language | words | % recall | % precision | % nothing |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    said = {}
    for name in sorted({name for part in parts for name in part}, key=_prevalence):
        own = np.concatenate([part[name] for part in parts if name in part])
        nothing = float(np.isnan(own[:, 1]).mean())
        recall, precision = float(own[:, 0].mean()), float(np.nanmean(own[:, 1]))
        rates = (f"{100 * rate:.1f}" for rate in (recall, precision, nothing))
        print(f"| {name} | {len(own)} | {' | '.join(rates)} |")
        said[name] = {"recall": recall, "precision": precision, "nothing": nothing}
    print()
    return said


def _prevalence(name: str) -> tuple[float, bool]:
    return -float(name.split()[2]), name.endswith("all languages")


if __name__ == "__main__":
    main()
