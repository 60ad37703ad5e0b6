"""Tables and dataset folders from an attacker, or from a bad disk."""

import gzip
import json
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from tests.hostile.cases import Case, damaged, seeds

HEAD = "path,caption,language,split\n"
ROWS = "".join(f"{i}.jpg,a dog runs,en,{split}\n" for i, split in enumerate(["train", "val"] * 4))
LINE = {"image": "a.jpg", "split": "train", "captions": {"en": {"independent": ["a dog"]}}}


def _file(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder if name.startswith("captions.jsonl") else folder / name


CSV = {
    "nothing": "",
    "a header alone": HEAD,
    "no column of captions": "path,language\na.jpg,en\n",
    "no column of paths": "caption,language\na dog,en\n",
    "a column twice": "path,path,caption\na.jpg,b.jpg,a dog\n",
    "an empty caption": f"{HEAD}a.jpg,,en,train\n",
    "an empty path": f"{HEAD},a dog,en,train\n",
    "a row that is too short": f"{HEAD}a.jpg\n",
    "a row that is too long": f"{HEAD}a.jpg,a,en,train,more,more\n",
    "an open quotation": f'{HEAD}a.jpg,"a dog,en,train\n' + "x\n" * 1000,
    "an empty split": f"{HEAD}a.jpg,a dog,en,\n",
    "zero bytes": f"{HEAD}a\0.jpg,a dog,en,train\n",
}
JSONL: dict[str, object] = {
    "a list": [],
    "a number": 1,
    "no image": {**LINE, "image": ""},
    "an image above": {**LINE, "image": "../a.jpg"},
    "an absolute image": {**LINE, "image": "/etc/passwd"},
    "a zero byte in an image": {**LINE, "image": "a\0.jpg"},
    "an image that is a number": {**LINE, "image": 7},
    "no split": {**LINE, "split": None},
    "captions as a list": {**LINE, "captions": ["a dog"]},
    "captions without kinds": {**LINE, "captions": {"en": ["a dog"]}},
    "a caption that is a number": {**LINE, "captions": {"en": {"independent": [1]}}},
    "an empty caption": {**LINE, "captions": {"en": {"independent": [" "]}}},
    "a language without a name": {**LINE, "captions": {" ": {"independent": ["a"]}}},
    "origins that do not fit": {**LINE, "origins": {"en": {"independent": []}}},
}
LINES = {
    "half a surrogate pair": b'{"image": "\\ud800", "split": "train", "captions": {}}',
    "a key twice": b'{"image": "a", "image": "b", "split": "train", "captions": {}}',
    "nested deep": b"[" * 100_000,
    "not JSON": b"{",
    "not UTF-8": b'{"image": "\xff"}',
    "nothing": b"",
}


@cache
def _parquet() -> bytes:
    import io

    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    columns = {"path": ["a.jpg", "b.jpg"], "caption": ["a dog", "a cat"], "language": ["en"] * 2}
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _certain() -> Iterator[Case]:
    for name, text in CSV.items():
        yield Case(f"CSV: {name}", partial(_file, name="t.csv", data=text.encode()))
    yield Case("CSV: not UTF-8", partial(_file, name="t.csv", data=HEAD.encode() + b"\xff,\xff\n"))
    for name, value in JSONL.items():
        text = json.dumps(value).encode() + b"\n"
        yield Case(f"JSONL: {name}", partial(_file, name="captions.jsonl", data=text))
    for name, data in LINES.items():
        yield Case(f"JSONL: {name}", partial(_file, name="captions.jsonl", data=data))
    packed = gzip.compress(json.dumps(LINE).encode())
    blank = gzip.compress(b"\n" * 30_000_000)
    for name, data in {
        "cut": packed[:-9],
        "no gzip": b"plain",
        "30 MB of blank lines": blank,
        "one line of 100 MB": gzip.compress(b" " * 100_000_000),
    }.items():
        yield Case(f"gzip: {name}", partial(_file, name="captions.jsonl.gz", data=data))
    for name, data in {"nothing": b"", "text": b"path,caption\n", "its ends": b"PAR1PAR1"}.items():
        yield Case(f"Parquet: {name}", partial(_file, name="t.parquet", data=data))


def table_cases(count: int) -> Iterator[Case]:
    """The certain cases, and `count` of random damage to every form."""
    yield from _certain()
    line = json.dumps(LINE).encode() + b"\n"
    forms = {"t.csv": (HEAD + ROWS).encode(), "captions.jsonl": line * 4, "t.parquet": _parquet()}
    forms["captions.jsonl.gz"] = gzip.compress(line * 4, mtime=0)
    names = list(forms)
    for number, generator in enumerate(seeds(count)):
        name = names[number % len(names)]
        data = damaged(forms[name], generator)
        yield Case(f"damaged {name} {number}", partial(_file, name=name, data=data), None)
