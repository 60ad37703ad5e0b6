"""Trains word vectors of several languages, one file each."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from polyglance.data.dataset import Dataset
from polyglance.errors import PolyglanceError
from polyglance.text.lexicon import Lexicon
from polyglance.text.vectors.corpus import Sentences, caption_sentences, text_sentences
from polyglance.text.vectors.skipgram import TrainedVectors, VectorSettings, train_vectors
from polyglance.text.vectors.word_vectors import save_vectors

Format = Literal["bin", "vec"]


class TrainedFile(NamedTuple):
    """The vectors of a language, and the file with them."""

    language: str
    vectors: TrainedVectors
    path: Path


def training_sentences(
    dataset: Dataset | None = None,
    languages: Collection[str] | None = None,
    texts: Mapping[str, Sequence[Path]] | None = None,
    lexicon: Path | None = None,
    split: str = "train",
) -> dict[str, Sentences]:
    """The sentences of every language to train word vectors on; a language without any is an error.

    Args:
        dataset: with captions.
        languages: of the captions; all of the split by default.
        texts: language → files with one sentence per line.
        lexicon: adds the synonyms of a lexicon.tsv.gz.
        split: of the dataset.
    """
    found: dict[str, Sentences] = {}
    if dataset is not None:
        found = caption_sentences(dataset, languages or dataset.split(split).languages, split)
    for code, files in (texts or {}).items():
        for file in files:
            found.setdefault(code, []).extend(text_sentences(file, code))
    if not found:
        raise PolyglanceError("nothing to train on: there is neither a dataset nor a text")
    words = None if lexicon is None else Lexicon.open(lexicon)
    for code, sentences in found.items():
        sentences.extend(words.synonyms(code) if words is not None else ())
        if not any(sentences):
            raise PolyglanceError(f"'{code}': there are no words to train vectors on")
    return found


def train_files(
    sentences: Mapping[str, Sentences],
    out: Path,
    settings: VectorSettings | None = None,
    format: Format = "bin",
    show_progress: bool = False,
) -> Iterator[TrainedFile]:
    """Write CODE.bin or CODE.vec for every language, and yield it.

    Args:
        sentences: of every language, from `training_sentences`.
        out: folder of the files.
        settings: of the training.
        format: `bin`, with n-grams, so that any word has a vector; or `vec`, text.
        show_progress: whether to print the progress of each language.
    """
    out.mkdir(parents=True, exist_ok=True)
    for code, found in sentences.items():
        vectors, path = train_vectors(found, settings, show_progress), out / f"{code}.{format}"
        if format == "bin":
            vectors.save(path)
        else:
            save_vectors(path, vectors.words, vectors.vectors(vectors.words))
        yield TrainedFile(code, vectors, path)
