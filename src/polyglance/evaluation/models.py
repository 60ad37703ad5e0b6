"""Evaluation of several models on one split: a comparison, seeds of a run, or an ensemble."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.data.dataset import Dataset
from polyglance.data.load import load_dataset
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.evaluation.encoder import Encoder
from polyglance.evaluation.ensemble import Ensemble
from polyglance.evaluation.options import EvaluateOptions
from polyglance.evaluation.protocol import EncodedLanguage, evaluate
from polyglance.evaluation.reports.comparison import Comparison, Spread, aggregate, compare
from polyglance.evaluation.reports.report import Report, load_report
from polyglance.numerics.devices import CPU, Device
from polyglance.storage.files import atomic, write_json

if TYPE_CHECKING:
    from polyglance.evaluation.reports.tables import Rows

Source = str | Path | Encoder
"""A run, the JSON file of a report with ranks, or a model."""


@dataclass(frozen=True)
class Evaluation:
    """Reports of one or more models, and their comparison.

    With several models, `comparison` is with the first one; if they are seeds of one run, `spreads`
    has mean ± sd instead. `sources` says where each model comes from.
    """

    reports: list[Report]
    comparison: Comparison | None = None
    spreads: dict[str, dict[str, Spread]] | None = None
    sources: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Report:
        return next(report for report in self.reports if report.model == name)

    @property
    def notes(self) -> list[str]:
        """Notes of all reports, without duplicates."""
        return list(dict.fromkeys(note for report in self.reports for note in report.notes))

    def tables(self) -> list["Rows"]:
        """Tables for the terminal and Markdown."""
        from polyglance.evaluation.reports.tables import comparison_rows, report_rows, seeds_rows

        if self.spreads is not None:
            return [seeds_rows(self.reports, self.spreads)]
        tables = [report_rows(report) for report in self.reports]
        if self.comparison is not None:
            tables.append(comparison_rows(self.reports, self.comparison))
        return tables

    def as_dict(self, ranks: bool = False) -> dict[str, Any]:
        """JSON form: one model's report, or `runs` and their comparison or spread."""
        runs = [report.as_dict(ranks) for report in self.reports]
        if self.comparison is not None:
            return {"runs": runs, "comparison": self.comparison.as_dict()}
        if self.spreads is not None:
            values = {
                row: {metric: asdict(spread) for metric, spread in metrics.items()}
                for row, metrics in self.spreads.items()
            }
            return {"runs": runs, "seeds": values}
        return runs[0]

    def write_json(self, path: str | Path, ranks: bool = False) -> None:
        """Write `as_dict`; with `ranks`, it includes what later comparisons need."""
        write_json(Path(path), self.as_dict(ranks))

    def write_markdown(self, path: str | Path) -> None:
        """Write the tables."""
        with atomic(Path(path), "w") as handle:
            handle.write("\n".join(table.markdown() for table in self.tables()))

    def write_clip_benchmark(self, folder: str | Path) -> None:
        """Write a JSON file with CLIP_benchmark's keys for each model and language."""
        from polyglance.evaluation.reports.export import write_clip_benchmark

        for report, source in zip(self.reports, self.sources, strict=True):
            write_clip_benchmark(Path(folder), report, source)


def evaluate_models(
    models: Sequence[Source],
    dataset: Dataset | str | Path | None = None,
    split: str = "test",
    options: EvaluateOptions | None = None,
    *,
    ensemble: bool = False,
    seeds: bool = False,
    trec: Path | None = None,
    cache: Path | None = None,
    show_progress: bool | None = None,
    device: Device = CPU,
    **fields: Any,
) -> Evaluation:
    """Evaluate models like `polyglance evaluate`; several are compared with the first.

    `evaluate_models(["runs/a", "runs/b"], "data/multi30k", folds=5).tables()`

    Args:
        models: folders of runs or of exported models, JSON files of reports with ranks, or models.
        dataset: images with captions, or their location; not needed for JSON files.
        split: of the dataset.
        options: of the evaluation.
        ensemble: whether to also evaluate the average of the models' scores, all on the images that
            every model can read.
        seeds: whether the models are seeds of one run: mean ± sd instead of a comparison.
        trec: folder for TREC runs and qrels, with a subfolder per model if there are several.
        cache: folder for features and translations; the XDG cache by default.
        show_progress: None shows progress on a terminal only.
        device: for models loaded from folders: auto, cpu, cuda, cuda:N or mps.
        **fields: fields of `EvaluateOptions`, which override those of `options`.
    """
    options = replace(options or EvaluateOptions(), **fields)
    check_request(models, options, ensemble, seeds, trec)
    names = _names(models)
    sources = [
        str(model) if isinstance(model, str | Path) else name
        for model, name in zip(models, names, strict=True)
    ]
    if isinstance(dataset, str | Path):
        dataset = load_dataset(dataset, cache)
    if dataset is None and not all(map(_is_report, models)):
        raise ArgumentError("name the images and captions to evaluate on with `dataset`")
    run = _Run(dataset, split, options, trec, len(models) > 1, cache, show_progress, device)
    reports = run.ensemble(models, names) if ensemble else run.each(models, names)
    if ensemble:
        sources.append(" + ".join(sources))
    if seeds:
        return Evaluation(reports, spreads=aggregate(reports), sources=sources)
    compared = compare(reports, options.bootstrap, options.seed) if len(reports) > 1 else None
    return Evaluation(reports, compared, sources=sources)


def check_request(
    models: Sequence[Source],
    options: EvaluateOptions,
    ensemble: bool = False,
    seeds: bool = False,
    trec: Path | None = None,
) -> None:
    """Raise an error for arguments of `evaluate_models` that do not go together.

    Args:
        models: to evaluate.
        options: of the evaluation.
        ensemble: whether to also evaluate the average of the models' scores.
        seeds: whether the models are seeds of one run.
        trec: folder for TREC runs and qrels.
    """
    stored = next((model for model in models if _is_report(model)), None)
    if not models:
        raise PolyglanceError("no model to evaluate; name one")
    for option, used in (("seeds", seeds), ("ensemble", ensemble)):
        if used and len(models) < 2:
            raise ArgumentError(f"`{option}` needs at least two models")
    if seeds and ensemble:
        raise ArgumentError("`ensemble` and `seeds` do not go together; remove one of them")
    if ensemble and stored is not None:
        raise ArgumentError(
            f"{stored}: contains ranks, but `ensemble` averages scores; name the model's folder"
        )
    if options.perturb is not None and stored is not None:
        raise ArgumentError(
            f"{stored}: contains ranks, but `perturb` changes captions; name the model's folder"
        )
    if trec is not None and options.folds > 1:
        raise ArgumentError("`trec` writes the full gallery; remove `folds`")
    if trec is not None and options.same_text:
        raise ArgumentError("`trec` has one image per caption; remove `same_text`")
    if len(models) > 1 and not seeds and not options.bootstrap:
        raise ArgumentError("a comparison needs `bootstrap` of at least 1")


def _is_report(model: Source) -> bool:
    return isinstance(model, str | Path) and str(model).endswith(".json")


def _names(models: Sequence[Source]) -> list[str]:
    """Folder names, or whole paths if those are not unique; models in memory are numbered."""
    full = [
        str(model) if isinstance(model, str | Path) else f"model{number if models[1:] else ''}"
        for number, model in enumerate(models, 1)
    ]
    if len(set(full)) < len(full):
        raise PolyglanceError("the same model was named twice")
    short = [Path(name).stem if name.endswith(".json") else Path(name).name for name in full]
    return short if len(set(short)) == len(short) and all(short) else full


def _load(model: Source, device: Device) -> Encoder:
    if not isinstance(model, str | Path):
        return model
    from polyglance.runtime import open_model

    return open_model(model, device=device)


class _Run:
    """One evaluation of several models; without a dataset, only of stored reports."""

    def __init__(
        self,
        dataset: Dataset | None,
        split: str,
        options: EvaluateOptions,
        trec: Path | None,
        several: bool,
        cache: Path | None,
        show_progress: bool | None,
        device: Device,
    ) -> None:
        self.dataset, self.split, self.options = dataset, split, options
        self.trec, self.several = trec, several
        self.cache, self.show_progress, self.device = cache, show_progress, device
        if dataset is not None:
            dataset.split(split)  # an unknown split fails before a model is loaded
            self.options = replace(options, perturb=options.perturber(dataset))

    def each(self, models: Sequence[Source], names: Sequence[str]) -> list[Report]:
        """A report of each model, loaded one at a time."""
        return [
            replace(load_report(Path(str(model))), model=name)
            if _is_report(model)
            else self.report(_load(model, self.device), name)
            for model, name in zip(models, names, strict=True)
        ]

    def ensemble(self, models: Sequence[Source], names: Sequence[str]) -> list[Report]:
        """Reports of each model and their average, on the images that all can read."""
        members = [_load(model, self.device) for model in models]
        average = Ensemble(members)
        name = "ensemble" if "ensemble" not in names else "+".join(names)
        joint = self.report(average, name)
        if average.mixed:
            listed = " and ".join(dict.fromkeys(average.similarities))
            joint.notes.append(
                f"{listed} scores have different scales; those with the widest range have the "
                "most weight in the average"
            )
        unreadable = set(joint.unreadable)
        readable = np.array([image not in unreadable for image in joint.images])
        reports = [self.report(*own, readable) for own in zip(members, names, strict=True)]
        return [*reports, joint]

    def report(self, model: Encoder, name: str, readable: np.ndarray | None = None) -> Report:
        """The report of one model."""
        assert self.dataset is not None
        return evaluate(
            model,
            self.dataset,
            self.split,
            self.options,
            name=name,
            cache=self.cache,
            readable=readable,
            on_language=self._exporter(name, self.dataset.split(self.split)),
            show_progress=self.show_progress,
        )

    def _exporter(self, name: str, part: Dataset) -> Callable[[EncodedLanguage], None] | None:
        if self.trec is None:
            return None
        from polyglance.evaluation.reports.export import write_trec

        folder = self.trec / name.replace("/", "_") if self.several else self.trec
        return lambda encoded: write_trec(folder, encoded, part, name)
