"""What came of the claims of many studies, from their reports' JSON: tables of a README.

A summary is made of what reports say, and so never says more. In a Markdown file the tables stand
between comments, which name the reports:

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
from polyglance.studies.report.again import read_verdicts
from polyglance.studies.report.render import LOOKS, table_line
from polyglance.studies.report.tables import NONE, change

FEW = 4
"""Comparisons of a claim that are shown one by one."""
BLOCK = re.compile(r"(<!-- (claims|counts) of (.+?) -->\n).*?(<!-- end -->)", re.S)


@dataclass(frozen=True)
class Told:
    """A report's claims, and what it calls its rows."""

    name: str
    verdicts: list[Verdict]
    labels: Mapping[str, str]
    draft: bool

    @classmethod
    def of(cls, name: str, value: dict[str, Any]) -> "Told":
        """From a report's JSON."""
        study = Study.model_validate(value["definition"])
        return cls(name, read_verdicts(value), study.labels, bool(value.get("draft")))


def read_told(folder: Path) -> list[Told]:
    """The claims of all reports in a folder, in the order of their names."""
    found = []
    for path in sorted(folder.glob("*.json")):
        value = read_json(path)
        if isinstance(value, dict) and {"study", "definition", "claims"} <= set(value):
            found.append(Told.of(path.stem, value))
    return found


def renew_summary(page: Path, told: list[Told]) -> bool:
    """Make the tables of a page anew; whether something changed."""
    text = page.read_text(encoding="utf-8")
    made = renewed(text, told, str(page))
    if made != text:
        with atomic(page, "w") as handle:
            handle.write(made)
    return made != text


def renewed(text: str, told: list[Told], where: str = "") -> str:
    """A page's text with its tables made from reports.

    Args:
        text: Markdown with comments that name reports.
        told: all reports.
        where: the page's name, for messages.
    """

    def table(match: re.Match[str]) -> str:
        make = claims_table if match[2] == "claims" else counts_table
        return f"{match[1]}\n{make(told, match[3], where)}\n{match[4]}"

    return BLOCK.sub(table, text)


def claims_table(told: list[Told], patterns: str, where: str = "") -> str:
    """Every claim with its verdict, the difference here and in the paper, and the report.

    Args:
        told: all reports.
        patterns: names of reports with wildcards, commas between; in this order.
        where: the page's name, for messages.
    """
    header = ["claim", "verdict", "here", "paper", "report"]
    found = {
        report.name: report
        for pattern in patterns.split(",")
        for report in _named(told, pattern.strip(), where)
    }
    rows = [_claim_row(report, verdict) for report in found.values() for verdict in report.verdicts]
    lines = [table_line(header), "| --- " * len(header) + "|", *map(table_line, rows)]
    return "\n".join(lines) + "\n"


def counts_table(told: list[Told], groups: str, where: str = "") -> str:
    """How many claims of each group of reports hold.

    Args:
        told: all reports.
        groups: `PATTERN as TITLE`, semicolons between.
        where: the page's name, for messages.
    """
    kinds = (HOLDS, PARTLY, OPEN, FAILS, UNTESTED)
    rows = [["claims of", "all", *kinds]]
    for group in groups.split(";"):
        pattern, _, title = group.strip().partition(" as ")
        reports = _named(told, pattern.strip(), where)
        counts = Counter(v.verdict for report in reports for v in report.verdicts)
        rows.append([title or pattern, str(counts.total()), *(str(counts[kind]) for kind in kinds)])
    lines = [table_line(rows[0]), "| --- |" + " ---: |" * (len(kinds) + 1)]
    return "\n".join([*lines, *map(table_line, rows[1:])]) + "\n"


def _named(told: list[Told], pattern: str, where: str) -> list[Told]:
    found = [report for report in told if fnmatch(report.name, pattern)]
    if not found:
        raise PolyglanceError(f"{where}: no report is called like '{pattern}'")
    return found


def _claim_row(report: Told, verdict: Verdict) -> list[str]:
    mark = LOOKS.get(verdict.verdict, ("○", ""))[0]
    shown = [item for item in verdict.evidence if item.difference is not None]
    several = len(verdict.evidence) > 1
    if len(shown) > FEW:
        here, paper = _counted(shown), _counted_papers(shown)
    else:
        here = "; ".join(_here(item, report.labels, several) for item in shown) or NONE
        paper = "; ".join(_paper(item) for item in shown) or NONE
    note = f" ({verdict.claim.note.strip()})" if verdict.claim.note else ""
    link = f"[{report.name}]({report.name}.md)" + (", draft" if report.draft else "")
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
    """The paper's difference, and whether ours is of its size."""
    if item.paper is None:
        return NONE
    text = f"{item.paper:+.{item.digits}f}"
    if item.paper_columns is not None:
        return f"{text} ({item.paper_columns} of {len(item.columns)} columns)"
    return text if item.size == SAME_SIZE else f"{text}, outside the interval"


def _counted(shown: list[Evidence]) -> str:
    """Of many comparisons how many hold, and the least and greatest difference."""
    counts = Counter(item.verdict for item in shown)
    found = sorted(item.difference.difference for item in shown if item.difference)
    digits = max(item.digits for item in shown)
    parts = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{found[0]:+.{digits}f} to {found[-1]:+.{digits}f} ({len(shown)} comparisons: {parts})"


def _counted_papers(shown: list[Evidence]) -> str:
    found = sorted(item.paper for item in shown if item.paper is not None)
    digits = max(item.digits for item in shown)
    return f"{found[0]:+.{digits}f} to {found[-1]:+.{digits}f}" if found else NONE
