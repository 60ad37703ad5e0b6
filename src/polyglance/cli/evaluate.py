"""`polyglance evaluate`: recall per language, comparisons, exports."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.cli.options import (
    ALL,
    listed,
    naming_options,
    reject_other_options,
    reject_unused_options,
    was_given,
)
from polyglance.cli.outputs import check_outputs
from polyglance.cli.translation import TRANSLATOR
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyglance.evaluation.reports.tables import Rows

NONE = "none"
"""The value of --consistency that disables a recipe's."""
WITH_NAMES = {"names", "models", "split", "languages", "cache", "json", "markdown", "device"}
WITH_CRISSCROSSED = {"crisscrossed", "models", "data", "split", "seed"}
WITH_CRISSCROSSED |= {"cache", "json", "markdown", "device"}
OPTIONS = {
    "dataset": "--data",
    "targets": "--translate-to",
    "keep": "--keep-weights",
    "translation": "--translator or, if the recipe translates queries, add --consistency none",
}
"""Options that are not called like the parameter."""


def evaluate_command(
    context: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="Runs, exported models, or JSON files written with --ranks."
        ),
    ],
    data: Annotated[
        str | None, typer.Option(help="Dataset folder, CSV/TSV/Parquet, or 'generated'.")
    ] = None,
    split: Annotated[str, typer.Option(help="Split to evaluate on.")] = "test",
    languages: Annotated[
        str | None, typer.Option(help="Languages, such as en,de (default: all).")
    ] = None,
    kinds: Annotated[
        str | None,
        typer.Option(help="Kinds of captions (default: independent, else what is available)."),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=1, help="Number of contiguous folds; 5 for COCO 1K.")
    ] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the results as JSON.")] = None,
    ranks: Annotated[bool, typer.Option("--ranks", help="Include every rank in the JSON.")] = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables as Markdown.")] = None,
    trec: Annotated[Path | None, typer.Option(help="Folder for TREC runs and qrels.")] = None,
    clip_benchmark: Annotated[
        Path | None, typer.Option(help="Folder for JSON files with CLIP_benchmark's keys.")
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Number of bootstrap resamples; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed for resampling and perturbations.")] = 0,
    seeds: Annotated[
        bool, typer.Option("--seeds", help="Treat the models as seeds of one run: mean ± sd.")
    ] = False,
    ensemble: Annotated[
        bool,
        typer.Option(
            "--ensemble",
            help=(
                "Also evaluate the average of the models' scores. Cosine, order and "
                "attention scores have different scales; in a mix, the widest "
                "dominates."
            ),
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Also compute strict recall, the share of an image's captions found."
        ),
    ] = False,
    keep_duplicates: Annotated[
        bool,
        typer.Option("--keep-duplicates", help="Count duplicate captions of an image."),
    ] = False,
    keep_copies: Annotated[bool, typer.Option("--keep-copies", hidden=True)] = False,
    same_text: Annotated[
        bool,
        typer.Option(
            "--same-text", help="Treat identical captions as one caption of all their images."
        ),
    ] = False,
    crisscrossed: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help=(
                "Evaluate on Crisscrossed Captions instead: folder with its CSV files "
                "and Karpathy's dataset_coco.json; --data is COCO."
            ),
        ),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help=(
                "Report instead how many object names find their image among the "
                "first ten, on the val split (or --split) of a folder written by "
                "'polyglance data emoji'."
            ),
        ),
    ] = None,
    translator: Annotated[
        str | None, typer.Option(help=f"Translate queries first: {TRANSLATOR}.")
    ] = None,
    translate_to: Annotated[
        str | None,
        typer.Option(
            help="Target language, or with --consistency target languages (default: all known)."
        ),
    ] = None,
    consistency: Annotated[
        str | None,
        typer.Option(
            help=(
                "Combine the scores of all translations: average, or learned on val "
                "(literal: with all 352 parameters of the paper); none disables the "
                "recipe's translation."
            )
        ),
    ] = None,
    keep_weights: Annotated[
        bool,
        typer.Option(
            "--keep-weights",
            help="Store the learned weights with the model, for search --consistency.",
        ),
    ] = False,
    perturb: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:RATE",
            help=(
                "Perturb the captions first: typos, inflections, unseen, code-switch, "
                "upper, lower, title or unmarked, with the probability per word, such "
                "as typos:0.2."
            ),
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
    device: DeviceOption = DEFAULT,
) -> None:
    """Compute recall per language in both directions; compare further models with the first."""
    if crisscrossed is not None:
        reject_other_options(context, "--crisscrossed", WITH_CRISSCROSSED)
        check_outputs([json, markdown])
        _crisscrossed(models, data, split, crisscrossed, seed, cache, json, markdown, device)
        return
    if names is not None:
        reject_other_options(context, "--names", WITH_NAMES)
        check_outputs([json, markdown])
        has_split = was_given(context, "split")
        codes = _list(languages, "--languages")
        _names(models, names, split if has_split else "val", codes, cache, json, markdown, device)
        return
    from polyglance.evaluation.models import check_request, evaluate_models
    from polyglance.evaluation.options import EvaluateOptions
    from polyglance.evaluation.perturb.spec import WITH_LEXICON
    from polyglance.evaluation.translations.translation import Translation

    reject_unused_options(context, ["ranks"], "--json FILE", json is not None)
    looked_up = perturb is not None and perturb.startswith(WITH_LEXICON)
    needed = " or ".join(f"--perturb {kind}:RATE" for kind in WITH_LEXICON)
    reject_unused_options(context, ["lexicon"], needed, looked_up)
    how: Any = consistency
    targets = _list(translate_to, "--translate-to")
    keep = _model_folder(models) if keep_weights else None
    with naming_options(**OPTIONS):
        options = EvaluateOptions(
            languages=_list(languages, "--languages"),
            kinds=_list(kinds, "--kinds"),
            folds=folds,
            bootstrap=bootstrap,
            seed=seed,
            strict=strict,
            keep_duplicates=keep_duplicates or keep_copies,
            same_text=same_text,
            perturb=perturb,
            lexicon=lexicon,
            translation=None if how == NONE else Translation(translator, targets, how, keep=keep),
        )
        requested: dict[str, Any] = {"ensemble": ensemble, "seeds": seeds, "trec": trec}
        check_request(models, options, **requested)  # before creating folders
        check_outputs([json, markdown], [trec, clip_benchmark])
        found = evaluate_models(
            models, data, split, options, cache=cache, device=device, **requested
        )
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    print_tables(found.tables())
    if json is not None:
        found.write_json(json, ranks)
    if markdown is not None:
        found.write_markdown(markdown)
    if clip_benchmark is not None:
        found.write_clip_benchmark(clip_benchmark)


def _crisscrossed(
    models: list[str],
    data: str | None,
    split: str,
    folder: Path,
    seed: int,
    cache: Path | None,
    json: Path | None,
    markdown: Path | None,
    device: str,
) -> None:
    from polyglance.data import load_dataset
    from polyglance.data.crisscrossed import read_crisscrossed
    from polyglance.evaluation.crisscrossed import evaluate_crisscrossed
    from polyglance.runtime import open_model

    if data is None:
        raise PolyglanceError("pass COCO's images and captions with --data")
    ratings, dataset = read_crisscrossed(folder, split), load_dataset(data, cache)
    reports = [
        evaluate_crisscrossed(model, dataset, ratings, name=one, seed=seed, cache=cache)
        for one, model in ((one, open_model(one, device=device)) for one in models)
    ]
    _write(reports, json, markdown)


def _names(
    models: list[str],
    folder: Path,
    split: str,
    languages: list[str] | None,
    cache: Path | None,
    json: Path | None,
    markdown: Path | None,
    device: str,
) -> None:
    from polyglance.data import load_dataset
    from polyglance.evaluation.names import evaluate_names
    from polyglance.runtime import open_model

    dataset = load_dataset(folder, cache)
    reports = [
        evaluate_names(model, dataset, split, languages=languages, name=one, cache=cache)
        for one, model in ((one, open_model(one, device=device)) for one in models)
    ]
    _write(reports, json, markdown)


def _write(reports: "Sequence[Any]", json: Path | None, markdown: Path | None) -> None:
    """Print reports, and write them if requested."""
    from polyglance.storage.files import atomic, write_json

    print_tables([report.table() for report in reports])
    if json is not None:
        write_json(json, [report.as_dict() for report in reports])
    if markdown is not None:
        with atomic(markdown, "w") as handle:
            handle.write("\n".join(report.table().markdown() for report in reports))


def _model_folder(models: list[str]) -> Path:
    if len(models) > 1 or not Path(models[0]).is_dir():
        raise PolyglanceError("--keep-weights needs a single model folder")
    return Path(models[0])


def _list(text: str | None, option: str) -> list[str] | None:
    return None if text is None else listed(text, option, ALL)


def print_tables(tables: list["Rows"]) -> None:
    """Print tables in full width: a wrapped line is better than a number truncated to "4…"."""
    from rich.console import Console

    for rows in tables:
        console, table = Console(), rows.rich()
        console.width = max(console.width, Console(width=1000).measure(table).maximum)
        console.print(table)
