"""A study's report: Markdown, a self-contained HTML page, and JSON."""

from polyglance.studies.report.document import Document, make_document
from polyglance.studies.report.render import write_report

__all__ = ["Document", "make_document", "write_report"]
