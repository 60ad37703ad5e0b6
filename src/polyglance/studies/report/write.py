"""Writing a report's files, each atomically."""

from pathlib import Path

from polyglance.files import atomic, write_json
from polyglance.studies.report.document import Document
from polyglance.studies.report.html import to_html
from polyglance.studies.report.markdown import to_markdown


def write_report(document: Document, folder: Path) -> list[Path]:
    """NAME.md, NAME.html and NAME.json, and the pictures that the Markdown shows."""
    name = document.name
    for picture in document.pictures:
        with atomic(folder / f"{name}.{picture.name}.svg") as handle:
            handle.write(picture.svg)
    write_json(folder / f"{name}.json", document.numbers)
    texts = {"md": to_markdown(document), "html": to_html(document)}
    for suffix, text in texts.items():
        with atomic(folder / f"{name}.{suffix}", "w") as handle:
            handle.write(text)
    return [folder / f"{name}.{suffix}" for suffix in ("md", "html", "json")]
