"""`polyglance data lexicon`: make a lexicon of wordnets."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.outputs import check_outputs


def lexicon_command(
    out: Annotated[Path, typer.Argument(help="the lexicon to write, such as lexicon.tsv.gz")],
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Open Multilingual Wordnet's wn-data-*.tab, WordNet's data.noun, or their folders",
        ),
    ],
) -> None:
    """Make a lexicon, words of many languages by meaning, of wordnets."""
    from polyglance.text.wordnets import make_lexicon

    check_outputs([out])
    counts = make_lexicon(out, sources)
    named = ", ".join(f"{code} {count:,}" for code, count in sorted(counts.items()))
    typer.echo(f"{out}: synsets of {len(counts)} languages ({named})")
