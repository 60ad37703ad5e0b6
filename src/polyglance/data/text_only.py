"""Caption tuples without a photograph: `text-only.jsonl.gz` beside a dataset's captions."""

from collections.abc import Collection

import numpy as np

from polyglance.data.dataset import CaptionTable, Dataset, check_captions
from polyglance.errors import PolyglanceError
from polyglance.files import read_jsonl

FILE = "text-only.jsonl.gz"


def text_only_captions(dataset: Dataset, languages: Collection[str], first: int) -> CaptionTable:
    """Captions of the tuples in the given languages; tuple i has `photo` number `first` + i."""
    path = (dataset.root / FILE) if dataset.root is not None else None
    if path is None or not path.is_file():
        raise PolyglanceError(f"{dataset.name}: there is no {FILE}; set sampling.text_only=false")
    table = CaptionTable([], np.empty(0, np.int64), [], [])
    photo: list[int] = []
    wanted = set(languages)
    for index, (line, value) in enumerate(read_jsonl(path)):
        where = f"{path}, line {line}"
        captions = value.get("captions") if isinstance(value, dict) else None
        for code, kinds in check_captions(captions, where).items():
            for kind, texts in kinds.items() if code in wanted else ():
                table.texts.extend(texts)
                table.languages.extend([code] * len(texts))
                table.kinds.extend([kind] * len(texts))
                photo.extend([first + index] * len(texts))
    return CaptionTable(table.texts, np.array(photo, np.int64), table.languages, table.kinds)
