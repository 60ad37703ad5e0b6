"""`polyglance vectors`: train word vectors on captions or text."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.options import listed
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.text.vectors.corpus import Sentences


def vectors_command(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Dataset with the captions to train on.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Output folder for CODE.bin (any word has a vector) or CODE.vec.")
    ] = Path("vectors"),
    languages: Annotated[
        str | None, typer.Option(help="Comma-separated languages (default: all of DATA).")
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE=FILE",
            help="Additional text file with one sentence per line; can be repeated.",
        ),
    ] = None,
    lexicon: Annotated[
        Path | None, typer.Option(help="Additionally train on the synonyms of a lexicon.tsv.gz.")
    ] = None,
    split: Annotated[str, typer.Option(help="Which captions to read.")] = "train",
    format: Annotated[str, typer.Option(help="bin (with n-grams) or vec (text).")] = "bin",
    dim: Annotated[int, typer.Option(min=1, help="Dimension of a vector.")] = 300,
    epochs: Annotated[int, typer.Option(min=1, help="Number of epochs.")] = 5,
    threshold: Annotated[int, typer.Option(min=1, help="Minimum word frequency.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
) -> None:
    """Train word vectors (fastText's skip-gram with n-grams), one file per language."""
    if format not in ("bin", "vec"):
        raise PolyglanceError(f"--format {format}: expected bin or vec")
    from polyglance.core.progress import Bar
    from polyglance.text.vectors.skipgram import VectorSettings, train_vectors
    from polyglance.text.vectors.word_vectors import save_vectors

    sentences = _sentences(data, languages, text or [], lexicon, split)
    settings = VectorSettings(dim, epochs, threshold, seed)
    out.mkdir(parents=True, exist_ok=True)
    # In a terminal, the library prints a line per language, with the time left.
    terminal = sys.stderr.isatty()
    with Bar("training vectors", len(sentences), "languages", show=not terminal) as bar:
        for code, found in sentences.items():
            if not any(found):
                raise PolyglanceError(f"'{code}': there are no words to train vectors on")
            vectors = train_vectors(found, settings, show_progress=terminal)
            path = out / f"{code}.{format}"
            if format == "bin":
                vectors.save(path)
            else:
                save_vectors(path, vectors.words, vectors.vectors(vectors.words))
            bar.advance(1)
            typer.echo(f"{code}: {len(found)} sentences, {vectors.count} words → {path}")


def _sentences(
    data: str | None, languages: str | None, text: list[str], lexicon: Path | None, split: str
) -> "dict[str, Sentences]":
    from polyglance.data.load import load_dataset
    from polyglance.text.vectors.corpus import caption_sentences, text_sentences

    found: dict[str, Sentences] = {}
    if data is not None:
        dataset = load_dataset(data)
        codes = listed(languages, "--languages") if languages else dataset.split(split).languages
        found = caption_sentences(dataset, codes, split)
    for option in text:
        code, equals, path = option.partition("=")
        if not equals or not code or not path:
            raise PolyglanceError(f"--text {option}: expected CODE=FILE, such as nl=books.txt")
        found.setdefault(code, []).extend(text_sentences(Path(path), code))
    if not found:
        raise PolyglanceError("nothing to train on: pass a dataset, or --text CODE=FILE")
    if lexicon is not None:
        from polyglance.text.lexicon import Lexicon

        words = Lexicon.open(lexicon)
        for language, sentences in found.items():
            sentences.extend(words.synonyms(language))
    return found
