"""`polyglance study`: run, resume, cache and report a paper's table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.cli.options import naming_options, reject_other_options
from polyglance.cli.study_output import print_plan, print_remaining, print_retrained
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.studies import PreparedStudy


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
    if out is None and pack is None and not plan:
        raise PolyglanceError("pass --out, a folder for the report, or --pack, a file for runs")
    from polyglance.studies import StudyOptions, prepare_study

    options = StudyOptions(
        profile=profile,
        seeds=seeds,
        rows=rows,
        overrides=overrides or (),
        jobs=jobs,
        retry=retry,
        minutes=minutes,
        device=device,
        runs=runs,
        cache=cache,
        lexicon=lexicon,
        pack=pack,
        packs=packs or (),
    )
    with naming_options(packs="--with"):
        prepared = prepare_study(name, data, options, lenient=plan)
    if prepared.migrated:
        several = "s" * (prepared.migrated > 1)
        found = f"{prepared.migrated} run{several} with keys of earlier versions found again"
        typer.echo(f"{prepared.running.runs}: {found}", err=True)
    for result in prepared.imported:
        typer.echo(result.summary, err=True)
    if plan:
        print_plan(prepared.states(), as_json)
    else:
        _run(prepared, out)


def _run(prepared: "PreparedStudy", out: Path | None) -> None:
    from polyglance.studies import check_report_folder

    plan, pack = prepared.plan, prepared.options.pack
    if out is not None:
        check_report_folder(out)
    print_retrained(prepared)
    failed = prepared.execute()
    if pack is not None:
        count = prepared.write_pack(pack)
        typer.echo(f"runs: {pack}, {count} finished, {pack.stat().st_size / 1000:,.0f} kB")
    if out is not None:
        _report(prepared, failed, out)
    for row, why in plan.unavailable.items():
        typer.echo(f"not run: {row}; {why}", err=True)
    print_remaining(prepared, failed)
    if failed:
        typer.echo(f"{len(failed)} of {len(plan.runs)} runs failed:", err=True)
        for key, reason in failed.items():
            typer.echo(f"  {plan.runs[key].label}: {reason}", err=True)
        typer.echo("the same command retries crashed runs, --retry also the others", err=True)
        raise typer.Exit(1)


def _report(prepared: "PreparedStudy", failed: dict[str, str], out: Path) -> None:
    from polyglance.studies.report import write_report

    document = prepared.document(failed, out)
    paths = write_report(document, out)
    for verdict in document.verdicts:
        typer.echo(f"{verdict.claim.text}: {verdict.verdict}")
    for reason in document.draft:
        typer.echo(f"draft: {reason}", err=True)
    typer.echo(f"report: {', '.join(map(str, paths))}")


def _regenerate_reports(folder: Path, pattern: str) -> None:
    from polyglance.studies.report.summary import regenerate_reports

    for path in regenerate_reports(folder, pattern):
        typer.echo(f"{'summary' if path.name == 'README.md' else 'report'}: {path}")


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
