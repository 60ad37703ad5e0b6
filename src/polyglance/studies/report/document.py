"""Everything a report says, before it takes a form."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from polyglance.evaluation.bootstrap import Difference
from polyglance.studies.claims import Verdict, judge
from polyglance.studies.execute import Options
from polyglance.studies.experiments import experiments
from polyglance.studies.plan import Plan
from polyglance.studies.report.about import about_machine
from polyglance.studies.report.plots import Plot, draw, draw_experiment
from polyglance.studies.report.tables import Table, difference_tables, result_tables
from polyglance.studies.results import Results
from polyglance.studies.statistics import METHOD, WELCH
from polyglance.studies.times import duration

RUN_COLUMNS = ["run", "parameters", "updates", "best at", "time", "ended", "folder"]
TRIAL_COLUMNS = ["run", "threads", "time", "ended", "folder"]


@dataclass(frozen=True)
class Document:
    """A report's content; the writers only lay it out."""

    name: str
    title: str
    paper: str
    note: str
    labels: dict[str, str]
    about: list[tuple[str, str]]
    verdicts: list[Verdict]
    tables: list[Table]
    plots: list[Plot]
    notes: list[str]
    failures: list[tuple[str, str]]
    runs: Table
    numbers: dict[str, Any]


def make_document(
    name: str,
    results: Results,
    options: Options,
    failed: Mapping[str, str],
    command: str,
    seconds: float,
) -> Document:
    """Put a study's results into words, tables and plots."""
    plan, study = results.plan, results.plan.study
    verdicts = judge(results)
    about = _about(plan, options, command, seconds)
    tables = [*result_tables(results, failed), *difference_tables(results)]
    failures = [(plan.runs[k].label, _published(r, options)) for k, r in failed.items()]
    notes = [WELCH if study.experiment else METHOD] if results.tests or study.claims else []
    if study.experiment is not None:
        notes.insert(0, experiments.get(study.experiment).about)
    if plan.missing:
        notes.append(f"Not in this data, so left out: {', '.join(plan.missing)}.")
    for row, codes in plan.lacking.items():
        notes.append(f"Not run, as the data has no {' or '.join(codes)}: {study.labels[row]}.")
    numbers = _numbers(name, results, verdicts, about, failures, options)
    return Document(
        name,
        study.title,
        study.paper,
        study.note.strip(),
        study.labels,
        about,
        verdicts,
        tables,
        [*draw(results), *draw_experiment(plan, options)],
        notes,
        failures,
        run_table(plan, options),
        numbers,
    )


def _about(plan: Plan, options: Options, command: str, seconds: float) -> list[tuple[str, str]]:
    spent = sum(options.folder(run).facts().get("seconds", 0.0) for run in plan.runs.values())
    done = sum(options.folder(run).done for run in plan.runs.values())
    note = f": {plan.profile.note}" if plan.profile.note else ""
    some = options.rows != "*" and " --set " in command
    return [
        ("command", command),
        *([("changed by --set", f"rows '{options.rows}' alone")] if some else []),
        ("profile", plan.profile_name + note),
        ("seeds", ", ".join(map(str, range(plan.seeds)))),
        _subject(plan),
        ("runs", f"{done} of {len(plan.runs)}, done in {duration(spent)} altogether"),
        ("this call", duration(seconds)),
        *about_machine(),
    ]


def _subject(plan: Plan) -> tuple[str, str]:
    if plan.study.experiment is not None:
        return "experiment", plan.study.experiment
    evaluation = plan.study.evaluation
    kinds = ", ".join(evaluation.kinds or ["each language's best"])
    return "judged on", f"split {evaluation.split}, captions: {kinds}"


def _published(text: str, options: Options) -> str:
    """A reason without this machine's folders."""
    for path, word in ((options.runs, "RUNS"), (options.data, "DATA")):
        text = text.replace(str(path), word) if str(path) else text
    return text


def run_table(plan: Plan, options: Options) -> Table:
    """How every run went."""
    header = RUN_COLUMNS if plan.study.experiment is None else TRIAL_COLUMNS
    rows = []
    for run in plan.runs.values():
        facts = options.folder(run).facts()
        if not facts:
            state = "not run" if options.folder(run).failure() is None else "failed"
            rows.append([run.label, *[""] * (len(header) - 3), state, run.key])
            continue
        names = ("parameters", "updates", "best_update") if run.recipe else ("threads",)
        numbers = [f"{facts[name]:,}" for name in names]
        ended = facts.get("finished", "done")
        rows.append([run.label, *numbers, duration(facts["seconds"]), ended, run.key])
    return Table("Runs", [], header, rows)


def _numbers(
    name: str,
    results: Results,
    verdicts: list[Verdict],
    about: list[tuple[str, str]],
    failures: list[tuple[str, str]],
    options: Options,
) -> dict[str, Any]:
    plan = results.plan
    lines = []
    for line, cells in zip(plan.lines, results.cells, strict=True):
        columns = {
            cell.column.title: {
                "paper": cell.paper,
                "mean": None if cell.series is None else cell.series.mean,
                "sd": None if cell.series is None else cell.series.sd,
                "seeds": dict(zip(cell.seeds, _values(cell.series), strict=True)),
                "chance": cell.chance,
            }
            for cell in cells
        }
        lines.append({"row": line.row.name, "label": line.row.title, "x": line.x, "cells": columns})
    tests = [
        {
            "row": test.line.row.name,
            "reference": test.reference.row.name,
            "x": test.line.x,
            "column": test.column.title if test.column else "mean",
            "paper": test.paper,
            **test.difference.as_dict(),
        }
        for test in results.tests
    ]
    runs = {
        run.key: {"labels": run.labels, **run.as_dict(), **options.folder(run).facts()}
        for run in plan.runs.values()
    }
    return {
        "study": name,
        "title": plan.study.title,
        "about": dict(about),
        "rows": lines,
        "differences": tests,
        "claims": [_claim(verdict) for verdict in verdicts],
        "failures": dict(failures),
        "runs": runs,
    }


def _values(series: Any) -> list[float]:
    return [] if series is None else [float(value) for value in series.values]


def _claim(verdict: Verdict) -> dict[str, Any]:
    evidence = []
    for item in verdict.evidence:
        value = asdict(item)
        value["difference"] = _as_dict(item.difference)
        value["each"] = {name: _as_dict(test) for name, test in item.each}
        evidence.append(value)
    return {"text": verdict.claim.text, "verdict": verdict.verdict, "evidence": evidence}


def _as_dict(test: Difference | None) -> dict[str, Any] | None:
    return None if test is None else test.as_dict()
