"""Runs whose results are made up, so that reports can be checked without training."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from polyglance.data import CaptionedImage, Dataset
from polyglance.evaluation import Outcome, Ranks, Report
from polyglance.evaluation.reports.report import LanguageResult
from polyglance.storage.files import write_json
from polyglance.studies.plan import DataFacts, Plan, Run
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import RunOutcome

SPLIT = "test"
LANGUAGES = ("en", "de", "fr", "cs")


def dataset(photos: int = 200, languages: tuple[str, ...] = LANGUAGES) -> Dataset:
    """Photographs of one split with a translation and an independent caption per language."""
    rows = []
    for n in range(photos):
        texts = {"independent": [f"photo {n}", f"again {n}"], "translation": [f"number {n}"]}
        rows.append(CaptionedImage(f"{n}.jpg", SPLIT, {code: dict(texts) for code in languages}))
    return Dataset(rows, Path("images"), "planted")


def facts(photos: int = 200, languages: tuple[str, ...] = LANGUAGES) -> DataFacts:
    return DataFacts.of(dataset(photos, languages), SPLIT)


def plant(
    plan: Plan, known: DataFacts, options: Options, quality: Callable[[Run, str], float]
) -> None:
    """Finish every run with ranks of which a share `quality` (run, language) is 0, the rest 20."""
    names = [photo.image for photo in known.dataset.images]
    shared = np.random.default_rng(0).random(len(names))
    for run in plan.runs.values():
        folder = options.folder(run)
        own = np.random.default_rng(int(run.key[:8], 16)).random(len(names))
        difficulty = 0.8 * shared + 0.2 * own
        threshold = np.sort(difficulty)
        for need in run.needs:
            at = min(len(names), round(quality(run, need.language) * len(names)))
            limit = threshold[at] if at < len(names) else 2.0
            ranks = np.where(difficulty < limit, 0, 20)
            everyone = np.arange(len(names))
            outcome = Outcome(Ranks(ranks, ranks), everyone, everyone)
            result = LanguageResult(need.language, need.kinds or ("independent",), outcome)
            report = Report(run.key, "planted", SPLIT, "cosine", names, [], [result], {})
            write_json(folder.result(SPLIT, need), report.as_dict(ranks=True))
        folder.finish(RunOutcome(12.5, 1, "all 3 epochs done", 30, 20, 1000))
