"""`polyglance data lexicon`: build a lexicon from wordnets."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.outputs import check_outputs


def lexicon_command(
    out: Annotated[Path, typer.Argument(help="Output file, such as lexicon.tsv.gz.")],
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="wn-data-*.tab of Open Multilingual Wordnet, WordNet's data.noun, or folders.",
        ),
    ],
) -> None:
    """Build a lexicon, which maps words of many languages to meanings, from wordnets."""
    from polyglance.text.wordnets import make_lexicon

    check_outputs([out])
    counts = make_lexicon(out, sources)
    named = ", ".join(f"{code} {count:,}" for code, count in sorted(counts.items()))
    typer.echo(f"{out}: synsets of {len(counts)} languages ({named})")
