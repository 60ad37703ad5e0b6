"""Pretrained vectors of a model's words; the vectors are saved as weights, the words as a file."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.storage.files import has_file, read_json, write_json

if TYPE_CHECKING:
    from polyglance.text.vectors.word_vectors import WordVectors

FILE = "vectors.json"


def vectors_of(path: str, words: Collection[str]) -> "WordVectors":
    """Vectors of those of `words` that are in the file; an error if there are none."""
    from polyglance.text.vectors.read import read_vectors

    file = Path(path).expanduser()
    if not has_file(file):
        raise PolyglanceError(
            f"{file}: no such file; set pretrained word vectors (GloVe, or fastText's .vec) with "
            "--set text.embedder.vectors=FILE"
        )
    found = read_vectors(file, only=words, lenient=True)
    if not len(found):
        raise PolyglanceError(
            f"{file}: has a vector for none of the {len(words)} words of the training captions; "
            "text.embedder.vectors must be of their languages"
        )
    return found


def save_words(vectors: "WordVectors", folder: Path) -> None:
    """Write vectors.json."""
    write_json(folder / FILE, {"size": vectors.dim, "words": vectors.words})


def load_words(folder: Path) -> "WordVectors | None":
    """The words of vectors.json, if it exists, with zeros to be replaced by the weights."""
    if not has_file(folder / FILE):
        return None
    value: Any = read_json(folder / FILE)
    words, size = (value.get(k) if isinstance(value, dict) else None for k in ("words", "size"))
    if not isinstance(words, list) or type(size) is not int or size < 1:
        raise PolyglanceError(f"{folder / FILE}: needs the fields 'words' and 'size'")
    from polyglance.text.vectors.word_vectors import WordVectors

    return WordVectors(words, np.zeros((len(words), size), np.float32))
