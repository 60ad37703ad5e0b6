"""Caption tuples without an image: `text-only.jsonl.gz` beside a dataset's captions."""

from collections.abc import Collection, Iterator

from polyglance.data.dataset import Captions, CaptionTable, Dataset, check_captions
from polyglance.errors import PolyglanceError
from polyglance.files import has_file, read_jsonl

FILE = "text-only.jsonl.gz"


def text_only_captions(dataset: Dataset, languages: Collection[str], first: int) -> CaptionTable:
    """Captions of the text-only tuples.

    Args:
        dataset: the dataset whose folder has the file.
        languages: the languages to take.
        first: number of the first tuple in `CaptionTable.image`; the i-th has `first` + i.
    """
    path = (dataset.root / FILE) if dataset.root is not None else None
    if path is None or not has_file(path):
        raise PolyglanceError(f"{dataset.name}: there is no {FILE}; set tasks.text_only=false")
    wanted = set(languages)

    def tuples() -> Iterator[tuple[int, Captions]]:
        for index, (line, value) in enumerate(read_jsonl(path), first):
            captions = value.get("captions") if isinstance(value, dict) else None
            found = check_captions(captions, f"{path}, line {line}")
            yield index, {code: kinds for code, kinds in found.items() if code in wanted}

    return CaptionTable.collect(tuples())
