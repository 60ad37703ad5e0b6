"""`polyglance evaluate`: recalls per language, comparisons, exports."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyglance.cli.translation import TRANSLATOR, Asked, ask_in_translation
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.evaluation import Encoder, Report
    from polyglance.evaluation.perturb import Perturber
    from polyglance.evaluation.protocol import Encoded
    from polyglance.evaluation.tables import Rows


def evaluate_command(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="Runs, or JSON files written with --ranks."),
    ],
    data: Annotated[
        str | None, typer.Option(help="Dataset folder, CSV/TSV/Parquet, or 'generated'.")
    ] = None,
    split: Annotated[str, typer.Option(help="Which photographs.")] = "test",
    languages: Annotated[
        str | None, typer.Option(help="For example en,de; all by default.")
    ] = None,
    kinds: Annotated[
        str | None,
        typer.Option(help="Kinds of captions; by default independent, else what there is."),
    ] = None,
    folds: Annotated[int, typer.Option(min=1, help="Contiguous folds; 5 for COCO's 1K.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the results as JSON.")] = None,
    ranks: Annotated[bool, typer.Option("--ranks", help="Keep every rank in the JSON.")] = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as Markdown.")] = None,
    trec: Annotated[Path | None, typer.Option(help="Folder for TREC runs and qrels.")] = None,
    clip_benchmark: Annotated[
        Path | None, typer.Option(help="Folder for JSON files with CLIP_benchmark's keys.")
    ] = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Resamples for intervals; 0: none.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of resamples and perturbations.")] = 0,
    seeds: Annotated[
        bool, typer.Option("--seeds", help="The models are seeds of one run: mean ± sd.")
    ] = False,
    ensemble: Annotated[
        bool,
        typer.Option(
            "--ensemble",
            help="Also judge the average of the models' scores. Cosine, order and attention "
            "scores have scales of their own: of a mix, the widest counts most.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also strict recall, the share of own captions found.")
    ] = False,
    keep_copies: Annotated[
        bool, typer.Option("--keep-copies", help="Count a caption twice if a photograph has it so.")
    ] = False,
    same_text: Annotated[
        bool, typer.Option("--same-text", help="Equal captions are one, of all their pictures.")
    ] = False,
    translator: Annotated[
        str | None, typer.Option(help=f"Translate queries first: {TRANSLATOR}.")
    ] = None,
    translate_to: Annotated[
        str | None,
        typer.Option(help="To this language, or with --consistency to these (default all known)."),
    ] = None,
    consistency: Annotated[
        str | None,
        typer.Option(
            help="Join the scores of all translations: average, or learned on val; none where the "
            "recipe translates and this evaluation shall not."
        ),
    ] = None,
    perturb: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:RATE",
            help="Change the captions first: typos, inflections, unseen or code-switch, and the "
            "chance of a word, such as typos:0.2.",
        ),
    ] = None,
    lexicon: Annotated[
        Path | None,
        typer.Option(
            envvar="POLYGLANCE_LEXICON", help="lexicon.tsv.gz, for unseen and code-switch."
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder (default: the XDG cache).")
    ] = None,
) -> None:
    """Recall per language in both directions; several models are compared with the first."""
    if seeds and len(models) < 2:
        raise PolyglanceError("--seeds needs two models or more")
    if ensemble:
        _check_ensemble(models, seeds)
    if trec is not None and folds > 1:
        raise PolyglanceError("--trec writes the full gallery; leave out --folds")
    if same_text and (folds > 1 or strict or trec is not None):
        raise PolyglanceError("--same-text goes with neither --folds, --strict nor --trec")
    _check_outputs([json, markdown], [trec, clip_benchmark])
    if len(models) > 1 and not seeds and not bootstrap:
        raise PolyglanceError("a comparison needs --bootstrap of 1 or more")
    options: dict[str, Any] = {
        "split": split,
        "languages": _list(languages, "--languages"),
        "kinds": _list(kinds, "--kinds"),
        "folds": folds,
        "bootstrap": bootstrap,
        "seed": seed,
        "cache": cache,
        "strict": strict,
        "keep_copies": keep_copies,
        "same_text": same_text,
        "asked": Asked(translator, _list(translate_to, "--translate-to"), consistency, data),
    }
    if perturb is not None:
        options["perturb"] = _perturber(perturb, models, data, lexicon, seed)
    if ensemble:
        reports = _ensemble_reports(models, data, options, trec)
    else:
        reports = _reports(models, data, options, trec)
    tables, extra = _tables(reports, seeds, bootstrap, seed)
    _print(tables)
    if json is not None:
        _write_json(json, reports, extra, ranks)
    if markdown is not None:
        _write_text(markdown, "\n".join(table.markdown() for table in tables))
    if clip_benchmark is not None:
        from polyglance.evaluation.export import write_clip_benchmark

        sources = [*models, " + ".join(models)] if ensemble else models
        for report, path in zip(reports, sources, strict=True):
            write_clip_benchmark(clip_benchmark, report, path)


def _list(text: str | None, option: str) -> list[str] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise PolyglanceError(f"{option} '{text}': names nothing; leave it out for all")
    return parts


def _check_outputs(files: list[Path | None], folders: list[Path | None]) -> None:
    """Fail before the work, not after it."""
    for file in filter(None, files):
        if file.is_dir():
            raise PolyglanceError(f"{file}: is a folder; name a file")
    folders = [*folders, *(file.parent for file in filter(None, files))]
    for folder in filter(None, folders):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PolyglanceError(f"{folder}: cannot be made ({error.strerror})") from None
        if not os.access(folder, os.W_OK):
            raise PolyglanceError(f"{folder}: no permission to write there; choose another folder")


def _names(models: list[str]) -> list[str]:
    """Folder names, or whole paths where those are not unique."""
    if len(set(models)) < len(models):
        raise PolyglanceError("the same model is named twice")
    short = [Path(model).stem if model.endswith(".json") else Path(model).name for model in models]
    return short if len(set(short)) == len(models) and all(short) else models


def _reports(
    models: list[str], data: str | None, options: dict[str, Any], trec: Path | None
) -> list["Report"]:
    from polyglance.evaluation import load_report

    dataset: Dataset | None = None
    reports = []
    for path, name in zip(models, _names(models), strict=True):
        if path.endswith(".json"):
            reports.append(replace(load_report(Path(path)), model=name))
            continue
        if dataset is None:
            dataset = _dataset(data)
        folder = trec if len(models) == 1 else _subfolder(trec, name)
        reports.append(_evaluate(path, name, dataset, options, folder))
    return reports


def _check_ensemble(models: list[str], seeds: bool) -> None:
    if len(models) < 2:
        raise PolyglanceError("--ensemble needs two models or more")
    if seeds:
        raise PolyglanceError("--ensemble and --seeds do not go together; leave out one of them")
    for path in models:
        if path.endswith(".json"):
            raise PolyglanceError(
                f"{path}: holds ranks, and --ensemble averages scores; name the model's folder"
            )


def _ensemble_reports(
    models: list[str], data: str | None, options: dict[str, Any], trec: Path | None
) -> list["Report"]:
    """Reports of each model and, last, of their average, on the photographs that all can read."""
    import numpy as np

    from polyglance.evaluation import Ensemble
    from polyglance.models import Model

    names = _names(models)
    dataset = _dataset(data)
    dataset.split(options["split"])
    loaded = [Model.load(Path(path)) for path in models]
    both = Ensemble(loaded)
    if both.mixed:
        typer.echo(
            f"note: {' and '.join(dict.fromkeys(both.kinds))} scores have scales of their own, "
            "and in their average the widest counts most",
            err=True,
        )
    name = "ensemble" if "ensemble" not in names else "+".join(names)
    joint = _judge(both, name, dataset, options, _subfolder(trec, name))
    missing = set(joint.unreadable)
    readable = np.array([photo not in missing for photo in joint.photos])
    options = {**options, "readable": readable}
    reports = [
        _judge(model, own, dataset, options, _subfolder(trec, own))
        for model, own in zip(loaded, names, strict=True)
    ]
    return [*reports, joint]


def _perturber(
    name: str, models: list[str], data: str | None, lexicon: Path | None, seed: int
) -> "Perturber":
    from polyglance.evaluation.perturb import make_perturber

    for path in models:
        if path.endswith(".json"):
            raise PolyglanceError(
                f"{path}: holds ranks, and --perturb changes captions; name the model's folder"
            )
    return make_perturber(name, _dataset(data), lexicon, seed)


def _subfolder(trec: Path | None, name: str) -> Path | None:
    return None if trec is None else trec / name.replace("/", "_")


def _dataset(data: str | None) -> "Dataset":
    from polyglance.data import load_dataset

    if data is None:
        raise PolyglanceError("name the photographs and captions to judge on with --data")
    return load_dataset(data)


def _evaluate(
    path: str, name: str, dataset: "Dataset", options: dict[str, Any], trec: Path | None
) -> "Report":
    from polyglance.models import Model

    dataset.split(options["split"])
    return _judge(Model.load(Path(path)), name, dataset, options, trec)


def _judge(
    model: "Encoder", name: str, dataset: "Dataset", options: dict[str, Any], trec: Path | None
) -> "Report":
    from polyglance.evaluation import evaluate

    options = dict(options)
    model = ask_in_translation(options.pop("asked"), model, dataset, options)
    export = None if trec is None else _exporter(trec, dataset.split(options["split"]), name)
    return evaluate(model, dataset, name=name, on_language=export, **options)


def _exporter(folder: Path, part: "Dataset", name: str) -> Callable[["Encoded"], None]:
    from polyglance.evaluation.export import write_trec

    return lambda encoded: write_trec(folder, encoded, part, name)


def _tables(
    reports: list["Report"], seeds: bool, rounds: int, seed: int
) -> tuple[list["Rows"], dict[str, Any]]:
    """What to print, and what goes into the JSON beside the runs."""
    from dataclasses import asdict

    from polyglance.evaluation import aggregate, compare
    from polyglance.evaluation.tables import comparison_rows, report_rows, seeds_rows

    tables = [report_rows(report) for report in reports]
    if len(reports) == 1:
        return tables, {}
    if seeds:
        spreads = aggregate(reports)
        values = {
            row: {metric: asdict(spread) for metric, spread in metrics.items()}
            for row, metrics in spreads.items()
        }
        return [seeds_rows(reports, spreads)], {"seeds": values}
    comparison = compare(reports, rounds, seed)
    return [*tables, comparison_rows(reports, comparison)], {"comparison": comparison.as_dict()}


def _print(tables: list["Rows"]) -> None:
    from rich.console import Console

    for rows in tables:
        console, table = Console(), rows.rich()
        # Numbers cut to "4…" are worse than a line that the terminal folds.
        console.width = max(console.width, Console(width=1000).measure(table).maximum)
        console.print(table)


def _write_json(path: Path, reports: list["Report"], extra: dict[str, Any], ranks: bool) -> None:
    from polyglance.files import write_json

    runs = [report.as_dict(ranks) for report in reports]
    write_json(path, {"runs": runs, **extra} if extra else runs[0])


def _write_text(path: Path, text: str) -> None:
    from polyglance.files import atomic

    with atomic(path, "w") as handle:
        handle.write(text)
