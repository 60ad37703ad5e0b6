"""Reading word vectors from files of any form."""

from collections.abc import Collection
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.text.vectors.fasttext import SubwordVectors
from polyglance.text.vectors.text_files import read_lines_of
from polyglance.text.vectors.word_vectors import WordVectors

SUFFIXES = (".bin", ".vec", ".vec.gz", ".txt", ".txt.gz")


def vector_file(folder: Path, code: str, field: str) -> Path:
    """The file of a language's vectors, such as de.bin.

    Args:
        folder: where it is looked for, or the file itself.
        code: the language.
        field: the recipe's field that names the folder, for messages.
    """
    if folder.is_file():
        return folder
    if not folder.is_dir():
        raise PolyglanceError(
            f"{folder}: no such folder; give {field} one with {code}.bin or {code}.vec"
        )
    for suffix in SUFFIXES:
        if (folder / f"{code}{suffix}").is_file():
            return folder / f"{code}{suffix}"
    raise PolyglanceError(
        f"{folder}: has neither {code}.bin nor {code}.vec; put vectors of '{code}' there, leave "
        f"out {field} to make them from captions, or the language with data.languages"
    )


def read_vectors(
    path: Path,
    limit: int | None = None,
    only: Collection[str] | None = None,
    lenient: bool = False,
    show_progress: bool | None = None,
) -> WordVectors:
    """Vectors of the words of a file.

    Reads the text formats of fastText and word2vec (`.vec`) and GloVe (`.txt`), also gzipped,
    and fastText's `.bin`, which has a vector for any word.

    Args:
        path: the file.
        limit: only its first words, this many.
        only: of those only these words; of a `.bin`, all of these.
        lenient: whether lines with a word for the second time or not in UTF-8 are passed over; else
            they are errors.
        show_progress: whether a progress bar is shown; by default for many words.
    """
    if limit is not None and limit < 1:
        raise PolyglanceError(f"{path}: asked for {limit} words; ask for at least 1")
    if path.suffix in (".bin", ".ftz"):
        model = SubwordVectors.open(path, show_progress)
        words = model.words[:limit] if only is None else list(dict.fromkeys(only))
        return WordVectors(words, model.vectors(words, show_progress))
    return read_lines_of(path, limit, only, lenient, show_progress)
