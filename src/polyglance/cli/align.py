"""`polyglance align`: learn a map between the word vectors of two languages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.cli.options import naming_options, reject_unused_options
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    import numpy as np

    from polyglance.alignment import Precision, RcslsStep
    from polyglance.text.vectors.word_vectors import WordVectors

RCSLS_OPTIONS = ("iterations", "rate", "spectral")
NEIGHBOUR_OPTIONS = ("neighbours", "k")


def align_command(
    context: typer.Context,
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="Vectors to map: .vec, .txt or .bin.")
    ],
    target: Annotated[Path, typer.Argument(metavar="TGT", help="Vectors to map them to.")],
    dictionary: Annotated[
        str,
        typer.Option(
            help="File of word pairs, lexicon:fr-de, identical, captions:DATA or text-only:DATA."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Output file for the matrix (.safetensors).")],
    method: Annotated[str, typer.Option(help="svd (a rotation) or rcsls.")] = "rcsls",
    languages: Annotated[
        str | None,
        typer.Option(help="Languages of SRC and TGT, such as fr-de; required for captions:DATA."),
    ] = None,
    lexicon: Annotated[
        Path | None,
        typer.Option(envvar="POLYGLANCE_LEXICON", help="lexicon.tsv.gz, for lexicon:…"),
    ] = None,
    words: Annotated[
        int, typer.Option(min=1, help="Number of most frequent words to read.")
    ] = 200_000,
    neighbours: Annotated[
        int, typer.Option(min=1, help="Number of most frequent words to search for neighbours.")
    ] = 50_000,
    k: Annotated[int, typer.Option(min=1, help="Number of neighbours in RCSLS and CSLS.")] = 10,
    iterations: Annotated[int, typer.Option(min=0, help="Number of RCSLS iterations.")] = 10,
    rate: Annotated[float, typer.Option(help="Initial learning rate of RCSLS.")] = 25.0,
    spectral: Annotated[bool, typer.Option(help="Limit singular values to 1.")] = False,
    centre: Annotated[bool, typer.Option(help="Subtract each language's mean vector.")] = False,
    train_words: Annotated[
        int, typer.Option(min=1, help="Number of source words of the dictionary to learn from.")
    ] = 5000,
    test_words: Annotated[
        int,
        typer.Option(min=0, help="Number of further source words to evaluate on; at most a fifth."),
    ] = 1500,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Draw the words to evaluate on at random (default: the least frequent)."
        ),
    ] = None,
    translations: Annotated[
        int | None,
        typer.Option(min=1, help="Number of pairs per source word to learn from (default: all)."),
    ] = None,
    evaluate: Annotated[
        bool, typer.Option(help="Report translation precision before and after.")
    ] = False,
    mapped: Annotated[
        Path | None, typer.Option(help="Also write SRC's mapped vectors to this .vec file.")
    ] = None,
    lenient: Annotated[
        bool, typer.Option(help="Skip duplicate words and words that are not UTF-8.")
    ] = False,
) -> None:
    """Learn a linear map from the word vectors SRC to TGT with a dictionary."""
    _check(out, method, rate)
    reject_unused_options(context, RCSLS_OPTIONS, "--method rcsls", method == "rcsls")
    reject_unused_options(context, ["test_words"], "--evaluate", evaluate)
    used = method == "rcsls" or evaluate
    reject_unused_options(context, NEIGHBOUR_OPTIONS, "--method rcsls or --evaluate", used)
    from polyglance.alignment import AlignmentOptions, learn_alignment
    from polyglance.alignment.learn import dictionary_pairs
    from polyglance.text.vectors.read import read_vectors
    from polyglance.text.vectors.word_vectors import save_vectors

    from_, to = (read_vectors(path, words, lenient=lenient) for path in (source, target))
    _describe(source, from_)
    _describe(target, to)
    options = AlignmentOptions(
        method=method,
        centre=centre,
        neighbours=neighbours,
        k=k,
        iterations=iterations,
        rate=rate,
        spectral=spectral,
    )
    with naming_options():
        pairs = dictionary_pairs(dictionary, from_, to, languages, lexicon)
        found = learn_alignment(
            from_,
            to,
            pairs,
            options,
            train_words=train_words,
            test_words=test_words if evaluate else None,
            seed=seed,
            translations=translations,
        )
    typer.echo(
        f"dictionary: {len(pairs)} pairs; {_sizes(found.train)} to learn from{_held(found.test)}"
    )
    for step in found.steps:
        typer.echo(_line(step))
    if found.precision:
        _print(found.precision)
    alignment = found.alignment
    alignment.facts.update(source=source.name, target=target.name, dictionary=dictionary)
    if mapped is not None:
        save_vectors(mapped, from_.words, alignment.apply(from_.matrix))
        typer.echo(f"mapped vectors: {mapped}")
    alignment.save(out)
    typer.echo(f"matrix: {out}")


def _check(out: Path, method: str, rate: float) -> None:
    if out.suffix != ".safetensors" or out.is_dir():
        raise PolyglanceError(f"--out {out}: must end in .safetensors")
    if method not in ("svd", "rcsls"):
        raise PolyglanceError(f"--method {method}: expected svd or rcsls")
    if not 0 < rate < float("inf"):
        raise PolyglanceError(f"--rate {rate}: expected a number above 0")


def _describe(path: Path, vectors: "WordVectors") -> None:
    passed = f", {vectors.skipped} lines skipped" if vectors.skipped else ""
    typer.echo(f"{path.name}: {len(vectors)} words, dimension {vectors.dim}{passed}")


def _sizes(rows: "np.ndarray") -> str:
    return f"{len(rows)} pairs of {len(set(rows[:, 0].tolist()))} words"


def _held(test: "np.ndarray") -> str:
    return f", {_sizes(test)} held out" if len(test) else ""


def _line(step: "RcslsStep") -> str:
    state = "" if step.kept else "  rose: reverted, rate halved"
    return f"iteration {step.iteration:3}  f {step.objective:9.5f}  rate {step.rate:g}{state}"


def _print(found: "dict[str, dict[str, Precision]]") -> None:
    from rich.console import Console

    from polyglance.evaluation.reports.tables import Rows

    first = next(iter(found.values()))["nn"]
    header = ["map", *(f"{way} P@{cut}" for way in ("NN", "CSLS") for cut in first.at)]
    rows = [
        [name, *(f"{100 * value:.1f}" for score in scores.values() for value in score.at.values())]
        for name, scores in found.items()
    ]
    title = f"Translation of {first.words} held-out words, %"
    table = Rows(title, header, rows, ["Candidates are all words of the target."], frozenset())
    console = Console()
    console.width = max(console.width, Console(width=1000).measure(table.rich()).maximum)
    console.print(table.rich())
