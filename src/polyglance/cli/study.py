"""`polyglance study`: run, resume, cache and report a paper's table."""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.cli.options import reject_other_options
from polyglance.cli.study_packs import (
    import_packs,
    print_remaining,
    print_retrained,
    write_pack_file,
)
from polyglance.errors import PolyglanceError
from polyglance.numerics.devices import choose_device

if TYPE_CHECKING:
    from polyglance.studies.plan import DataFacts, Plan
    from polyglance.studies.running.execute import Options
    from polyglance.studies.running.forecast import Forecast


def study_command(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Name of a study (see --list), or a YAML file.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Dataset folder, CSV/Parquet, or 'generated'; measured studies need none."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder for NAME.md, .html and .json.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of seeds, 0 … N-1 (default: the profile's).")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of parallel runs; they share the cores.")
    ] = 1,
    profile: Annotated[str, typer.Option(help="quick, standard or paper.")] = "standard",
    runs: Annotated[
        Path | None, typer.Option(help="Folder for the runs of all studies (default: the cache).")
    ] = None,
    rows: Annotated[
        str, typer.Option(help="Run only rows that match, such as 'bi*,mono-en'.")
    ] = "*",
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="path=value for every run, or those in --rows")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Retry failed runs.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only print the runs and their estimated duration.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print --plan as JSON.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    again: Annotated[
        Path | None,
        typer.Option(help="Only regenerate the reports of this folder from their JSON."),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Cache folder for features and runs.")] = None,
    pack: Annotated[
        Path | None,
        typer.Option(
            help="Write all finished runs to this file, without weights, or add them to it."
        ),
    ] = None,
    packs: Annotated[
        list[Path] | None,
        typer.Option("--with", help="Take finished runs from a --pack file, or a folder of them."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0, help="Start no run that is estimated to end after this time limit."),
    ] = None,
    lexicon: Annotated[
        Path | None,
        typer.Option(
            envvar="POLYGLANCE_LEXICON", help="lexicon.tsv.gz, for studies that need one."
        ),
    ] = None,
    device: DeviceOption = DEFAULT,
) -> None:
    """Train and evaluate all rows of a paper's table; run again to resume."""
    started = time.monotonic()
    if list_all:
        _list_studies(name)
        return
    if again is not None:
        reject_other_options(context, "--again", ("again", "name"))
        _regenerate_reports(again, name or "*")
        return
    if as_json and not plan:
        raise PolyglanceError("--json needs --plan; reports include NAME.json in --out")
    if name is None:
        raise PolyglanceError("pass the name of a study ('polyglance study --list' shows them)")
    if plan and (pack is not None or minutes is not None):
        raise PolyglanceError("--plan runs nothing; leave out --pack and --minutes")
    from polyglance.data import load_dataset
    from polyglance.data.dataset import dataset_fingerprint
    from polyglance.recipes import parse_overrides
    from polyglance.studies import load_study, make_plan
    from polyglance.studies.experiments import experiments
    from polyglance.studies.keys.digests import Digests
    from polyglance.studies.plan import DataFacts, pick_profile
    from polyglance.studies.running.execute import Options, default_runs

    study = load_study(name)
    measured = study.experiment is not None and experiments.get(study.experiment)
    if data is None and (not measured or measured.data):
        raise PolyglanceError("pass the images and captions with --data")
    if data is not None and measured and not measured.data:
        raise PolyglanceError(f"{name} needs no images; leave out --data")
    if out is None and pack is None and not plan:
        raise PolyglanceError("pass --out, a folder for the report, or --pack, a file for runs")
    pick_profile(study, profile)
    facts = None
    if data is not None and measured:
        known = {"fingerprint": dataset_fingerprint(load_dataset(data, cache))}
        if lexicon is not None and lexicon.exists():
            known["lexicon"] = Digests(cache).of_lexicon(lexicon)
        study = study.model_copy(update={"overrides": {**study.overrides, **known}})
    elif data is not None:
        facts = DataFacts.of(load_dataset(data, cache), study.evaluation.split, lexicon, cache)
    changes = parse_overrides(overrides or [])
    planned = make_plan(study, profile, facts, seeds, changes, rows, lenient=plan)
    kept = runs or default_runs(cache)
    until = None if minutes is None else started + 60 * minutes
    options = Options(
        data or "", kept, jobs, rows, retry, cache, lexicon, device=device, until=until
    )
    if facts is not None:
        _migrate(options.runs, facts)
    import_packs(packs or [], pack, planned, facts, options)
    if plan:
        _print_plan(planned, facts, options, as_json)
    else:
        choose_device(device)  # fail early
        _run(name, planned, facts, options, out, overrides or [], pack)


def _migrate(runs: Path, facts: "DataFacts") -> None:
    from polyglance.studies.running.migrate import migrate_runs

    if done := migrate_runs(runs, facts):
        runs_were = f"{done} run{'s' * (done > 1)} with keys of earlier versions"
        typer.echo(f"{runs}: {runs_were} found again", err=True)


def _run(
    name: str,
    plan: "Plan",
    facts: "DataFacts | None",
    options: "Options",
    out: Path | None,
    overrides: list[str],
    pack: Path | None,
) -> None:
    from polyglance.studies.packs import PackUpdater
    from polyglance.studies.running.execute import execute
    from polyglance.studies.running.machine import check_clean

    if out is not None:
        check_clean(out)
        _check_folder(out)
    started = time.monotonic()
    print_retrained(plan, options)
    updater = None if pack is None else PackUpdater(pack, plan, facts, options)
    failed = execute(plan, facts, options, updater)
    if pack is not None:
        write_pack_file(pack, plan, facts, options)
    if out is not None:
        _report(name, plan, facts, options, out, overrides, failed, started)
    for row, why in plan.unavailable.items():
        typer.echo(f"not run: {row}; {why}", err=True)
    print_remaining(plan, options, failed)
    if failed:
        typer.echo(f"{len(failed)} of {len(plan.runs)} runs failed:", err=True)
        for key, reason in failed.items():
            typer.echo(f"  {plan.runs[key].label}: {reason}", err=True)
        typer.echo("the same command retries crashed runs, --retry also the others", err=True)
        raise typer.Exit(1)


def _report(
    name: str,
    plan: "Plan",
    facts: "DataFacts | None",
    options: "Options",
    out: Path,
    overrides: list[str],
    failed: dict[str, str],
    started: float,
) -> None:
    from polyglance.studies.findings.results import collect
    from polyglance.studies.format.load import short_name
    from polyglance.studies.report import make_document, write_report

    results = collect(plan, facts, options)
    command = _command(name, plan, options, out, overrides)
    seconds = time.monotonic() - started
    document = make_document(short_name(name), results, options, failed, command, seconds)
    paths = write_report(document, out)
    for verdict in document.verdicts:
        typer.echo(f"{verdict.claim.text}: {verdict.verdict}")
    for reason in document.draft:
        typer.echo(f"draft: {reason}", err=True)
    typer.echo(f"report: {', '.join(map(str, paths))}")


def _check_folder(out: Path) -> None:
    """Fail early if the folder cannot be created."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PolyglanceError(f"{out}: cannot be created ({error.strerror})") from None


def _command(name: str, plan: "Plan", options: "Options", out: Path, overrides: list[str]) -> str:
    from polyglance.studies.report.environment import shown_change, shown_path
    from polyglance.studies.running.execute import uses_lexicon

    words = ["polyglance", "study", shown_path(name)]
    words += ["--data", shown_path(options.data)] if options.data else []
    words += ["--out", shown_path(str(out)), "--profile", plan.profile_name]
    # The option would override a profile that gives some rows fewer seeds.
    fewer_seeds = any(len(line.sources) < plan.seeds for line in plan.lines)
    words += [] if fewer_seeds else ["--seeds", str(plan.seeds)]
    words += ["--jobs", str(options.jobs)]
    words += ["--rows", options.rows] if options.rows != "*" else []
    if options.lexicon is not None and uses_lexicon(plan):
        words += ["--lexicon", shown_path(str(options.lexicon))]
    words += [word for change in overrides for word in ("--set", shown_change(change))]
    return shlex.join(words)


def _regenerate_reports(folder: Path, pattern: str) -> None:
    """Regenerate reports from their JSON, and the tables of the folder's README from all."""
    from fnmatch import fnmatch

    from polyglance.studies.report import write_report
    from polyglance.studies.report.regenerate import read_document
    from polyglance.studies.report.summary import read_claims, renew_summary

    names = [path for path in sorted(folder.glob("*.json")) if fnmatch(path.stem, pattern)]
    if not names:
        raise PolyglanceError(f"{folder}: no report matches '{pattern}' (NAME.json)")
    # Read all before writing the first: a damaged one leaves the folder unchanged.
    for document in [read_document(path) for path in names]:
        write_report(document, folder)
        typer.echo(f"report: {folder / document.name}.md")
    page = folder / "README.md"
    if page.is_file() and renew_summary(page, read_claims(folder)):
        typer.echo(f"summary: {page}")


def _list_studies(pattern: str | None) -> None:
    from fnmatch import fnmatch

    from polyglance.cli.recipes import print_table
    from polyglance.studies import load_study, study_names
    from polyglance.studies.plan import count_runs

    rows = []
    for name in study_names():
        if pattern is None or fnmatch(name, pattern):
            study = load_study(name)
            counts = [f"{p} {count_runs(study, p)}" for p in study.profiles]
            rows.append([name, study.title, ", ".join(counts), study.paper])
    if not rows:
        raise PolyglanceError(
            f"no study matches '{pattern}'; there are: {', '.join(study_names())}"
        )
    print_table(["name", "what it is", "runs by profile", "paper"], rows)


def _print_plan(
    plan: "Plan", facts: "DataFacts | None", options: "Options", as_json: bool = False
) -> None:
    """Print rows with their training and what is missing, then runs with their state."""
    import json

    from polyglance.studies.plan import is_chosen
    from polyglance.studies.running.execute import estimate, pending, retrained_runs, wanted
    from polyglance.studies.running.forecast import forecasts, size_gaps

    known, runs, todo = estimate(plan, options), wanted(plan, options), pending(plan, options)
    rows = [] if facts is None else forecasts(plan, facts, options)
    gaps = [] if facts is None else size_gaps(plan, facts)
    keys, again = {run.key for run in todo}, retrained_runs(plan, options)
    states = {}
    for run in runs:
        folder = options.folder(run)
        if run.key not in keys:
            state = "cached" if folder.failure() is None else "failed"
        elif run.key in again:
            state = "to run again"
        elif folder.done:
            state = "to evaluate"
        else:
            state = "to go on" if folder.model.exists() else "to run"
        trained = run.key in keys and (run.key in again or not folder.done)
        seconds = known.of(run.group) if trained else None
        states[run.key] = (state, run.label, seconds)
    if as_json:
        summary = {
            "study": plan.study.title,
            "profile": plan.profile_name,
            "folds": plan.study.evaluation.folds,
            "data": gaps,
            "rows": [row.as_dict() for row in rows],
            "unavailable": plan.unavailable,
            "runs": [
                {"key": key, "state": state, "label": label, "seconds": seconds}
                for key, (state, label, seconds) in states.items()
            ],
        }
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    _print_forecasts(rows, gaps, plan)
    for name, why in plan.unavailable.items():
        if is_chosen(name, options.rows):
            typer.echo(f"missing\t{name}\t{why}")
    from polyglance.studies.running.times import duration

    for state, label, seconds in states.values():
        typer.echo("\t".join([state, label, "" if seconds is None else duration(seconds)]))
    left = [run for run in todo if run.key in again or not options.folder(run).done]
    total = known.total(left, options.jobs)
    when = "no estimate before a run has finished" if total is None else f"about {duration(total)}"
    if rows and total is None and all(row.seconds is not None for row in rows):
        guess = sum((row.seconds or 0.0) * row.seeds for row in rows) / options.jobs
        when = f"very roughly {duration(guess)}, from the models' sizes"
    typer.echo(f"{len(todo)} of {len(runs)} runs to do with {options.jobs} at a time: {when}")


def _print_forecasts(rows: "list[Forecast]", gaps: list[str], plan: "Plan") -> None:
    from polyglance.cli.recipes import print_table
    from polyglance.studies.running.times import duration

    for gap in gaps:
        typer.echo(f"data\t{gap}")
    if plan.study.evaluation.folds > 1:
        typer.echo(f"evaluation\tmean over {plan.study.evaluation.folds} folds")
    header = [
        "row",
        "seeds",
        "data",
        "feature",
        "updates at most",
        "parameters",
        "time of a seed",
        "missing",
    ]
    cells = []
    for row in rows:
        captions = ", ".join(f"{code} {count:,}" for code, count in row.captions.items())
        spent = "" if row.seconds is None else duration(row.seconds)
        cells.append(
            [
                row.row if row.each is None else f"{row.row}, {row.each}",
                str(row.seeds),
                f"{row.images:,} images; {captions}" if row.captions else "",
                row.feature,
                "" if row.updates is None else f"{row.updates:,}",
                "" if row.parameters is None else f"{row.parameters:,}",
                spent if row.measured or not spent else f"roughly {spent}",
                "; ".join(row.missing),
            ]
        )
    if cells:
        print_table(header, cells)
