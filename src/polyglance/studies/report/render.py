"""Renders the report as Markdown and as a self-contained HTML page; see `templates`."""

import base64
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.storage.files import atomic, write_json
from polyglance.studies.findings.claims import (
    FAILS,
    HOLDS,
    OPEN,
    PARTLY,
    SAME_SIZE,
    Evidence,
    verdict_of,
)
from polyglance.studies.report.document import Document
from polyglance.studies.report.tables import NONE, Table, change

if TYPE_CHECKING:
    from jinja2 import Environment

MOST = 8
"""Largest number of a claim's comparisons that are listed individually."""
LOOKS = {HOLDS: ("✔", "holds"), FAILS: ("✘", "fails"), PARTLY: ("◐", "partly")}
"""Verdict → mark in Markdown, class in HTML."""


def write_report(document: Document, folder: Path) -> list[Path]:
    """Write NAME.md, NAME.html and NAME.json, and the plots that the Markdown shows."""
    for plot in document.plots:
        with atomic(folder / f"{document.name}.{plot.name}.svg") as handle:
            handle.write(plot.svg)
    write_json(folder / f"{document.name}.json", document.numbers)
    for suffix in ("md", "html"):
        text = _templates().get_template(f"report.{suffix}.j2").render(vars(document))
        with atomic(folder / f"{document.name}.{suffix}", "w") as handle:
            handle.write(text)
    return [folder / f"{document.name}.{suffix}" for suffix in ("md", "html", "json")]


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    templates = Environment(
        loader=PackageLoader("polyglance.studies.report"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {
        "base64": lambda data: base64.b64encode(data).decode(),
        "cell_class": cell_class,
        "evidence_text": evidence_text,
        "full_header": full_header,
        "table_line": table_line,
        "verdict_class": lambda verdict: LOOKS.get(verdict, ("", ""))[1],
        "verdict_mark": lambda verdict: LOOKS.get(verdict, ("○", ""))[0],
    }
    return templates


def full_header(table: Table) -> list[str]:
    """The header in one line: group headings precede those of their columns."""
    groups = [name for name, span in table.groups for _ in range(span)] or [""] * len(table.header)
    return [f"{group} {name}".strip() for group, name in zip(groups, table.header, strict=True)]


def table_line(cells: list[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def cell_class(table: Table, cell: str, place: int) -> str:
    """The CSS class of a cell: significant differences are coloured.

    Args:
        table: of the cell.
        cell: its text.
        place: index of its column.
    """
    if cell in (NONE, "failed"):
        return "none" if cell == NONE else "failed"
    if table.header[place] == "paper":
        return "paper"
    if "*" in cell and cell[:1] in "+-":
        return "better" if (cell[0] == "-") == (place in table.lower) else "worse"
    return ""


def evidence_text(item: Evidence, labels: dict[str, str]) -> str:
    """One comparison as text."""
    first, second = (labels.get(name, name) for name in (item.better, item.other))
    name, digits, test = f"{first} {item.sign} {second}", item.digits, item.difference
    if test is None:
        return f"{name}: not tested, for lack of results"
    where = item.columns[0] if len(item.columns) == 1 else f"mean of {len(item.columns)} {item.of}"
    text = f"{name}: {change(test, digits)}, p = {test.p:.3f}, {where}"
    if item.paper is not None:
        text += f"; in the paper {item.paper:+.{digits}f}"
        if item.paper_columns is not None:
            text += f", mean of the {item.paper_columns} that it has"
        elif item.size != SAME_SIZE:
            text += ", which the interval excludes"
    if len(item.each) > MOST:
        verdicts = [verdict_of(single, item.sign, item.margin) for _, single in item.each]
        text += f"; significant that way in {verdicts.count(HOLDS)} of {len(verdicts)}, "
        text += f"the other way in {verdicts.count(FAILS)}"
    elif item.each:
        text += "; " + ", ".join(f"{name} {change(single, digits)}" for name, single in item.each)
    return f"{text}{_margin_text(item)}: {item.verdict}"


def _margin_text(item: Evidence) -> str:
    """The margin of "as good as", as text."""
    if "=" not in item.sign:
        return ""
    if item.margin is None:
        unsaid = "; no margin was set before the runs, so that “as good as” cannot be shown"
        return unsaid if item.verdict == OPEN else ""
    return f"; margin {item.margin:.{item.digits}f}, set before the runs"
