"""Existing translations: parallel texts in a file, or in a dataset's captions."""

import csv
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from polyglance.data import Dataset, load_dataset
from polyglance.data.dataset import dataset_fingerprint
from polyglance.errors import PolyglanceError
from polyglance.storage.digest import sampled_digest
from polyglance.storage.files import read_jsonl, read_lines
from polyglance.translation.base import Translator, required_path, translators

Row = dict[str, str]
"""A sentence in several languages, by code."""


class ParallelTexts(Translator):
    """Looks texts up among parallel sentences.

    Args:
        name: for messages and reports.
        identity: changes with the content, as the key of stored translations.
        rows: language → sentence, for each group of translations.
    """

    keeps = False

    def __init__(self, name: str, identity: str, rows: Iterable[Row]) -> None:
        self.name, self._identity = name, identity
        self._rows: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            for code, text in row.items():
                self._rows.setdefault((code, _key(text)), []).append(row)

    @property
    def identity(self) -> str:
        return self._identity

    def translate(self, texts: list[str], source: str, target: str) -> list[str | None]:
        """The translation in the first row with the text and the target language."""
        found = []
        for text in texts:
            rows = self._rows.get((source, _key(text)), [])
            found.append(next((row[target] for row in rows if target in row), None))
        return found


def _key(text: str) -> str:
    return " ".join(text.split())


@translators.register("file")
def file_translator(argument: str) -> ParallelTexts:
    """`file:PATH`: one sentence per line in several languages, TSV or JSON lines, `.gz` or not.

    The first line of a TSV has the languages of its columns; a JSON line is an object
    `{"en": "A dog.", "de": "Ein Hund."}`. Cells may be empty.
    """
    path = required_path(argument, "file", "a file of translations")
    inner = Path(path.stem) if path.suffix == ".gz" else path
    read = {".jsonl": _json_rows, ".tsv": _tsv_rows}.get(inner.suffix.lower())
    if read is None:
        raise PolyglanceError(
            f"{path}: translations must be a .tsv or .jsonl file, optionally with .gz"
        )
    rows = list(read(path))
    if not rows:
        raise PolyglanceError(f"{path}: contains no translations")
    return ParallelTexts(f"file:{path.name}", f"file:{sampled_digest(path)[:16]}", rows)


def _json_rows(path: Path) -> Iterator[Row]:
    for number, value in read_jsonl(path):
        strings = isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
        if not strings:
            raise PolyglanceError(
                f"{path}, line {number}: expected an object of texts by language, such as "
                f"{json.dumps({'en': 'A dog.', 'de': 'Ein Hund.'})}"
            )
        yield {code: text for code, text in value.items() if text.strip()}


def _tsv_rows(path: Path) -> Iterator[Row]:
    codes: list[str] = []
    for number, line in read_lines(path):
        cells = [cell.strip() for cell in next(csv.reader([line], "excel-tab"), [])]
        if number == 1:
            codes = cells
            if len(set(codes)) < 2 or not all(codes) or len(set(codes)) < len(codes):
                raise PolyglanceError(
                    f"{path}, line 1: must name the language of each column, such as en and de"
                )
        elif len(cells) > len(codes):
            raise PolyglanceError(
                f"{path}, line {number}: {len(cells)} cells for {len(codes)} languages"
            )
        else:
            yield {code: cell for code, cell in zip(codes, cells, strict=False) if cell}


@translators.register("captions")
def caption_translator(argument: str) -> ParallelTexts:
    """`captions:DATASET`: translations among a dataset's own captions.

    A query that is an image's caption of kind `translation` is replaced by the image's
    `translation` in the other language. Captions written by 'polyglance data translate' and their
    originals translate each other, too. Independent captions are not used, since they would show
    the model a second description of the image. With `captions:DATASET,machine=es+uk`, the machine
    captions of these languages are translations of the captions of kind `translation`, in order.
    """
    named, _, machine = argument.partition(",machine=")
    if not named:
        raise PolyglanceError("translator 'captions' needs a dataset: write captions:DATASET")
    dataset = load_dataset(named)
    codes = [code.strip() for code in machine.split("+") if code.strip()]
    suffix = f",machine={'+'.join(codes)}" if codes else ""
    identity = f"captions:{dataset_fingerprint(dataset)[:16]}{suffix}"
    rows = _caption_rows(dataset, codes)
    translator = ParallelTexts(f"captions:{dataset.name}{suffix}", identity, rows)
    if not translator._rows:
        raise PolyglanceError(
            f"{dataset.label}: no image has captions of kind 'translation' in two languages"
        )
    return translator


def _caption_rows(dataset: Dataset, machine: Collection[str]) -> Iterator[Row]:
    """Each image's first translations, second ones, and so on; then machine translations."""
    for entry in dataset.images:
        texts = {
            code: kinds.get("translation") or (kinds.get("machine", []) if code in machine else [])
            for code, kinds in entry.captions.items()
        }
        for place in range(max(map(len, texts.values()), default=0)):
            row = {code: found[place] for code, found in texts.items() if place < len(found)}
            if len(row) > 1:
                yield row
    for entry in dataset.images:
        for code, kinds in entry.origins.items():
            for kind, origins in kinds.items():
                for text, origin in zip(entry.captions[code][kind], origins, strict=True):
                    if origin.get("from") and origin.get("of"):
                        yield {code: text, origin["from"]: origin["of"]}
