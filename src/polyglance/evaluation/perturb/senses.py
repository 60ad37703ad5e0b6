"""Reading `lexicon.tsv.gz` for the languages at hand, once."""

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from polyglance.data.lexicon import lexicon_entries, single_words
from polyglance.text.tokenizers.normalise import normalise

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
            for word in dict.fromkeys(normalise(one, code) for one in single_words(lemmas)):
                senses[code].setdefault(word, []).append(synset)
    return senses
