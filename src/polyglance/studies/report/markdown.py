"""The report in Markdown."""

from polyglance.studies.claims import FAILS, HOLDS, Evidence, Verdict, verdict_of
from polyglance.studies.report.document import Document
from polyglance.studies.report.tables import Table, change

MOST = 8
"""Comparisons of a claim that are told one by one."""
MARKS = {"holds": "✔", "does not hold": "✘", "holds in part": "◐"}


def to_markdown(document: Document) -> str:
    """The whole report; pictures are files beside it."""
    parts = [f"# {document.title}", f"{document.paper}."]
    parts += [document.note] if document.note else []
    parts.append("\n".join(f"- {name}: {_code(name, value)}" for name, value in document.about))
    if document.verdicts:
        parts.append("## Claims")
        parts += [_claim(verdict, document.labels) for verdict in document.verdicts]
    for table in document.tables:
        parts += [f"## {table.title}", table_markdown(table), *table.notes]
    if document.failures:
        parts.append("## Failed runs")
        parts.append("\n".join(f"- {label}: {reason}" for label, reason in document.failures))
    for picture in document.pictures:
        parts.append(f"![{picture.caption}]({document.name}.{picture.name}.svg)")
    parts += ["## Method", *document.notes] if document.notes else []
    runs = table_markdown(document.runs)
    parts.append(
        f"<details><summary>Runs ({len(document.runs.rows)})</summary>\n\n{runs}\n\n</details>"
    )
    return "\n\n".join(parts) + "\n"


def table_markdown(table: Table) -> str:
    """A table; headings of groups are put before those of their columns."""
    names = [name for name, span in table.groups for _ in range(span)] or [""] * len(table.header)
    header = [f"{group} {name}".strip() for group, name in zip(names, table.header, strict=True)]
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)]
    for i, row in enumerate(table.rows):
        if table.sections.get(i):
            lines.append([f"**{table.sections[i]}**"] + [""] * (len(header) - 1))
        lines.append(row)
    return "\n".join("| " + " | ".join(_escape(cell) for cell in line) + " |" for line in lines)


def evidence_text(item: Evidence, labels: dict[str, str]) -> str:
    """One comparison in words."""
    first, second = (labels.get(name, name) for name in (item.better, item.other))
    name, digits = f"{first} {item.sign} {second}", item.digits
    if item.difference is None:
        return f"{name}: not tested, for lack of results"
    test = item.difference
    where = item.columns[0] if len(item.columns) == 1 else f"mean of {len(item.columns)} {item.of}"
    text = f"{name}: {change(test, digits)}, p = {test.p:.3f}, {where}"
    if item.paper is not None:
        text += f"; in the paper {item.paper:+.{digits}f}"
    if item.each:
        text += f"; {_each(item)}"
    if "=" in item.sign and item.verdict == "no significant difference":
        text += "; no difference agrees with the claim"
    return f"{text}: {item.verdict}"


def _each(item: Evidence) -> str:
    """The single comparisons, counted where they are many."""
    if len(item.each) <= MOST:
        return ", ".join(f"{name} {change(test, item.digits)}" for name, test in item.each)
    verdicts = [verdict_of(test, item.sign) for _, test in item.each]
    return (
        f"significant that way in {verdicts.count(HOLDS)} of {len(verdicts)}, "
        f"the other way in {verdicts.count(FAILS)}"
    )


def _claim(verdict: Verdict, labels: dict[str, str]) -> str:
    mark = MARKS.get(verdict.verdict, "○")
    lines = [f"- {mark} **{verdict.claim.text}: {verdict.verdict}.**"]
    lines += [f"  - {evidence_text(item, labels)}" for item in verdict.evidence]
    return "\n".join(lines)


def _code(name: str, value: str) -> str:
    return f"`{value}`" if name == "command" else value


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
