"""A line for every section, through its rows that other sections have, too, by label."""

from polyglance.studies.report.drawing import COLOURS, GRID, Plot, add_legend, to_svg
from polyglance.studies.report.tables import heading
from polyglance.studies.results import Results, Series
from polyglance.studies.schema import Column


def draw_lines(results: Results) -> list[Plot]:
    """The picture that the study asks for, if there are numbers for it."""
    wanted = results.plan.study.lines
    if wanted is None:
        return []
    columns = {column.title: column for column in results.plan.columns}
    panels = [
        (columns[title], found)
        for title in wanted.y
        if title in columns and any((found := _lines(results, columns[title])).values())
    ]
    if not panels:
        return []
    from matplotlib.figure import Figure

    steps = results.plan.study.steps
    figure = Figure(figsize=(4.2 * len(panels) + 0.6, 3.7), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False).ravel()
    for axes, (column, found) in zip(grid, panels, strict=True):
        for number, (title, points) in enumerate(found.items()):
            if points:
                places, series = zip(*points, strict=True)
                means, spreads = [s.mean for s in series], [s.sd or 0.0 for s in series]
                style = {"color": COLOURS[number % len(COLOURS)], "capsize": 2, "label": title}
                axes.errorbar(places, means, spreads, fmt="o-", markersize=4, **style)
        axes.set_xticks(range(len(steps)), steps)
        axes.set(title=heading(column), xlabel=wanted.label)
        axes.title.set_fontsize(10)
        axes.grid(color=GRID, linewidth=0.7)
    add_legend(figure, grid[0])
    caption = f"Mean over seeds against {wanted.label}, whiskers ± one standard deviation"
    return [Plot("lines", caption, to_svg(figure))]


def _lines(results: Results, column: Column) -> dict[str, list[tuple[int, Series]]]:
    """Section → its points, (place, series)."""
    study, found = results.plan.study, {}
    lines = {line.row.name: line for line in results.plan.lines}
    for part in study.sections:
        points = [
            (study.steps.index(row.title), results.cell(lines[row.name], column).series)
            for row in part.rows
            if row.title in study.steps and row.name in lines
        ]
        drawn = [(place, series) for place, series in points if series is not None]
        found[part.title.partition(":")[0]] = drawn
    return found
