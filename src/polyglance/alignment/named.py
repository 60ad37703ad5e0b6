"""Dictionaries by name, as in commands and recipes."""

from pathlib import Path

from polyglance.alignment.captions import induced_pairs, parallel_captions
from polyglance.alignment.dictionaries import identical_pairs
from polyglance.core.languages import is_tag, standard_tag
from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.errors import PolyglanceError
from polyglance.text.dictionaries import Pairs, read_pairs
from polyglance.text.lexicon import Lexicon, lexicon_path
from polyglance.text.vectors.word_vectors import WordVectors

LEXICON_OPTION = "--lexicon (transfer.lexicon in a recipe)"


def named_pairs(
    name: str,
    source: str,
    target: str,
    lexicon: Path | None = None,
    dataset: Dataset | None = None,
    vectors: tuple[WordVectors, WordVectors] | None = None,
) -> Pairs:
    """Word pairs of the languages `source` and `target`.

    Args:
        name: `lexicon` (optionally with `:fr-de`), `identical`, `captions` or `text-only`
            (optionally with `:DATASET`), or a file; or several separated by `+`, each for the words
            that the previous ones lack.
        source: language of the first words.
        target: language of the second words.
        lexicon: the file for `lexicon`; None for $POLYGLANCE_LEXICON.
        dataset: for `captions` and `text-only` without a dataset.
        vectors: of both languages, for `identical`.
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
        path = lexicon_path(lexicon, f"dictionary {name}", LEXICON_OPTION)
        return Lexicon.open(path).pairs(source, target)
    if kind == "identical":
        if vectors is None:
            raise PolyglanceError("dictionary identical: needs vectors of both languages")
        return identical_pairs(*vectors)
    if from_sentences(name):
        return induced_pairs(*parallel(name, source, target, dataset))
    return read_pairs(Path(name).expanduser())


def from_sentences(name: str) -> bool:
    """Whether a dictionary is learned from sentences in both languages."""
    return name.partition(":")[0] in ("captions", "text-only")


def parallel(
    name: str, source: str, target: str, dataset: Dataset | None
) -> tuple[CaptionTable, CaptionTable]:
    """The sentences in both languages that a dictionary is learned from.

    Args:
        name: `captions` or `text-only`, optionally with `:DATASET`.
        source: language of the first sentences.
        target: language of the second sentences.
        dataset: used if `name` has none.
    """
    kind, _, rest = name.partition(":")
    if rest:
        from polyglance.data import load_dataset

        dataset = load_dataset(rest)
    if dataset is None:
        raise PolyglanceError(f"dictionary {name}: name the dataset, as in {kind}:FOLDER")
    return parallel_captions(dataset, source, target, kind == "text-only")


def language_pair(text: str, where: str) -> list[str]:
    """The two languages of a pair.

    Ambiguous hyphens, as in `pt-BR-de`, are resolved in favour of standard tags.

    >>> language_pair("fr-de", "--languages"), language_pair("pt-BR-de", "--languages")
    (['fr', 'de'], ['pt-BR', 'de'])
    """
    parts = text.split("-")
    pairs = [["-".join(parts[:at]), "-".join(parts[at:])] for at in range(1, len(parts))]
    found = [pair for pair in pairs if all(map(is_tag, pair))]
    if len(found) > 1:
        found = [pair for pair in found if all(standard_tag(tag) == tag for tag in pair)]
    if len(found) != 1:
        raise PolyglanceError(f"{where}: expected two languages, such as fr-de or pt-BR-de")
    return found[0]
