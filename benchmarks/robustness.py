"""How much a model loses on queries that are not written like captions, by language.

    python benchmarks/robustness.py [MODEL ...] [--split test] [--json FILE]

The default MODEL is the included one. For every kind of query: mR in each language, and the loss
against plain captions. Kinds in addition to those of `polyglance evaluate --perturb`:

- `no language`: the language is not passed to the model, as for all other kinds.
- `half`: the first half of a caption and the second half of one of the same image in another
  language (English; for English captions German).

By default one caption per image and language, so that it takes minutes; `--captions 5` uses all.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.data import CaptionedImage, Dataset, load_dataset
from polyglance.evaluation import evaluate
from polyglance.evaluation.perturb import make_perturber
from polyglance.evaluation.perturb.known import KnownWords
from polyglance.evaluation.perturb.words import spans
from polyglance.evaluation.reports.report import Perturbed
from polyglance.runtime import open_model

SHARED = Path(__file__).parents[2] / "shared" / "data"
PLAIN = "as it is"
HALF = "half"
KINDS = (
    "typos:0.2",
    "typos:0.5",
    "upper:1",
    "lower:1",
    "title:1",
    "unmarked:1",
    "code-switch:0.5",
    HALF,
)
Perturb = Callable[[list[str], str], tuple[list[str], Perturbed]]


class Encoded:
    """A model with precomputed image embeddings, so that images are encoded only once."""

    def __init__(self, model: Any, images: np.ndarray, told: bool) -> None:
        self.model, self.images, self.told = model, images, told
        self.similarity_name = model.similarity_name
        self.languages = model.languages

    def encode_text(self, texts: list[str], language: str | None = None, **_: object) -> np.ndarray:
        found = self.model.encode_text(texts, language if self.told else None, show_progress=False)
        return np.asarray(found)

    def encode_dataset(self, dataset: Dataset, **_: object) -> np.ndarray:
        return self.images


def few_captions(dataset: Dataset, split: str, count: int) -> Dataset:
    """The split with only the first captions of each language's best kind."""
    part = dataset.split(split)
    kinds = {code: part.best_kind(code) for code in part.languages}
    images = [
        replace(
            one,
            captions={
                code: {kinds[code]: own[kinds[code]][:count]}
                for code, own in one.captions.items()
                if own.get(kinds[code])
            },
        )
        for one in part.images
    ]
    return replace(part, images=images)


def half_sentences(images: Sequence[CaptionedImage]) -> Perturb:
    """The first half of a caption, then the second half of one in another language."""
    others: dict[tuple[str, str], str] = {}
    for one in images:
        first = {code: next(iter(own.values()))[0] for code, own in one.captions.items()}
        for code, kinds in one.captions.items():
            other = first.get("de" if code == "en" else "en")
            for text in next(iter(kinds.values())) if other else ():
                others[code, text] = str(other)

    def perturb(texts: list[str], language: str) -> tuple[list[str], Perturbed]:
        made, words, changed = [], 0, 0
        for text in texts:
            own, other = spans(text, language), others.get((language, text))
            words += len(own)
            if other is None or len(own) < 2:
                made.append(text)
                continue
            theirs = spans(other, "de" if language == "en" else "en")
            cut, after = own[len(own) // 2][0], theirs[len(theirs) // 2][0]
            made.append(f"{text[:cut].rstrip()} {other[after:]}")
            changed += len(own) - len(own) // 2
        return made, Perturbed(HALF, words, changed)

    return perturb


def measure(name: str, given: argparse.Namespace, dataset: Dataset, part: Dataset) -> Any:
    """mR by kind and language, and the share of words changed."""
    model = open_model(None if name == "" else name)
    images, known = np.asarray(model.encode_dataset(part)), KnownWords(dataset)
    found: dict[str, Any] = {}
    for kind in (PLAIN, "no language", *given.kinds.split(",")):
        told = kind == PLAIN or "" not in getattr(model, "towers", {"": None})
        perturb: Perturb | None = None
        if kind == HALF:
            perturb = half_sentences(part.images)
        elif kind not in (PLAIN, "no language"):
            perturb = make_perturber(kind, known, given.lexicon, given.seed)
        report = evaluate(
            Encoded(model, images, told), part, given.split, bootstrap=0, perturb=perturb
        )
        found[kind] = {
            one.language: {"mr": one.metrics.mr, "changed": _changed(one.perturbed)}
            for one in report.results
        }
    return found


def _changed(perturbed: Perturbed | None) -> float:
    return 0.0 if perturbed is None or not perturbed.words else perturbed.changed / perturbed.words


def show(name: str, found: dict[str, Any]) -> None:
    """A Markdown table: mR of plain captions, then the loss for every kind."""
    codes = list(found[PLAIN])
    print(f"\n{name or 'the package’s model'}: mR, then its loss (points; % of words changed)\n")
    print(f"| query | {' | '.join(codes)} | mean | % of words |")
    print(f"| --- |{' ---: |' * (len(codes) + 2)}")
    for kind, own in found.items():
        values = [own[code]["mr"] for code in codes]
        if kind != PLAIN:
            values = [
                value - found[PLAIN][code]["mr"] for value, code in zip(values, codes, strict=True)
            ]
        form = "{:.1f}" if kind == PLAIN else "{:+.1f}"
        cells = [form.format(value) for value in [*values, float(np.mean(values))]]
        changed = 100 * float(np.mean([own[code]["changed"] for code in codes]))
        print(f"| {kind} | {' | '.join(cells)} | {changed:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=[""])
    parser.add_argument("--data", default=str(SHARED / "flickr8k-ml"))
    parser.add_argument("--lexicon", type=Path, default=SHARED / "lexicon.tsv.gz")
    parser.add_argument("--split", default="val")
    parser.add_argument("--captions", type=int, default=1, help="a picture and language")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    start, dataset = time.perf_counter(), load_dataset(given.data)
    part = few_captions(dataset, given.split, given.captions)
    print(f"{given.data}, {given.split}, {given.captions} captions a picture and language")
    results = {}
    for name in given.models:
        results[name or "base"] = measure(name, given, dataset, part)
        show(name, results[name or "base"])
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
