"""The identity of a dataset's content."""

from collections.abc import Iterator

from polyglance.data.dataset import Dataset
from polyglance.digest import Part, content_digest, file_chunks, json_digest
from polyglance.files import refuse_pipe


def dataset_fingerprint(dataset: Dataset) -> str:
    """Of the images' names, splits and captions, in their order, and of text-only captions."""
    return content_digest(_parts(dataset))


def _parts(dataset: Dataset) -> Iterator[Part]:
    for entry in dataset.images:
        yield json_digest([entry.image, entry.split, entry.captions])
    if dataset.root is not None:
        for path in sorted(dataset.root.glob("text-only.jsonl*")):
            refuse_pipe(path)
            yield from file_chunks(path)
