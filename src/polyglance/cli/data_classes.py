"""`polyglance data classes`: names of ImageNet's classes and their hypernyms, to train on."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.outputs import check_outputs


def classes_command(
    out: Annotated[Path, typer.Argument(help="Output file, such as concepts.jsonl.gz.")],
    wordnet: Annotated[Path, typer.Option(help="data.noun of WordNet 3.0.")],
    lexicon: Annotated[
        str | None, typer.Option(help="lexicon.tsv.gz (default: $POLYGLANCE_LEXICON).")
    ] = None,
    broadest: Annotated[
        int, typer.Option(min=1, help="Maximum number of classes of a concept.")
    ] = 150,
) -> None:
    """Write the names of ImageNet classes and their hypernyms in many languages."""
    from polyglance.text.concepts import (
        class_concepts,
        read_english,
        read_hypernyms,
        write_concepts,
    )
    from polyglance.text.lexicon import Lexicon, lexicon_path
    from polyglance.vision.classifier import imagenet_synsets

    check_outputs([out])
    hypernyms = read_hypernyms(wordnet)
    words = Lexicon.open(lexicon_path(lexicon, "data classes"))
    found = class_concepts(imagenet_synsets(), hypernyms, words, broadest, read_english(wordnet))
    write_concepts(out, found)
    languages = {code for concept in found for code in concept.names}
    names = sum(len(own) for concept in found for own in concept.names.values())
    covered = {number for concept in found for number in concept.classes}
    typer.echo(
        f"{out}: {len(found)} concepts of {len(covered)} classes, {names} names, "
        f"{len(languages)} languages"
    )
