"""The identity of a dataset's content."""

import hashlib
import json
from typing import Any

from polyglance.data.dataset import Dataset
from polyglance.files import refuse_pipe


def digest(value: Any) -> str:
    """A stable hash of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def dataset_fingerprint(dataset: Dataset) -> str:
    """A hash of the images' names, splits and captions, in their order, and of more text."""
    total = hashlib.sha256()
    for entry in dataset.images:
        total.update(digest([entry.image, entry.split, entry.captions]).encode())
    if dataset.root is not None:
        for path in sorted(dataset.root.glob("text-only.jsonl*")):
            refuse_pipe(path)
            total.update(path.read_bytes())
    return total.hexdigest()
