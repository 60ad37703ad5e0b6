"""Reading word vectors from files of any supported format."""

from collections.abc import Collection
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.text_files import read_text_vectors
from polyglance.text.vectors.word_vectors import WordVectors

SUFFIXES = (".bin", ".vec", ".vec.gz", ".txt", ".txt.gz")


def vector_file(folder: Path, code: str, field: str) -> Path:
    """The file of a language's vectors, such as de.bin.

    Args:
        folder: with the file, or the file itself.
        code: the language.
        field: the recipe's field with the folder, for messages.
    """
    if folder.is_file():
        return folder
    if not folder.is_dir():
        raise PolyglanceError(
            f"{folder}: no such folder; set {field} to one with {code}.bin or {code}.vec"
        )
    for suffix in SUFFIXES:
        if (folder / f"{code}{suffix}").is_file():
            return folder / f"{code}{suffix}"
    raise PolyglanceError(
        f"{folder}: has neither {code}.bin nor {code}.vec; add vectors of '{code}', omit "
        f"{field} to train them on captions, or exclude the language with data.languages"
    )


def read_vectors(
    path: Path,
    limit: int | None = None,
    only: Collection[str] | None = None,
    lenient: bool = False,
    show_progress: bool | None = None,
) -> WordVectors:
    """Vectors of the words of a file.

    Reads the text formats of fastText and word2vec (`.vec`) and GloVe (`.txt`), optionally gzipped,
    and fastText's `.bin`, which has a vector for any word.

    Args:
        path: the file.
        limit: read only this many words.
        only: keep only these words; of a `.bin`, all of these.
        lenient: whether to skip lines with duplicate or non-UTF-8 words; otherwise they are errors.
        show_progress: whether to show a progress bar; by default for many words.
    """
    if limit is not None and limit < 1:
        raise PolyglanceError(f"{path}: the limit is {limit} words; it must be at least 1")
    if path.suffix in (".bin", ".ftz"):
        model = SubwordVectors.open(path, show_progress)
        words = model.words[:limit] if only is None else list(dict.fromkeys(only))
        return WordVectors(words, model.vectors(words, show_progress))
    return read_text_vectors(path, limit, only, lenient, show_progress)
