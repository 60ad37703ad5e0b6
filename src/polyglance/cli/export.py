"""polyglance export"""

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from polyglance.cli.options import reject_unused_options
from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.runtime.background import Background
    from polyglance.runtime.encoding.tables import Bits
    from polyglance.runtime.manifest import Manifest


class Stored(StrEnum):
    """Storage precision of weights."""

    fp32 = "fp32"
    fp16 = "fp16"
    int8 = "int8"


class TableBits(StrEnum):
    """Bits per value in a table."""

    four = "4"
    eight = "8"
    sixteen = "16"
    all = "32"


def export_command(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            help="A trained model with two towers; or an exported one, with --background."
        ),
    ],
    onnx: Annotated[
        Path | None,
        typer.Option(
            help="Output folder; must be new or empty. Without it, the --background of an "
            "exported model is replaced in place."
        ),
    ] = None,
    precision: Annotated[
        Stored, typer.Option(help="Storage precision of the weights; computation is in float32.")
    ] = Stored.fp32,
    table_bits: Annotated[
        TableBits | None,
        typer.Option(
            help="Bits per value in a sentence encoder's tables (default: as --precision)."
        ),
    ] = None,
    pieces: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=(
                "Number of most probable pieces that a sentence encoder keeps, in "
                "addition to all characters and the pieces in --texts (default: all "
                "it was trained with)."
            ),
        ),
    ] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Option(help="Texts, captions (.jsonl) or a lexicon (.tsv) whose pieces to keep."),
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Dataset to calibrate scores and the search threshold on.",
        ),
    ] = None,
    split: Annotated[
        str, typer.Option(help="Split of --background; must not be used in training.")
    ] = "val",
    lexicon: Annotated[
        Path | None,
        typer.Option(
            help="lexicon.tsv.gz, to calibrate single words in languages without captions, too."
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help=(
                "Use both the whole image, squashed, and its centre: better results at "
                "half the throughput."
            ),
        ),
    ] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Cache folder for converted image networks.")
    ] = None,
) -> None:
    """Export a model to ONNX, to encode texts and images without torch."""
    from polyglance.core.languages import UNDETERMINED
    from polyglance.data import load_dataset
    from polyglance.data.hold_out import held_out_part
    from polyglance.runtime import add_background, background_of, load, model_folder
    from polyglance.runtime.folders import is_tuned
    from polyglance.text.embedders.subwords.texts import piece_texts
    from polyglance.text.lexicon import Lexicon

    if texts and pieces is None:
        raise PolyglanceError("--texts needs --pieces")
    unused = ["split", "lexicon"]
    reject_unused_options(context, unused, "--background DATA", background is not None)
    words = None if lexicon is None else Lexicon.open(lexicon)
    data = None
    if background is not None:
        tuned = is_tuned(model_folder(model))
        # Captions in a table without a column for the language, as in fine-tuning.
        language = UNDETERMINED if tuned else None
        data = held_out_part(load_dataset(background, cache, language), split, tuned)
    if onnx is None:
        if data is None:
            raise PolyglanceError(
                "pass --onnx FOLDER as output; or --background DATA for an exported model"
            )
        if whole or pieces is not None or table_bits is not None or precision is not Stored.fp32:
            raise PolyglanceError(
                "--precision, --table-bits, --pieces and --whole create a new export: pass --onnx"
            )
        model = model_folder(model)
        found = background_of(load(model), data, cache, lexicon=words)
        _report(found, add_background(model, found), split)
        return
    from polyglance.runtime import export_model

    bits = None if table_bits is None else cast("Bits", int(table_bits.value))

    def write(out: Path) -> "Manifest":
        kept = chain.from_iterable(map(piece_texts, texts or ()))
        return export_model(model, out, precision.value, cache, bits, pieces, kept, whole)

    if data is None:
        made = write(onnx)
    else:
        from polyglance.runtime.conversion.calibrated import export_with_background

        made, found = export_with_background(write, onnx, data, cache, words)
        _report(found, made, split)
    size = sum(path.stat().st_size for path in onnx.rglob("*") if path.is_file()) / 2**20
    typer.echo(f"exported: {made.recipe_name}, {made.precision}, {size:.1f} MB, id {made.id[:16]}")
    if made.without_backbone:
        typer.echo(f"without the image network: {made.without_backbone}")
    typer.echo(f"model: {onnx}")


def _report(found: "Background", made: "Manifest", split: str) -> None:
    """Print the quality of a background."""
    typer.echo(
        f"calibrated: on '{split}', images with a score of at least {found.cutoff:.2f} match; on "
        f"held-out images, {found.kept:.0%} of matching ones do, and {found.refused:.0%} of "
        f"galleries without a match have none; id {made.id[:16]}"
    )
