"""The content of a report, independent of its format."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from polyglance.studies.experiments import experiments
from polyglance.studies.findings.claims import Verdict, check_claims
from polyglance.studies.findings.results import Cell, Results, Test
from polyglance.studies.findings.statistics import METHOD, WELCH
from polyglance.studies.format.schema import Study
from polyglance.studies.plan import Plan, Run
from polyglance.studies.report.convergence import shown_best, warnings
from polyglance.studies.report.drawing import Plot
from polyglance.studies.report.environment import machine_facts
from polyglance.studies.report.origin import Origin
from polyglance.studies.report.plots import draw, draw_experiment
from polyglance.studies.report.tables import Table, difference_tables, result_tables
from polyglance.studies.running.execute import Options
from polyglance.studies.running.machine import commit
from polyglance.studies.running.store import RunOutcome
from polyglance.studies.running.times import duration

RUN_COLUMNS = ["run", "parameters", "updates", "best at", "time", "ended", "folder"]
TRIAL_COLUMNS = ["run", "threads", "time", "ended", "folder"]


@dataclass(frozen=True)
class Document:
    """A report's content; the templates only lay it out."""

    name: str
    study: Study
    about: list[tuple[str, str]]
    verdicts: list[Verdict]
    tables: list[Table]
    plots: list[Plot]
    notes: list[str]
    failures: list[tuple[str, str]]
    runs: Table
    numbers: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
    draft: list[str] = field(default_factory=list)
    """Why it is a draft, if it is."""
    earlier: list[str] = field(default_factory=list)
    """How its runs differ from those of the study today, if they do."""


def make_document(
    name: str,
    results: Results,
    options: Options,
    failed: Mapping[str, str],
    command: str,
    seconds: float,
) -> Document:
    """Turn a study's results into texts, tables and plots.

    Args:
        name: of the study, and of the files.
        results: evaluated or measured so far.
        options: with the location of the runs and the selected rows.
        failed: key → reason, for failed runs.
        command: that reproduces the report.
        seconds: duration of the call.
    """
    plan, study = results.plan, results.plan.study
    verdicts, origin = check_claims(results), Origin.of(plan, options)
    about = _about(plan, options, command, seconds, origin)
    warned, draft = warnings(plan, options), origin.drafts(commit())
    plots, notes = [*draw(results), *draw_experiment(plan, options)], _notes(results)
    outcomes = {key: options.folder(run).outcome() for key, run in plan.runs.items()}
    failures = [(plan.runs[k].label, _published(r, options)) for k, r in failed.items()]
    return Document(
        name=name,
        study=study,
        about=about,
        verdicts=verdicts,
        tables=[*result_tables(results, failed, origin), *difference_tables(results)],
        plots=plots,
        notes=notes,
        failures=failures,
        runs=run_table(plan, outcomes, _failed(plan, options)),
        numbers={
            "study": name,
            "title": study.title,
            "draft": draft,
            "about": dict(about),
            "rows": [
                {
                    "row": line.row.name,
                    "label": line.row.title,
                    "x": line.x,
                    "machines": origin.of_line(line),
                    "cells": {cell.column.title: _cell_numbers(cell) for cell in cells},
                }
                for line, cells in zip(plan.lines, results.cells, strict=True)
            ],
            "differences": [_test_numbers(test) for test in results.tests],
            "claims": [verdict.as_dict() for verdict in verdicts],
            "failures": dict(failures),
            **({"warnings": warned} if warned else {}),
            "runs": {
                run.key: {"labels": run.labels, **run.as_dict(), **_ended(run, options)}
                for run in plan.runs.values()
            },
            "definition": definition(study, plan.profile_name),
            "changed": results.changed,
            "plots": [{"name": plot.name, "caption": plot.caption} for plot in plots],
            "notes": notes,
        },
        warnings=warned,
        draft=draft,
    )


def definition(study: Study, profile: str) -> dict[str, Any]:
    """The study as it was run, with its one profile: the file may change later."""
    own = study.model_copy(update={"profiles": {profile: study.profiles[profile]}})
    return own.model_dump(mode="json", exclude_defaults=True)


def _about(
    plan: Plan, options: Options, command: str, seconds: float, origin: Origin
) -> list[tuple[str, str]]:
    outcomes = [e for run in plan.runs.values() if (e := options.folder(run).outcome()) is not None]
    spent = duration(sum(one.seconds for one in outcomes))
    note = f": {plan.profile.note}" if plan.profile.note else ""
    changed = [("changed by --set", f"rows '{options.rows}' alone")]
    evaluation = plan.study.evaluation
    kinds = ", ".join(evaluation.kinds or ["each language's best"])
    folds = f", {evaluation.folds} folds" if evaluation.folds > 1 else ""
    subject = ("evaluated on", f"split {evaluation.split}{folds}, captions: {kinds}")
    if plan.study.experiment is not None:
        subject = ("experiment", plan.study.experiment)
    return [
        ("command", command),
        *(changed if options.rows != "*" and " --set " in command else []),
        ("profile", plan.profile_name + note),
        ("seeds", ", ".join(map(str, range(plan.seeds)))),
        subject,
        ("runs", f"{len(outcomes)} of {len(plan.runs)}, done in {spent} altogether"),
        *([("runs' commits", origin.code)] if origin.code else []),
        ("this call", duration(seconds)),
        *machine_facts(),
    ]


def _notes(results: Results) -> list[str]:
    """Method, and what was left out."""
    plan, study = results.plan, results.plan.study
    notes = [WELCH if study.experiment else METHOD] if results.tests or study.claims else []
    if study.experiment is not None:
        notes.insert(0, experiments.get(study.experiment).about)
    if plan.missing:
        notes.append(f"Not in this data, so left out: {', '.join(plan.missing)}.")
    for row, codes in plan.lacking.items():
        notes.append(f"Not run, as the data has no {' or '.join(codes)}: {study.labels[row]}.")
    for row, why in plan.unavailable.items():
        notes.append(f"Not run: {study.labels[row]}; {why}.")
    return notes


def _published(text: str, options: Options) -> str:
    """A reason without local paths."""
    for path, word in ((options.runs, "RUNS"), (options.data, "DATA")):
        text = text.replace(str(path), word) if str(path) else text
    return text


def run_table(
    plan: Plan, outcomes: Mapping[str, RunOutcome | None], failed: Collection[str]
) -> Table:
    """The table of runs.

    Args:
        plan: the runs.
        outcomes: of the runs, by key; None if not finished.
        failed: keys of failed runs.
    """
    header = RUN_COLUMNS if plan.study.experiment is None else TRIAL_COLUMNS
    letters = (origin := Origin.of_runs(outcomes)).letters
    rows = []
    for run in plan.runs.values():
        if (one := outcomes[run.key]) is None:
            state = "failed" if run.key in failed else "not run"
            rows.append([run.label, *[""] * (len(header) - 3), state, run.key])
            continue
        numbers = [f"{one.threads or 0:,}"]
        if plan.study.experiment is None:
            numbers = [f"{one.parameters or 0:,}", f"{one.updates or 0:,}", shown_best(one)]
        how = one.finished or "done"
        rows.append([run.label, *numbers, duration(one.seconds), how, run.key])
    if letters:
        for row in rows:
            row.append(letters.get(origin.machines.get(row[-1], ""), ""))
        header = [*header, "machine"]
    return Table("Runs", [], header, rows)


def _failed(plan: Plan, options: Options) -> set[str]:
    return {key for key, run in plan.runs.items() if options.folder(run).failure() is not None}


def _ended(run: Run, options: Options) -> dict[str, Any]:
    outcome = options.folder(run).outcome()
    return {} if outcome is None else outcome.as_dict()


def _cell_numbers(cell: Cell) -> dict[str, Any]:
    values = [] if cell.series is None else cell.series.values.tolist()
    return {
        "paper": cell.paper,
        "mean": None if cell.series is None else cell.series.mean,
        "sd": None if cell.series is None else cell.series.sd,
        "seeds": dict(zip(cell.seeds, values, strict=True)),
        "chance": cell.chance,
    }


def _test_numbers(test: Test) -> dict[str, Any]:
    return {
        "row": test.line.row.name,
        "reference": test.reference.row.name,
        "x": test.line.x,
        "column": test.column.title if test.column else "mean",
        "paper": test.paper,
        **asdict(test.difference),
    }
