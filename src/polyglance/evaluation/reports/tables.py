"""Tables for the terminal and Markdown, from the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from polyglance.evaluation.ranking.bootstrap import Difference
from polyglance.evaluation.ranking.metrics import KS, Metrics
from polyglance.evaluation.reports.comparison import Comparison, Spread
from polyglance.evaluation.reports.report import Intervals, LanguageResult, Report

RECALLS = tuple(f"{side}\nR@{k}" for side in ("i→t", "t→i") for k in KS)
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
NAMES = {"human": "human", "all": "all"}
"""Averages and their names in tables."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A table as text, with `notes` below."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]
    sections: frozenset[int] = frozenset()

    def rich(self) -> Table:
        """For the terminal: right-aligned numbers, averages below a rule."""
        notes = "\n".join(map(escape, self.notes)) or None
        table = Table(title=escape(self.title), caption=notes, box=SIMPLE_HEAD, pad_edge=False)
        table.title_justify = table.caption_justify = "left"
        table.padding = 0
        for i, name in enumerate(self.header):
            table.add_column(escape(name), justify="right" if i else "left", no_wrap=True)
        for i, row in enumerate(self.rows):
            table.add_row(*map(escape, row), end_section=i + 1 in self.sections)
        return table

    def markdown(self) -> str:
        """In Markdown."""
        rule = ["---"] + ["---:"] * (len(self.header) - 1)
        header = [name.replace("\n", " ") for name in self.header]
        lines = ["| " + " | ".join(row) + " |" for row in (header, rule, *self.rows)]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"**{self.title}**", "", *lines, *notes]) + "\n"


SMALL_GALLERY = 50
"""Number of images below which R@10 by chance exceeds 20 %."""


def report_rows(report: Report) -> Rows:
    """One row per language, then the averages."""
    header = ["", "kind", "img", "capt", *RECALLS, "medR", "rsum", "mR"]
    rows = []
    for result in report.results:
        name = result.language + ("" if result.known else "†")
        outcome = result.outcome
        counts = [str(len(outcome.image)), str(len(outcome.caption_image))]
        numbers = _numbers(result.metrics, result.intervals)
        rows.append([name, "+".join(result.kinds), *counts, *numbers])
    for name in shown_averages(report):
        average = report.averages[name]
        languages = f"{len(average.languages)} languages"
        rows.append([NAMES[name], languages, "", "", *_numbers(average.metrics, average.intervals)])
    title = f"{report.model} on {report.dataset}/{report.split}"
    if report.folds > 1:
        title += f", mean of {report.folds} folds"
    return Rows(title, header, rows, _notes(report), frozenset({len(report.results)}))


def shown_averages(report: Report) -> list[str]:
    """The averages shown in a table: `human` only if it differs from `all`."""
    everything = report.averages.get("all")
    return [
        name
        for name, average in report.averages.items()
        if name == "all" or everything is None or average.languages != everything.languages
    ]


def comparison_rows(reports: Sequence[Report], comparison: Comparison) -> Rows:
    """mR of every run by language, with its difference from the first and its significance."""
    first = reports[0]
    header = ["", first.model]
    header += [text for report in reports[1:] for text in (report.model, "difference", "p")]
    values = comparison.values
    hidden = set(first.averages) - set(shown_averages(first))
    keys = [key for key in values[first.model] if key not in hidden]
    rows = []
    for key in keys:
        row = [NAMES.get(key, key), f"{values[first.model][key]['mr']:.1f}"]
        for report in reports[1:]:
            test = comparison.differences[report.model][key]["mr"]
            row += [f"{values[report.model][key]['mr']:.1f}", _difference(test), f"{test.p:.3f}"]
        rows.append(row)
    note = (
        f"mR; difference from {first.model} with 95 % interval, paired bootstrap over images "
        f"({comparison.rounds} rounds); * p < .05, ** p < .01, *** p < .001, each on its own"
    )
    title = f"{first.dataset}/{first.split}: {len(reports)} runs"
    return Rows(title, header, rows, [note], frozenset({sum(key not in NAMES for key in keys)}))


def seeds_rows(reports: Sequence[Report], spreads: dict[str, dict[str, Spread]]) -> Rows:
    """Mean ± sd over runs, by language."""
    metrics, first = list(next(iter(spreads.values()))), reports[0]
    hidden = set(first.averages) - set(shown_averages(first))
    rows = [
        [NAMES.get(row, row), *(f"{spread[m].mean:.1f} ± {spread[m].sd:.1f}" for m in metrics)]
        for row, spread in spreads.items()
        if row not in hidden
    ]
    title = f"{first.dataset}/{first.split}: mean ± sd of {len(reports)} runs"
    note = "runs: " + ", ".join(report.model for report in reports)
    body = frozenset({sum(row not in NAMES for row in spreads)})
    return Rows(title, ["", *RECALLS, "rsum", "mR"], rows, [note], body)


def _numbers(metrics: Metrics, intervals: Intervals) -> list[str]:
    medians = (metrics.image_to_text.median_rank, metrics.text_to_image.median_rank)
    mr = f"{metrics.mr:.1f}"
    if "mr" in intervals:
        low, high = intervals["mr"]
        mr += f" ±{(high - low) / 2:.1f}"
    recalls = [f"{recall:.1f}" for recall in metrics.recalls]
    return [
        *recalls,
        "/".join(f"{round(median, 1):g}" for median in medians),
        f"{metrics.rsum:.1f}",
        mr,
    ]


def _notes(report: Report) -> list[str]:
    notes = []
    if "human" in shown_averages(report):
        notes.append(
            "human: languages with captions by people; those of the others are machine translations"
        )
    smallest = min(len(result.outcome.image) for result in report.results)
    if smallest < SMALL_GALLERY:
        notes.append(f"with only {smallest} images, recall is high by chance: evaluate on more")
    if report.rounds:
        notes.append(f"±: half the 95 % interval, {report.rounds} resamples of images")
    if changes := [r for r in report.results if r.perturbed is not None]:
        notes.append(_perturbed(changes))
    if any(not result.known for result in report.results):
        notes.append("† the model was not trained on this language")
    if duplicates := sum(result.duplicates for result in report.results):
        notes.append(f"{duplicates} duplicate captions of an image were counted once")
    if report.unreadable:
        names = ", ".join(report.unreadable[:3]) + (" …" if len(report.unreadable) > 3 else "")
        notes.append(f"left out, unreadable: {len(report.unreadable)} ({names})")
    return notes


def _perturbed(results: list[LanguageResult]) -> str:
    """The share of words changed in each language."""
    parts, names = [], set()
    for result in results:
        if result.perturbed is not None:
            share = 100 * result.perturbed.changed / max(1, result.perturbed.words)
            parts.append(f"{result.language} {share:.0f}")
            names.add(result.perturbed.name)
    return f"captions with {', '.join(sorted(names))}; % of words changed: {', '.join(parts)}"


def _difference(test: Difference) -> str:
    stars = next((mark for limit, mark in STARS if test.p < limit), "")
    return f"{test.difference:+.1f}{stars} [{test.low:+.1f}, {test.high:+.1f}]"
