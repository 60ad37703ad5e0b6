"""Captions of a library's images, from datasets among its folders."""

import os
from collections.abc import Iterable
from pathlib import Path

from polyglance.data import load_dataset
from polyglance.library.record import Caption


def captions_of(folders: Iterable[str]) -> dict[str, tuple[Caption, ...]]:
    """Absolute path of an image → its captions, for folders with a `captions.jsonl`."""
    found: dict[str, tuple[Caption, ...]] = {}
    for folder in folders:
        if not any((Path(folder) / f"captions.jsonl{end}").is_file() for end in ("", ".gz")):
            continue
        dataset = load_dataset(folder)
        for path, entry in zip(dataset.paths(), dataset.images, strict=True):
            texts = [
                Caption(language, text)
                for language, kinds in entry.captions.items()
                for captions in kinds.values()
                for text in captions
            ]
            found[os.path.abspath(path)] = tuple(dict.fromkeys(texts))
    return found
