"""`polyglance data words`: words of a lexicon as text-only tuples, to train on."""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.cli.outputs import check_outputs


def words_command(
    out: Annotated[Path, typer.Argument(help="Output file, such as words.jsonl.gz.")],
    wordnet: Annotated[Path, typer.Option(help="data.noun of WordNet 3.0.")],
    lexicon: Annotated[
        str | None, typer.Option(help="lexicon.tsv.gz (default: $POLYGLANCE_LEXICON).")
    ] = None,
    spread: Annotated[
        int, typer.Option(min=2, help="Minimum number of languages that have a word for it.")
    ] = 18,
    without: Annotated[str, typer.Option(help="Languages to leave out, such as ar,de,zh.")] = "",
) -> None:
    """Write words for things, actions and qualities in many languages, as text-only tuples."""
    from polyglance.errors import PolyglanceError
    from polyglance.text.lexicon import Lexicon, lexicon_path
    from polyglance.text.word_tuples import visible_nouns, word_tuples, write_word_tuples

    check_outputs([out])
    words = Lexicon.open(lexicon_path(lexicon, "data words"))
    left_out = [code.strip() for code in without.split(",") if code.strip()]
    for code in left_out:
        words.require(code)
    found = word_tuples(words, visible_nouns(wordnet), spread, left_out)
    if not found:
        raise PolyglanceError(
            f"{words.path}: no word in English and another language; lower --spread ({spread}), "
            "and check that the lexicon uses WordNet 3.0's synsets"
        )
    write_word_tuples(out, found)
    languages = {code for own in found.values() for code in own}
    count = sum(len(one) for own in found.values() for one in own.values())
    typer.echo(f"{out}: {len(found)} tuples, {count} words, {len(languages)} languages")
