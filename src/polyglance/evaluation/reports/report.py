"""The result of an evaluation, and its JSON form."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.evaluation.ranking.bootstrap import HEADLINE, Outcome, bootstrap, interval
from polyglance.evaluation.ranking.metrics import Metrics, chance, mean
from polyglance.evaluation.ranking.ranks import Ranks
from polyglance.storage.files import read_json

HUMAN_KINDS = {"independent", "translation"}
TIE_RULE = "equal scores: the image with the lower index first"

Intervals = dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Perturbed:
    """The perturbation of a language's captions, with counts of words and changed words."""

    name: str
    words: int
    changed: int


@dataclass(frozen=True, slots=True)
class LanguageResult:
    """The result of one language."""

    language: str
    kinds: tuple[str, ...]
    outcome: Outcome
    known: bool = True
    duplicates: int = 0
    strict: dict[int, float] | None = None
    intervals: Intervals = field(default_factory=dict)
    perturbed: Perturbed | None = None

    @property
    def metrics(self) -> Metrics:
        return self.outcome.metrics()

    @property
    def human(self) -> bool:
        """Whether all captions were written by people."""
        return set(self.kinds) <= HUMAN_KINDS

    def as_dict(self, ranks: bool = False) -> dict[str, Any]:
        outcome = self.outcome
        value: dict[str, Any] = {
            "kinds": list(self.kinds),
            "known": self.known,
            "images": len(outcome.image),
            "captions": len(outcome.caption_image),
            "copies_left_out": self.duplicates,
            **self.metrics.as_dict(),
            "intervals": {name: list(pair) for name, pair in self.intervals.items()},
        }
        if outcome.folds == 1:
            value["chance_mr"] = chance(outcome.caption_image)
        if self.perturbed is not None:
            value["perturbed"] = asdict(self.perturbed)
        if self.strict is not None:
            value["image_to_text_strict"] = {f"r{k}": v for k, v in self.strict.items()}
        if ranks:
            value["ranks"] = {
                "photo": outcome.image.tolist(),
                "caption_image": outcome.caption_image.tolist(),
                "image_to_text": outcome.ranks.image_to_text.tolist(),
                "text_to_image": outcome.ranks.text_to_image.tolist(),
            }
        return value


@dataclass(frozen=True, slots=True)
class Average:
    """Mean over languages, with joint intervals."""

    languages: tuple[str, ...]
    metrics: Metrics
    intervals: Intervals = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        pairs = {name: list(pair) for name, pair in self.intervals.items()}
        return {"languages": list(self.languages), **self.metrics.as_dict(), "intervals": pairs}


@dataclass(frozen=True)
class Report:
    """Results of one model on one split.

    `images` are the file names of the split, in its order; `notes` are messages for the user.

    >>> from polyglance.data import CaptionedImage, Dataset
    >>> from polyglance.evaluation import evaluate
    >>> class Lengths:
    ...     def encode_text(self, texts, language=None, **_):
    ...         return np.eye(9)[[len(text) for text in texts]]
    ...     def encode_dataset(self, dataset, **_):
    ...         return np.eye(9)[[len(one.image) for one in dataset.images]]
    ...
    >>> captions = [{"en": {"independent": [text]}, "de": {"independent": ["Tier"]}}
    ...     for text in ("cat", "bird")]
    >>> images = [CaptionedImage(one["en"]["independent"][0], "test", one) for one in captions]
    >>> report = evaluate(Lengths(), Dataset(images, Path(), "animals"), bootstrap=0)
    >>> report.images, report["en"].metrics.image_to_text.r1, report["de"].metrics.image_to_text.r1
    (['cat', 'bird'], 100.0, 50.0)
    """

    model: str
    dataset: str
    split: str
    similarity: str
    images: list[str]
    unreadable: list[str]
    results: list[LanguageResult]
    averages: dict[str, Average]
    folds: int = 1
    rounds: int = 0
    seed: int = 0
    notes: list[str] = field(default_factory=list, compare=False)

    def __getitem__(self, language: str) -> LanguageResult:
        return next(result for result in self.results if result.language == language)

    def as_dict(self, ranks: bool = False) -> dict[str, Any]:
        """The report as JSON; with `ranks`, it includes what later comparisons need."""
        value: dict[str, Any] = {
            "model": self.model,
            "dataset": self.dataset,
            "split": self.split,
            "similarity": self.similarity,
            "folds": self.folds,
            "bootstrap": {"rounds": self.rounds, "seed": self.seed, "level": 0.95},
            "ties": TIE_RULE,
            "photographs": len(self.images),
            "unreadable": self.unreadable,
            "languages": {r.language: r.as_dict(ranks) for r in self.results},
            "averages": {name: average.as_dict() for name, average in self.averages.items()},
        }
        return value | ({"photos": self.images} if ranks else {})


def summarise(report: Report) -> Report:
    """Fill in intervals and the averages over human and over all languages."""
    outcomes = [result.outcome for result in report.results]
    samples: np.ndarray | None = None
    if report.rounds:
        samples = bootstrap(outcomes, len(report.images), report.rounds, report.seed)
    results = [
        result if samples is None else replace(result, intervals=_named(samples[i]))
        for i, result in enumerate(report.results)
    ]
    averages = {}
    for name, members in average_members(report.results).items():
        joint = {} if samples is None else _named(samples[members].mean(axis=0))
        chosen = [results[i] for i in members]
        languages = tuple(result.language for result in chosen)
        averages[name] = Average(languages, mean([result.metrics for result in chosen]), joint)
    return replace(report, results=results, averages=averages)


def average_members(results: Sequence[LanguageResult]) -> dict[str, list[int]]:
    """Positions of the languages in each average: `human` (if there are any) and `all`."""
    human = [i for i, result in enumerate(results) if result.human]
    return ({"human": human} if human else {}) | {"all": list(range(len(results)))}


def _named(samples: np.ndarray) -> Intervals:
    low, high = interval(samples)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(HEADLINE)}


def load_report(path: Path) -> Report:
    """Read a report written with its ranks."""
    return as_report(read_json(path), path)


def as_report(value: Any, path: Path) -> Report:
    """The report of a JSON value with ranks.

    Args:
        value: from `Report.as_dict`; ranks may be arrays.
        path: of the file, for errors.
    """
    if not isinstance(value, dict) or "languages" not in value:
        raise PolyglanceError(f"{path}: not the JSON of one evaluated model")
    if "photos" not in value:
        raise PolyglanceError(f"{path}: contains no ranks; write it again with --ranks")
    try:
        return summarise(_report(value))
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise PolyglanceError(f"{path}: damaged report ({error!r}); write it again") from None


def _report(value: dict[str, Any]) -> Report:
    results = []
    for language, entry in value["languages"].items():
        column = {name: np.array(ranks, np.int64) for name, ranks in entry["ranks"].items()}
        ranks = Ranks(column["image_to_text"], column["text_to_image"])
        outcome = Outcome(ranks, column["caption_image"], column["photo"], value["folds"])
        strict, perturbed = entry.get("image_to_text_strict"), entry.get("perturbed")
        results.append(
            LanguageResult(
                language,
                tuple(entry["kinds"]),
                outcome,
                entry["known"],
                entry["copies_left_out"],
                strict and {int(k[1:]): recall for k, recall in strict.items()},
                perturbed=None if perturbed is None else Perturbed(**perturbed),
            )
        )
    return Report(
        model=value["model"],
        dataset=value["dataset"],
        split=value["split"],
        similarity=value["similarity"],
        images=value["photos"],
        unreadable=value["unreadable"],
        results=results,
        averages={},
        folds=value["folds"],
        rounds=value["bootstrap"]["rounds"],
        seed=value["bootstrap"]["seed"],
    )
