"""Dictionaries by name, as commands and recipes give them."""

import os
import re
from pathlib import Path

from polyglance.alignment.captions import induced_pairs, parallel_captions
from polyglance.alignment.dictionaries import identical_pairs, read_pairs
from polyglance.alignment.lexicon import Pairs, lexicon_pairs
from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError
from polyglance.text.vectors import WordVectors

ENVIRONMENT = "POLYGLANCE_LEXICON"


def named_pairs(
    name: str,
    source: str,
    target: str,
    lexicon: Path | None = None,
    dataset: Dataset | None = None,
    vectors: tuple[WordVectors, WordVectors] | None = None,
) -> Pairs:
    """Pairs of a word of language `source` and one of `target`.

    `name` is `lexicon` (perhaps with `:fr-de`), `identical` (which needs both languages'
    vectors), `captions` or `text-only` (of `dataset`, or with `:DATASET`), or a file; or several
    with `+` between, each for words that those before it lack.
    """
    pairs: Pairs = []
    for one in name.split("+"):
        known = {word for word, _ in pairs}
        found = _pairs(one, source, target, lexicon, dataset, vectors)
        pairs += [pair for pair in found if pair[0] not in known]
    return pairs


def _pairs(
    name: str,
    source: str,
    target: str,
    lexicon: Path | None,
    dataset: Dataset | None,
    vectors: tuple[WordVectors, WordVectors] | None,
) -> Pairs:
    kind, _, rest = name.partition(":")
    if kind == "lexicon":
        if rest and sorted(language_pair(rest, f"dictionary {name}")) != sorted((source, target)):
            raise PolyglanceError(
                f"dictionary {name}: the languages are {source} and {target}; "
                f"write lexicon:{source}-{target}"
            )
        return lexicon_pairs(lexicon_file(lexicon, name), source, target)
    if kind == "identical":
        if vectors is None:
            raise PolyglanceError("dictionary identical: needs vectors of both languages")
        return identical_pairs(*vectors)
    if from_sentences(name):
        return induced_pairs(*parallel(name, source, target, dataset))
    return read_pairs(Path(name).expanduser())


def from_sentences(name: str) -> bool:
    """Whether a dictionary is made from sentences in both languages."""
    return name.partition(":")[0] in ("captions", "text-only")


def parallel(
    name: str, source: str, target: str, dataset: Dataset | None
) -> tuple[CaptionTable, CaptionTable]:
    """The sentences that `captions` or `text-only` mean, of `dataset` or of the one named."""
    kind, _, rest = name.partition(":")
    if rest:
        from polyglance.data import load_dataset

        dataset = load_dataset(rest)
    if dataset is None:
        raise PolyglanceError(f"dictionary {name}: say of which dataset, as {kind}:FOLDER")
    return parallel_captions(dataset, source, target, kind == "text-only")


def language_pair(text: str, where: str) -> list[str]:
    """The two codes of `fr-de`."""
    codes = text.split("-")
    if len(codes) != 2 or not all(re.fullmatch(r"\w+", code) for code in codes):
        raise PolyglanceError(f"{where}: expected two languages, such as fr-de")
    return codes


def lexicon_file(path: Path | None, name: str = "lexicon") -> Path:
    """The lexicon's file: the one given, or that of the environment."""
    named = os.environ.get(ENVIRONMENT)
    if path is None and not named:
        raise PolyglanceError(
            f"dictionary {name}: give the lexicon's file with --lexicon or ${ENVIRONMENT} "
            "(transfer.lexicon in a recipe)"
        )
    return path if path is not None else Path(str(named))
