"""The report as one page: style and pictures are inside, nothing is fetched."""

import base64
from html import escape

from polyglance.studies.claims import FAILS, HOLDS, PARTLY, Verdict
from polyglance.studies.report.document import Document
from polyglance.studies.report.markdown import evidence_text
from polyglance.studies.report.tables import Table

CSS = """
:root { color-scheme: light; --ink: #1f2328; --soft: #656d76; --line: #d8dee4; --tint: #f6f8fa; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  color: var(--ink); background: #fff; max-width: 74rem; margin: 0 auto;
  padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .8rem; }
.paper { color: var(--soft); margin: 0 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 1rem 0;
  padding: .9rem 1.1rem; background: var(--tint); border-radius: 8px; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .34rem .7rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid var(--ink); font-weight: 600; }
thead tr.groups th { border-bottom: 1px solid var(--line); text-align: center; }
tr.section th { background: var(--tint); text-align: left; font-weight: 600; }
td.paper { color: var(--soft); }
td.none { color: #9aa1a8; } td.failed { color: #b42318; }
td.better { color: #116329; } td.worse { color: #b42318; }
tr.chance td { color: var(--soft); font-style: italic; }
tbody tr:hover td { background: #fbfcfd; }
.claim { border-left: 4px solid #9aa1a8; padding: .5rem .9rem; margin: .7rem 0;
  background: var(--tint); border-radius: 0 8px 8px 0; }
.claim.holds { border-color: #2da44e; } .claim.fails { border-color: #cf222e; }
.claim.partly { border-color: #bf8700; }
.claim b { margin-right: .5rem; }
.badge { font-size: .78rem; padding: .12rem .55rem; border-radius: 99px; color: #fff;
  background: #6e7781; white-space: nowrap; }
.holds .badge { background: #2da44e; } .fails .badge { background: #cf222e; }
.partly .badge { background: #bf8700; }
.claim ul { margin: .35rem 0 0; padding-left: 1.1rem; font-size: .88rem; color: #424a53; }
figure { margin: 1.6rem 0; text-align: center; } figure img { max-width: 100%; height: auto; }
figcaption, .note { font-size: .86rem; color: var(--soft); }
details summary { cursor: pointer; font-weight: 600; margin: 1.6rem 0 .6rem; }
code { font: .88em ui-monospace, SFMono-Regular, Menlo, monospace; }
@media print { body { max-width: none; padding: 0; } .scroll { overflow: visible; } }
"""

CLASSES = {HOLDS: "holds", FAILS: "fails", PARTLY: "partly"}


def to_html(document: Document) -> str:
    """The whole page."""
    body = [f"<h1>{escape(document.title)}</h1>", f'<p class="paper">{escape(document.paper)}</p>']
    body += [f"<p>{escape(document.note)}</p>"] if document.note else []
    body.append(_about(document.about))
    if document.verdicts:
        body += ["<h2>Claims</h2>", *(_claim(v, document.labels) for v in document.verdicts)]
    for table in document.tables:
        body += [f"<h2>{escape(table.title)}</h2>", table_html(table)]
        body += [f'<p class="note">{escape(note)}</p>' for note in table.notes]
    if document.failures:
        items = (f"<li>{escape(label)}: {escape(why)}</li>" for label, why in document.failures)
        body.append(f"<h2>Failed runs</h2><ul>{''.join(items)}</ul>")
    for picture in document.pictures:
        data = base64.b64encode(picture.svg).decode()
        image = f'<img alt="{escape(picture.caption)}" src="data:image/svg+xml;base64,{data}">'
        body.append(f"<figure>{image}<figcaption>{escape(picture.caption)}</figcaption></figure>")
    if document.notes:
        body += ["<h2>Method</h2>", *(f"<p>{escape(note)}</p>" for note in document.notes)]
    summary = f"<summary>Runs ({len(document.runs.rows)})</summary>"
    body.append(f"<details>{summary}{table_html(document.runs)}</details>")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(document.title)}</title><style>{CSS}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def table_html(table: Table) -> str:
    """A table with grouped headings; significant differences are coloured."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    head, rows = f"<tr>{head}</tr>", []
    if table.groups:
        groups = "".join(f'<th colspan="{span}">{escape(g)}</th>' for g, span in table.groups)
        head = f'<tr class="groups">{groups}</tr>{head}'
    for i, row in enumerate(table.rows):
        if table.sections.get(i):
            title = escape(table.sections[i])
            rows.append(f'<tr class="section"><th colspan="{len(row)}">{title}</th></tr>')
        cells = "".join(
            f'<td class="{_kind(cell, name, place in table.lower)}">{escape(cell)}</td>'
            for place, (cell, name) in enumerate(zip(row, table.header, strict=True))
        )
        rows.append(f'<tr class="{"chance" if row[0] == "chance" else ""}">{cells}</tr>')
    body = "".join(rows)
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _kind(cell: str, column: str, lower: bool) -> str:
    if cell in ("–", "failed"):
        return "none" if cell == "–" else "failed"
    if column == "paper":
        return "paper"
    if "*" in cell and cell[:1] in "+-":
        return "better" if (cell[0] == "-") == lower else "worse"
    return ""


def _about(facts: list[tuple[str, str]]) -> str:
    items = []
    for name, value in facts:
        text = f"<code>{escape(value)}</code>" if name == "command" else escape(value)
        items.append(f"<dt>{escape(name)}</dt><dd>{text}</dd>")
    return f"<dl>{''.join(items)}</dl>"


def _claim(verdict: Verdict, labels: dict[str, str]) -> str:
    kind = CLASSES.get(verdict.verdict, "")
    items = "".join(f"<li>{escape(evidence_text(item, labels))}</li>" for item in verdict.evidence)
    badge = f'<span class="badge">{escape(verdict.verdict)}</span>'
    title = f"<b>{escape(verdict.claim.text)}</b>{badge}"
    return f'<div class="claim {kind}">{title}<ul>{items}</ul></div>'
