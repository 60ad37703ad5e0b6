"""`polyglance add-language`: extend a trained model to a new language."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyglance.cli.device import DEFAULT, DeviceOption
from polyglance.cli.options import reject_unused_options, was_given
from polyglance.core.languages import is_tag
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.evaluation.ranking.metrics import Metrics
    from polyglance.transfer import Gain

PAIR_OPTIONS = ("pairs", "epochs", "lr", "resume")
"""Options of the training on images with captions."""
EPOCHS, RATE = 20, 1e-3
NOT_FOR_SUBWORDS = ("vectors", "method", "pairs", "evaluate", "split", "resume")
"""Options that have no effect on a sentence encoder."""


def add_language_command(
    context: typer.Context,
    language: Annotated[str, typer.Option(help="Tag of the new language, such as nl.")],
    out: Annotated[Path, typer.Option(help="Output folder of the new model.")],
    model: Annotated[str | None, typer.Argument(help="The trained model: a run folder.")] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="The trained model, instead of the argument MODEL, as in 'train --from'."
        ),
    ] = None,
    dictionary: Annotated[
        str,
        typer.Option(
            help="File of word pairs (new word first), lexicon, captions:DATA, text-only:DATA, "
            "or identical."
        ),
    ] = "lexicon",
    lexicon: Annotated[
        Path | None,
        typer.Option(
            envvar="POLYGLANCE_LEXICON",
            help="lexicon.tsv.gz or a folder of dictionaries, for --dictionary lexicon.",
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            help=(
                "Folder with CODE.vec or CODE.bin of the new language and the pivot, "
                "for words that the dictionary lacks. A model with fixed vectors "
                "requires those of the new language."
            )
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="Alignment method for the vectors: svd or rcsls.")
    ] = "svd",
    pivot: Annotated[
        str | None,
        typer.Option(
            help="The dictionary's other language, one that the model knows (default: en)."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Dataset with captions in the new language to train on.")
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Number of its training images to use.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of epochs (default: by the model).")
    ] = None,
    lr: Annotated[
        float | None,
        typer.Option(help="Learning rate for the new words or subwords (default: by the model)."),
    ] = None,
    evaluate: Annotated[
        str | None,
        typer.Option(help="Dataset to evaluate on (default: the held-out part of --data)."),
    ] = None,
    split: Annotated[str, typer.Option(help="Split of --evaluate.")] = "test",
    cache: Annotated[Path | None, typer.Option(help="Cache folder for features.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume a killed training on --data.")
    ] = False,
    device: DeviceOption = DEFAULT,
) -> None:
    """Add a language to a trained model; results in its other languages stay the same."""
    _check(language, method, lr)
    named = model or source
    if named is None or (model and source):
        raise PolyglanceError("pass one MODEL to add a language to")
    from polyglance.data import load_dataset
    from polyglance.transfer import PairTraining, add_language
    from polyglance.transfer.subwords import reads_all_languages

    if reads_all_languages(named):
        if given := [name for name in NOT_FOR_SUBWORDS if was_given(context, name)]:
            raise PolyglanceError(
                f"{named}: a sentence encoder is trained on pairs of texts (--dictionary, "
                f"--lexicon, --data); leave out {', '.join(f'--{name}' for name in given)}"
            )
        where = {"dictionary": dictionary, "lexicon": lexicon, "pivot": pivot}
        if data is not None and lexicon is None and not was_given(context, "dictionary"):
            where["dictionary"] = None
        captions = None if data is None else load_dataset(data, cache)
        _teach(named, language, out, where, captions, {"epochs": epochs, "lr": lr}, device)
        return
    reject_unused_options(context, PAIR_OPTIONS, "captions to train on in --data", data is not None)
    reject_unused_options(context, ["split"], "a dataset in --evaluate", evaluate is not None)
    captions = None if data is None else load_dataset(data, cache)
    found = add_language(
        named,
        language,
        out,
        {
            "dictionary": dictionary,
            "lexicon": None if lexicon is None else str(lexicon),
            "vectors": vectors,
            "method": method,
            "pivot": pivot,
        },
        None if captions is None else PairTraining(captions, pairs, epochs or EPOCHS, lr or RATE),
        None if evaluate is None else load_dataset(evaluate, cache),
        split,
        cache,
        resume,
        device,
    )
    also = "" if vectors is None else " and vectors"
    typer.echo(f"{language}: {found.words} words by {dictionary}{also}")
    others = ", ".join(code for code in found.model.languages if code != language)
    typer.echo(f"{others}: unchanged, all {found.unchanged:,} parameters are the same")
    if found.gain is not None:
        _print(found.gain, language, found.split)
    typer.echo(f"model: {out}")


def _teach(
    model: str,
    language: str,
    out: Path,
    where: Mapping[str, Any],
    captions: "Dataset | None",
    settings: Mapping[str, Any],
    device: str,
) -> None:
    """Train a sentence encoder on pairs of texts, and print what it brought."""
    from polyglance.transfer import teach_language

    given = {name: value for name, value in settings.items() if value is not None}
    found = teach_language(model, language, out, where, captions, device=device, **given)
    typer.echo(
        f"{language}: {found.pairs:,} pairs of texts; the translation is the closest of up to "
        f"1,000 for {found.before:.1f} % of them before and {found.after:.1f} % after training"
    )
    typer.echo(
        f"others: unchanged for texts of the {found.known:,} words in the model's vocabulary; "
        f"cosine similarity of other texts with their former embeddings {found.kept:.3f} in the "
        f"mean, at least {found.least:.3f}"
    )
    typer.echo(f"model: {out}")


def _check(language: str, method: str, lr: float | None) -> None:
    if not is_tag(language):
        raise PolyglanceError(f"--language {language}: expected a language tag, such as nl")
    if method not in ("svd", "rcsls"):
        raise PolyglanceError(f"--method {method}: expected svd or rcsls")
    if lr is not None and not 0 < lr < float("inf"):
        raise PolyglanceError(f"--lr {lr}: expected a number above 0")


def _print(gain: "Gain", language: str, split: str) -> None:
    from rich.console import Console

    from polyglance.evaluation.reports.tables import Rows

    named = {"before": gain.before, "dictionary": gain.start, "pairs": gain.trained}
    header = ["", *(f"{way} R@{k}" for way in ("I→T", "T→I") for k in (1, 5, 10)), "mR"]
    rows = [[name, *_cells(found)] for name, found in named.items() if found is not None]
    title = f"{language}, {gain.images} images of split {split}"
    notes = [
        f"The model knows {100 * gain.read:.0f} % of the captions' words. Chance level is an mR of "
        f"{gain.chance:.1f}."
    ]
    Console(width=100).print(Rows(title, header, rows, notes, frozenset()).rich())


def _cells(found: "Metrics") -> list[str]:
    return [f"{value:.1f}" for value in (*found.recalls, found.mr)]
