"""Regenerates a report from its JSON: claims are evaluated by the current rules, nothing is run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.evaluation.ranking.bootstrap import Difference
from polyglance.storage.files import read_json
from polyglance.studies.findings.claims import (
    Evidence,
    Verdict,
    joint_verdict,
    paper_gap,
    verdict_of,
)
from polyglance.studies.findings.results import Cell, Results, Test
from polyglance.studies.findings.statistics import Series
from polyglance.studies.format.schema import Claim, Column, Study
from polyglance.studies.plan import Line, Plan, Run
from polyglance.studies.report.convergence import warnings_of
from polyglance.studies.report.document import Document, run_table
from polyglance.studies.report.drawing import Plot
from polyglance.studies.report.earlier import earlier
from polyglance.studies.report.origin import Origin
from polyglance.studies.report.tables import difference_tables, result_tables
from polyglance.studies.running.machine import DIRTY
from polyglance.studies.running.store import RunOutcome, read_outcome


def read_document(path: Path) -> Document:
    """The document of a report's JSON; its plots are in the same folder."""
    value = read_json(path)
    try:
        return _document(value, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PolyglanceError(
            f"{path}: not the JSON of a report that 'polyglance study' wrote "
            f"({type(error).__name__}: {error})"
        ) from None


def read_verdicts(value: dict[str, Any]) -> list[Verdict]:
    """A report's claims from its JSON, evaluated by the current rules."""
    claims, papers = Study.model_validate(value["definition"]).claims, _papers(value)
    return [
        _verdict(claim, stored["evidence"], papers)
        for claim, stored in zip(claims, value["claims"], strict=True)
    ]


Papers = dict[tuple[str, str], float | None]


def _papers(value: dict[str, Any]) -> Papers:
    """The paper's value by row and column, for lines without x."""
    return {
        (row["row"], title): cell["paper"]
        for row in value["rows"]
        if row["x"] is None
        for title, cell in row["cells"].items()
    }


def _document(value: dict[str, Any], path: Path) -> Document:
    study = Study.model_validate(value["definition"])
    plan, verdicts = _plan(study, value), read_verdicts(value)
    cells = [
        [_cell(column, row["cells"][column.title]) for column in plan.columns]
        for row in value["rows"]
    ]
    results = Results(plan, cells, _tests(plan, value), value["changed"])
    failures = value["failures"]
    failed = {key: failures[r.label] for key, r in plan.runs.items() if r.label in failures}
    outcomes = _outcomes(value)
    origin = Origin.of_runs(outcomes)
    draft = value.get("draft") or _draft(value["about"])
    for stored, verdict in zip(value["claims"], verdicts, strict=True):
        stored |= verdict.as_dict()
    return Document(
        name=path.stem,
        study=study,
        about=list(value["about"].items()),
        verdicts=verdicts,
        tables=[*result_tables(results, failed, origin), *difference_tables(results)],
        plots=[
            Plot(plot["name"], plot["caption"], _plot(path, plot["name"]))
            for plot in value["plots"]
        ],
        notes=value["notes"],
        failures=list(failures.items()),
        runs=run_table(plan, outcomes, set(failed)),
        numbers={**value, "draft": draft},
        warnings=read_warnings(value),
        draft=draft,
        earlier=earlier(value),
    )


def read_warnings(value: dict[str, Any]) -> list[str]:
    """A report's warnings from its JSON; those of earlier versions are found in its runs."""
    outcomes = _outcomes(value)
    return value.get("warnings") or warnings_of(
        (value["runs"][key]["labels"][0], outcome)
        for key, outcome in outcomes.items()
        if outcome is not None and "recipe" in value["runs"][key]
    )


def _outcomes(value: dict[str, Any]) -> dict[str, RunOutcome | None]:
    """The outcomes of all runs by key."""
    return {key: _outcome(run) for key, run in value["runs"].items()}


def _outcome(run: dict[str, Any]) -> RunOutcome | None:
    """A run's outcome; earlier versions did not record the warm-up, which follows from the loss."""
    found, loss = read_outcome(run), (run.get("recipe") or {}).get("loss") or {}
    if found is None or found.warmup is not None:
        return found
    epochs = loss.get("warmup_epochs", 0) * (found.updates_per_epoch or 0)
    return replace(found, warmup=max(epochs, loss.get("warmup_updates", 0)) or None)


def _draft(about: dict[str, str]) -> list[str]:
    """Draft reasons of reports of earlier versions, which recorded only a commit."""
    made = about.get("polyglance", "")
    return [f"written by code with uncommitted changes ({made})"] if DIRTY in made else []


def _plot(path: Path, name: str) -> bytes:
    try:
        return path.with_name(f"{path.stem}.{name}.svg").read_bytes()
    except OSError as error:
        raise PolyglanceError(
            f"{path.stem}.{name}.svg: cannot be read ({error.strerror})"
        ) from None


def _plan(study: Study, value: dict[str, Any]) -> Plan:
    runs = {key: Run(key, run.get("recipe"), run["labels"]) for key, run in value["runs"].items()}
    columns = [_column(study, title) for title in value["rows"][0]["cells"]]
    seeds = len(value["about"]["seeds"].split(", "))
    lines = []
    for row in value["rows"]:
        found = study.row(row["row"])
        sources = [_source(found.name, row["x"], seed, runs, columns) for seed in range(seeds)]
        lines.append(Line(found, row["x"], sources))
    profile = next(iter(study.profiles))
    return Plan(study, study.profiles[profile], profile, seeds, columns, lines, runs, [])


def _column(study: Study, title: str) -> Column:
    """A column of the study, or one that replaced a column with `*`."""
    for column in study.columns:
        if column.title == title:
            return column
    for column in study.columns:
        if column.language == "*":
            before, _, after = (column.name or f"* {column.shown}").partition("*")
            code = title.removeprefix(before).removesuffix(after)
            made = column.model_copy(update={"language": code, "name": column.name and title})
            if made.title == title:
                return made
    raise KeyError(f"column {title}")


def _source(
    row: str, x: object, seed: int, runs: dict[str, Run], columns: list[Column]
) -> dict[str, str]:
    """Language → key of the run that fills it, from the labels of runs."""
    found: dict[str, str] = {}
    for key, run in runs.items():
        parts = [label.split(", ") for label in run.labels]
        if any(p[0] == row and p[-1] == f"seed {seed}" and str(x) in (*p, "None") for p in parts):
            found |= {c.language: key for c in columns if c.language} or {"*": key}
    return found


def _cell(column: Column, value: dict[str, Any]) -> Cell:
    values = np.array(list(value["seeds"].values()))
    series = Series(values, np.empty((len(values), 0))) if len(values) else None
    return Cell(column, tuple(map(int, value["seeds"])), series, value["paper"], value["chance"])


def _difference(value: dict[str, Any]) -> Difference:
    return Difference(value["difference"], value["low"], value["high"], value["p"])


def _tests(plan: Plan, value: dict[str, Any]) -> list[Test]:
    lines = {(line.row.name, line.x): line for line in plan.lines}
    columns = {column.title: column for column in plan.columns}
    return [
        Test(
            lines[test["row"], test["x"]],
            lines.get((test["reference"], test["x"])) or lines[test["reference"], None],
            columns.get(test["column"]),
            _difference(test),
            test["paper"],
        )
        for test in value["differences"]
    ]


def _verdict(claim: Claim, stored: list[dict[str, Any]], papers: Papers) -> Verdict:
    evidence = [_evidence(claim, item, papers) for item in stored]
    return Verdict(claim, joint_verdict(evidence), evidence)


def _evidence(claim: Claim, item: dict[str, Any], papers: Papers) -> Evidence:
    rows = item["better"], item["other"]
    known = [tuple(papers.get((row, title)) for row in rows) for title in item["columns"]]
    paper, some = item["paper"], item.get("paper_columns")
    if paper is None:  # earlier versions had it only if all columns had it
        paper, some = paper_gap([(first, second) for first, second in known])
    change = _difference(item["difference"]) if item["difference"] else None
    margin = claim.margin if "=" in item["sign"] else None
    found = Evidence(
        item["better"],
        item["sign"],
        item["other"],
        item["verdict"],
        tuple(item["columns"]),
        change,
        tuple((name, _difference(test)) for name, test in item["each"].items()),
        paper,
        item["digits"],
        item["of"],
        margin,
        some,
    )
    if change is None:
        return found
    return replace(found, verdict=verdict_of(change, item["sign"], margin))
