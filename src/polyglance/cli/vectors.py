"""`polyglance vectors`: train word vectors on captions or text."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from polyglance.cli.options import listed
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.text.vectors.train_files import Format


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
    if data is None and not text:
        raise PolyglanceError("nothing to train on: pass a dataset, or --text CODE=FILE")
    from polyglance.core.progress import Bar
    from polyglance.data.load import load_dataset
    from polyglance.text.vectors.skipgram import VectorSettings
    from polyglance.text.vectors.train_files import train_files, training_sentences

    codes = listed(languages, "--languages") if languages else None
    files = _files(text or [])
    dataset = None if data is None else load_dataset(data)
    sentences = training_sentences(dataset, codes, files, lexicon, split)
    settings, kind = VectorSettings(dim, epochs, threshold, seed), cast("Format", format)
    # In a terminal, the library prints a line per language, with the time left.
    terminal = sys.stderr.isatty()
    with Bar("training vectors", len(sentences), "languages", show=not terminal) as bar:
        for one in train_files(sentences, out, settings, kind, terminal):
            bar.advance(1)
            count = len(sentences[one.language])
            typer.echo(f"{one.language}: {count} sentences, {one.vectors.count} words → {one.path}")


def _files(options: list[str]) -> dict[str, list[Path]]:
    """Language → its files, of `--text CODE=FILE`."""
    found: dict[str, list[Path]] = {}
    for option in options:
        code, equals, path = option.partition("=")
        if not equals or not code or not path:
            raise PolyglanceError(f"--text {option}: expected CODE=FILE, such as nl=books.txt")
        found.setdefault(code, []).append(Path(path))
    return found
