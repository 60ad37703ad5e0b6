"""Summaries of many studies' claims, from their reports' JSON: tables in a README.

A summary is computed from the reports only. In a Markdown file, its tables are between comments
that name the reports:

    <!-- claims of kadar-* -->
    <!-- counts of kadar-* as Kádár et al. 2018; liwe-* as LIWE -->
    <!-- end -->
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from polyglance.errors import PolyglanceError
from polyglance.storage.files import atomic, read_json
from polyglance.studies.findings.claims import (
    FAILS,
    HOLDS,
    OPEN,
    PARTLY,
    SAME_SIZE,
    UNTESTED,
    Evidence,
    Verdict,
)
from polyglance.studies.format.schema import Study
from polyglance.studies.report.earlier import earlier
from polyglance.studies.report.regenerate import read_document, read_verdicts, read_warnings
from polyglance.studies.report.render import LOOKS, table_line, write_report
from polyglance.studies.report.tables import NONE, change

FEW = 4
"""Largest number of a claim's comparisons that are shown individually."""
BLOCK = re.compile(r"(<!-- (claims|counts) of (.+?) -->\n).*?(<!-- end -->)", re.S)


@dataclass(frozen=True)
class ReportClaims:
    """A report's claims, and the labels of its rows."""

    name: str
    verdicts: list[Verdict]
    labels: Mapping[str, str]
    draft: bool
    earlier: bool = False
    """Whether some of its runs are not those of the study today."""
    warned: bool = False
    """Whether some of its runs did not converge."""

    @property
    def marks(self) -> list[str]:
        """What a reader should know before the claims."""
        marks = {"draft": self.draft, "earlier settings": self.earlier, "⚠": self.warned}
        return [mark for mark, holds in marks.items() if holds]

    @classmethod
    def of(cls, name: str, value: dict[str, Any]) -> "ReportClaims":
        """From a report's JSON."""
        study = Study.model_validate(value["definition"])
        return cls(
            name,
            read_verdicts(value),
            study.labels,
            bool(value.get("draft")),
            bool(earlier(value)),
            bool(read_warnings(value)),
        )


def read_claims(folder: Path) -> list[ReportClaims]:
    """The claims of all reports in a folder, in the order of their names."""
    found = []
    for path in sorted(folder.glob("*.json")):
        value = read_json(path)
        if isinstance(value, dict) and {"study", "definition", "claims"} <= set(value):
            found.append(ReportClaims.of(path.stem, value))
    return found


def renew_summary(page: Path, reports: list[ReportClaims]) -> bool:
    """Update the tables of a page; whether anything changed."""
    text = page.read_text(encoding="utf-8")
    made = renewed(text, reports, str(page))
    if made != text:
        with atomic(page, "w") as handle:
            handle.write(made)
    return made != text


def renewed(text: str, reports: list[ReportClaims], where: str = "") -> str:
    """A page's text with its tables updated from reports.

    Args:
        text: Markdown with comments that name reports.
        reports: all reports.
        where: the page's name, for error messages.
    """

    def table(match: re.Match[str]) -> str:
        make = claims_table if match[2] == "claims" else counts_table
        return f"{match[1]}\n{make(reports, match[3], where)}\n{match[4]}"

    return BLOCK.sub(table, text)


def claims_table(reports: list[ReportClaims], patterns: str, where: str = "") -> str:
    """Every claim with its verdict, the difference here and in the paper, and the report.

    Args:
        reports: all reports.
        patterns: comma-separated wildcards of report names, in this order.
        where: the page's name, for error messages.
    """
    header = ["claim", "verdict", "here", "paper", "report"]
    found = {
        report.name: report
        for pattern in patterns.split(",")
        for report in _named(reports, pattern.strip(), where)
    }
    rows = [_claim_row(report, verdict) for report in found.values() for verdict in report.verdicts]
    lines = [table_line(header), "| --- " * len(header) + "|", *map(table_line, rows)]
    return "\n".join(lines) + "\n"


def counts_table(reports: list[ReportClaims], groups: str, where: str = "") -> str:
    """How many claims of each group of reports hold.

    Args:
        reports: all reports.
        groups: `PATTERN as TITLE`, separated by semicolons.
        where: the page's name, for error messages.
    """
    kinds = (HOLDS, PARTLY, OPEN, FAILS, UNTESTED)
    rows = [["claims of", "all", *kinds]]
    for group in groups.split(";"):
        pattern, _, title = group.strip().partition(" as ")
        named = _named(reports, pattern.strip(), where)
        counts = Counter(v.verdict for report in named for v in report.verdicts)
        rows.append([title or pattern, str(counts.total()), *(str(counts[kind]) for kind in kinds)])
    lines = [table_line(rows[0]), "| --- |" + " ---: |" * (len(kinds) + 1)]
    return "\n".join([*lines, *map(table_line, rows[1:])]) + "\n"


def _named(reports: list[ReportClaims], pattern: str, where: str) -> list[ReportClaims]:
    found = [report for report in reports if fnmatch(report.name, pattern)]
    if not found:
        raise PolyglanceError(f"{where}: no report matches '{pattern}'")
    return found


def _claim_row(report: ReportClaims, verdict: Verdict) -> list[str]:
    mark = LOOKS.get(verdict.verdict, ("○", ""))[0]
    shown = [item for item in verdict.evidence if item.difference is not None]
    several = len(verdict.evidence) > 1
    if len(shown) > FEW:
        here, paper = _counted(shown), _counted_papers(shown)
    else:
        here = "; ".join(_here(item, report.labels, several) for item in shown) or NONE
        paper = "; ".join(_paper(item) for item in shown) or NONE
    note = f" ({verdict.claim.note.strip()})" if verdict.claim.note else ""
    link = ", ".join([f"[{report.name}]({report.name}.md)", *report.marks])
    return [verdict.claim.text + note, f"{mark} {verdict.verdict}", here, paper, link]


def _here(item: Evidence, labels: Mapping[str, str], several: bool) -> str:
    assert item.difference is not None
    text = change(item.difference, item.digits).replace("*", "")
    if "=" in item.sign and item.margin is not None:
        text += f", margin {item.margin:.{item.digits}f}"
    if not several:
        return text
    first, second = (labels.get(name, name) for name in (item.better, item.other))
    return f"{first} {item.sign} {second}: {text} ({item.verdict})"


def _paper(item: Evidence) -> str:
    """The paper's difference, and whether ours agrees in size."""
    if item.paper is None:
        return NONE
    text = f"{item.paper:+.{item.digits}f}"
    if item.paper_columns is not None:
        return f"{text} ({item.paper_columns} of {len(item.columns)} columns)"
    return text if item.size == SAME_SIZE else f"{text}, outside the interval"


def _counted(shown: list[Evidence]) -> str:
    """For many comparisons: how many hold, and the smallest and largest difference."""
    counts = Counter(item.verdict for item in shown)
    found = sorted(item.difference.difference for item in shown if item.difference)
    digits = max(item.digits for item in shown)
    parts = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{found[0]:+.{digits}f} to {found[-1]:+.{digits}f} ({len(shown)} comparisons: {parts})"


def _counted_papers(shown: list[Evidence]) -> str:
    found = sorted(item.paper for item in shown if item.paper is not None)
    digits = max(item.digits for item in shown)
    return f"{found[0]:+.{digits}f} to {found[-1]:+.{digits}f}" if found else NONE


def regenerate_reports(folder: Path, pattern: str = "*") -> list[Path]:
    """Write reports again from their JSON, and the tables of the folder's README.md from all.

    Returns the reports' Markdown files, and README.md if its tables have changed.

    Args:
        folder: with NAME.json, and perhaps a README.md with tables.
        pattern: wildcard of the reports' names.
    """
    names = [path for path in sorted(folder.glob("*.json")) if fnmatch(path.stem, pattern)]
    if not names:
        raise PolyglanceError(f"{folder}: no report matches '{pattern}' (NAME.json)")
    written, page = [], folder / "README.md"
    # Read all before writing the first: a damaged one leaves the folder unchanged.
    for document in [read_document(path) for path in names]:
        write_report(document, folder)
        written.append(folder / f"{document.name}.md")
    if page.is_file() and renew_summary(page, read_claims(folder)):
        written.append(page)
    return written
