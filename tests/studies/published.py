"""Reports of docs/studies, made again from their JSON: what was computed is read, not computed."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from polyglance.evaluation.bootstrap import Difference
from polyglance.files import write_json
from polyglance.studies import Plan, Study
from polyglance.studies.claims import Evidence, Verdict
from polyglance.studies.execute import Options
from polyglance.studies.plan import Line, Run
from polyglance.studies.report import Document
from polyglance.studies.report.document import run_table
from polyglance.studies.report.drawing import Plot
from polyglance.studies.report.origin import Origin
from polyglance.studies.report.tables import difference_tables, result_tables
from polyglance.studies.results import Cell, Results, Test
from polyglance.studies.schema import Column
from polyglance.studies.statistics import Series

FOLDER = Path(__file__).parents[2] / "docs" / "studies"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def rebuild(name: str, folder: Path) -> Document:
    """The document of a published report; `folder` is for the runs' files."""
    value = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    study, options = Study.model_validate(value["definition"]), Options("", folder)
    plan = _plan(study, value)
    cells = [
        [_cell(column, row["cells"][column.title]) for column in plan.columns]
        for row in value["rows"]
    ]
    changed = {
        match[1]: {code: float(n) for code, n in re.findall(r"(\S+) (\d+)", match[2])}
        for match in re.finditer(r"^(.+), % of words changed: (.+)$", text, re.M)
    }
    results = Results(plan, cells, _tests(plan, value), changed)
    for key, run in value["runs"].items():
        if "seconds" in run:
            write_json(folder / key / "done.json", run)
    labels = {run.label: key for key, run in plan.runs.items()}
    failed = {labels[label]: why for label, why in value["failures"].items()}
    for key, why in failed.items():
        write_json(folder / key / "failure.json", {"reason": why, "kind": "mistake"})
    origin = Origin.of(plan, options)
    method = re.search(r"\n## Method\n\n(.*?)\n\n<details>", text, re.S)
    return Document(
        name=name,
        study=study,
        about=list(value["about"].items()),
        verdicts=_verdicts(study, value),
        tables=[*result_tables(results, failed, origin), *difference_tables(results)],
        plots=[
            Plot(stem, caption, (FOLDER / f"{name}.{stem}.svg").read_bytes())
            for caption, stem in re.findall(rf"^!\[(.*)\]\({name}\.(.*)\.svg\)$", text, re.M)
        ],
        notes=method[1].split("\n\n") if method else [],
        failures=list(value["failures"].items()),
        runs=run_table(plan, options),
        numbers=value,
        warnings=value.get("warnings", []),
        draft=value.get("draft", []),
    )


def _plan(study: Study, value: dict[str, Any]) -> Plan:
    runs = {key: Run(key, run.get("recipe"), run["labels"]) for key, run in value["runs"].items()}
    columns = [_column(study, title) for title in value["rows"][0]["cells"]]
    seeds = len(value["about"]["seeds"].split(", "))
    lines = []
    for row in value["rows"]:
        found = study.row(row["row"])
        sources = [_source(found.name, row["x"], seed, runs, columns) for seed in range(seeds)]
        lines.append(Line(found, row["x"], sources))
    profile = value["about"]["profile"].partition(":")[0]
    return Plan(study, study.profiles[profile], profile, seeds, columns, lines, runs, [])


def _column(study: Study, title: str) -> Column:
    """A column of the study, or what became of one with `*`."""
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
    raise AssertionError(f"no column {title}")


def _source(
    row: str, x: object, seed: int, runs: dict[str, Run], columns: list[Column]
) -> dict[str, str]:
    """Language → key of the run that fills it, as labels of runs tell."""
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


def _verdicts(study: Study, value: dict[str, Any]) -> list[Verdict]:
    found = []
    for claim, told in zip(study.claims, value["claims"], strict=True):
        evidence = [
            Evidence(
                item["better"],
                item["sign"],
                item["other"],
                item["verdict"],
                tuple(item["columns"]),
                _difference(item["difference"]) if item["difference"] else None,
                tuple((name, _difference(test)) for name, test in item["each"].items()),
                item["paper"],
                item["digits"],
                item["of"],
            )
            for item in told["evidence"]
        ]
        found.append(Verdict(claim, told["verdict"], evidence))
    return found
