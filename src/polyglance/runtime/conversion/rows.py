"""An exported sentence encoder with other vectors of some hashed subwords."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polyglance.runtime.encoding.tables import store_table
from polyglance.runtime.manifest import FILE, Manifest, SentenceFiles, file_digests, read_manifest
from polyglance.storage.files import write_json
from polyglance.storage.staging import staged
from polyglance.storage.tensors import map_tensors, write_tensors


def export_with_rows(
    source: Path, out: Path, rows: np.ndarray, vectors: np.ndarray, languages: Sequence[str]
) -> Manifest:
    """Copy an exported sentence encoder, with other vectors in some rows of hashed subwords.

    Everything else stays as it is, also the background: images have the same embeddings.

    Args:
        source: written by `export_model`.
        out: output folder; must be new or empty.
        rows: [n], which rows.
        vectors: [n, W], their new values; stored with the bits of the source.
        languages: added to the model's languages.
    """
    manifest = read_manifest(source)
    files = manifest.towers[""]
    assert isinstance(files, SentenceFiles)
    stored = store_table("words", vectors, files.bits)
    with staged(out, replace=False) as folder:
        for path in source.iterdir():
            if path.name in (FILE, *manifest.files) or path.is_dir():
                copy = shutil.copytree if path.is_dir() else shutil.copy2
                copy(path, folder / path.name)
        tensors = dict(map_tensors(source / files.tables))
        for name, part in stored.items():
            whole = tensors[name].copy()
            whole[rows] = part
            tensors[name] = whole
        write_tensors(folder / files.tables, tensors)
        every = sorted({*manifest.languages, *languages})
        made = manifest.model_copy(
            update={"languages": every, "files": file_digests(folder), "former": []}
        )
        made = made.model_copy(update={"id": made.digest()})
        write_json(folder / FILE, made.model_dump(mode="json"))
    return made
