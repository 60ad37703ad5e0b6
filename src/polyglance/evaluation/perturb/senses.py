"""Reading `lexicon.tsv.gz` for the languages at hand, once."""

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from polyglance.data.lexicon import lexicon_entries
from polyglance.text.normalise import normalise

Senses = dict[str, list[str]]
"""word → synsets"""


def read_senses(path: Path, languages: Collection[str]) -> dict[str, Senses]:
    """By language, single words as tokenisers spell them; none of a language that is not there.

    Lines are `synset <tab> language <tab> lemma|lemma|…`. The file is kept for the next call.
    """
    return _read(path, path.stat().st_mtime_ns, tuple(sorted(languages)))


@lru_cache(maxsize=1)
def _read(path: Path, changed: int, languages: tuple[str, ...]) -> dict[str, Senses]:
    senses: dict[str, Senses] = {code: {} for code in languages}
    for synset, code, lemmas in lexicon_entries(path):
        if code in senses:
            for word in _words(lemmas, code):
                senses[code].setdefault(word, []).append(synset)
    return senses


def _words(lemmas: str, language: str) -> list[str]:
    """Single words, each once; the Chinese wordnet parts the particles 的 and 地 with a plus."""
    parts = (lemma.split("+")[0].strip() for lemma in lemmas.split("|"))
    single = (part for part in parts if part and not any(c.isspace() or c == "_" for c in part))
    return list(dict.fromkeys(normalise(part, language) for part in single))
