"""Words of the same meaning, in one language or in two, from `lexicon.tsv.gz`."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping

from polyglance.evaluation.perturb.words import unspaced

SHORTEST, SHORTEST_UNSPACED = 3, 2
"""Letters, or characters: most shorter words are grammar, and what lexicons have for them (`in`,
the chemical element) is not."""
ALIKE = 1 / 3
"""Share of both words' senses that synonyms have in common."""

Senses = Mapping[str, Collection[str]]
"""word → synsets"""


def synonyms(senses: Senses, fits: Callable[[str], bool]) -> Callable[[str], str | None]:
    """word → the synonym with most senses in common, of those that fit."""
    words = _by_synset(senses)

    def find(word: str) -> str | None:
        return _best(word, senses, senses, words, lambda w: w != word and fits(w), ALIKE)

    return find


def translations(source: Senses, target: Senses) -> Callable[[str], str | None]:
    """word → the word of `target` with most senses in common."""
    words = _by_synset(target)
    return lambda word: _best(word, source, target, words, lambda _: True, 0.0)


def _by_synset(senses: Senses) -> dict[str, list[str]]:
    words: dict[str, list[str]] = defaultdict(list)
    for word, synsets in senses.items():
        for synset in synsets:
            words[synset].append(word)
    return words


def _best(
    word: str,
    source: Senses,
    target: Senses,
    words: Mapping[str, list[str]],
    fits: Callable[[str], bool],
    least: float,
) -> str | None:
    own = source.get(word, ())
    if not own or len(word) < (SHORTEST_UNSPACED if unspaced(word) else SHORTEST):
        return None
    shared = Counter(other for synset in own for other in words.get(synset, ()))
    alike = {o: n / (len(own) + len(target[o]) - n) for o, n in shared.items()}
    found = [o for o in alike if alike[o] >= least and fits(o)]
    return min(found, key=lambda o: (-alike[o], o), default=None)
