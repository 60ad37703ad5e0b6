"""Reading `lexicon.tsv.gz`: words of many languages on WordNet synsets."""

from collections.abc import Iterator
from pathlib import Path

from polyglance.errors import PolyglanceError
from polyglance.files import read_lines
from polyglance.progress import Bar

_BYTES_A_LINE, _STRIDE = 12, 20_000


def lexicon_entries(path: Path) -> Iterator[list[str]]:
    """[synset, language, lemmas with | between] of each line, which tabs part."""
    estimate = path.stat().st_size // _BYTES_A_LINE if path.is_file() else 0
    with Bar(f"reading {path.name}", estimate, "lines", estimate > _STRIDE) as bar:
        for number, line in read_lines(path):
            parts = line.split("\t")
            if len(parts) != 3:
                raise PolyglanceError(
                    f"{path}, line {number}: expected synset, language and lemmas with tabs between"
                )
            yield parts
            if number % _STRIDE == 0:
                bar.advance(_STRIDE)


def lemma_words(lemmas: str) -> list[str]:
    """Words and expressions of an entry; the Chinese wordnet parts 的 and 地 with a plus.

    >>> lemma_words("dog|hot_dog|快乐+的")
    ['dog', 'hot dog', '快乐']
    """
    words = (lemma.split("+")[0].replace("_", " ").strip() for lemma in lemmas.split("|"))
    return [word for word in words if word]


def single_words(lemmas: str) -> list[str]:
    """The words of an entry without its expressions of several words."""
    return [word for word in lemma_words(lemmas) if not any(map(str.isspace, word))]
