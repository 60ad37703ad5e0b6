"""Rows that average the scores of other rows."""

from polyglance.storage.digest import json_digest
from polyglance.studies.format.schema import Row
from polyglance.studies.plan.runs import MEMBERS, Line, Plan, Run, X, describe


def add_ensembles(plan: Plan) -> None:
    """Add lines and runs of ensembles, after the others are planned; lines in the rows' order."""
    for row in plan.study.all_rows:
        if row.ensemble:
            plan.lines.extend(_ensemble(plan, row, x) for x in _ensemble_xs(plan, row))
    order = [row.name for row in plan.study.all_rows]
    plan.lines.sort(key=lambda line: order.index(line.row.name))


def _ensemble_xs(plan: Plan, row: Row) -> list[X]:
    return list(dict.fromkeys(line.x for line in plan.lines if line.row.name == row.ensemble[0]))


def _ensemble(plan: Plan, row: Row, x: X) -> Line:
    """An ensemble's line; a row named twice contributes seeds s and s + 1, cyclically."""
    by_name = {line.row.name: line for line in plan.lines if line.x in (x, None)}
    lines = [by_name[name] for name in row.ensemble if name in by_name]
    again = [row.ensemble[:place].count(name) for place, name in enumerate(row.ensemble)]
    sources: list[dict[str, str]] = []
    count = min(len(line.sources) for line in lines)
    if max(again) >= count:
        plan.unavailable[row.name] = (
            f"an ensemble of a row with itself needs {max(again) + 1} seeds"
        )
        return Line(row, x, [{} for _ in range(count)])
    missing = [name for name in row.ensemble if name in plan.lacking or name in plan.unavailable]
    if missing:
        plan.unavailable[row.name] = f"row '{missing[0]}', which it averages, cannot be run"
    for seed in range(count):
        own = [
            line.sources[(seed + shift) % len(line.sources)]
            for line, shift in zip(lines, again, strict=True)
        ]
        shared = [code for code in own[0] if all(code in other for other in own)]
        keys = {code: tuple(source[code] for source in own) for code in shared}
        sources.append({c: _join(plan, row, x, seed, found).key for c, found in keys.items()})
    return Line(row, x, sources)


def _join(plan: Plan, row: Row, x: X, seed: int, members: tuple[str, ...]) -> Run:
    """The run of an ensemble, known or new; its members are needed for its row, too."""
    key = json_digest({MEMBERS: members})[:24]
    run = plan.runs.setdefault(key, Run(key, None, members=members))
    if row.name not in run.rows:
        describe(run, row, x, None, seed)
    for member in members:
        plan.runs[member].rows.add(row.name)
    return run
