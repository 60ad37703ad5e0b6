"""Bilingual dictionaries from `lexicon.tsv.gz`: words of 44 languages on WordNet synsets."""

from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path

from polyglance.data.lexicon import lexicon_entries, single_words
from polyglance.errors import PolyglanceError
from polyglance.registry import nearest
from polyglance.text.normalise import normalise

Pairs = list[tuple[str, str]]
"""(source word, target word)"""


def lexicon_pairs(path: Path, source: str, target: str) -> Pairs:
    """All pairs of words that share a synset, each word's most likely translation first.

    Likely is a pair that shares most of the senses of both (Jaccard index). Lines are
    `synset <tab> language <tab> lemma|lemma|…`; expressions of several words are left out.
    """
    if source == target:
        raise PolyglanceError(f"'{source}-{target}': a dictionary needs two languages")
    senses = _senses(path, source, target)
    by_synset: dict[str, list[str]] = defaultdict(list)
    for word, synsets in senses[target].items():
        for synset in synsets:
            by_synset[synset].append(word)
    pairs: Pairs = []
    for word, synsets in senses[source].items():
        shared = Counter(other for synset in sorted(synsets) for other in by_synset[synset])
        likeness = {
            other: count / (len(synsets) + len(senses[target][other]) - count)
            for other, count in shared.items()
        }
        ranked = sorted(likeness, key=lambda other: (-likeness[other], other))
        pairs.extend((word, other) for other in ranked)
    return pairs


def synonyms(path: Path, languages: Collection[str]) -> dict[str, list[list[str]]]:
    """By language, groups of two or more words that share a synset; there may be none."""
    groups: dict[str, list[list[str]]] = {code: [] for code in languages}
    for _, code, lemmas in lexicon_entries(path):
        words = single_words(lemmas)
        if code in groups and len(words) > 1:
            groups[code].append([normalise(word) for word in words])
    return groups


def _senses(path: Path, *languages: str) -> dict[str, dict[str, set[str]]]:
    """language → word → synsets"""
    senses: dict[str, dict[str, set[str]]] = {code: defaultdict(set) for code in languages}
    seen = set()
    for synset, code, lemmas in lexicon_entries(path):
        seen.add(code)
        if code in senses:
            for word in single_words(lemmas):
                senses[code][word].add(synset)
    for code in languages:
        if code not in seen:
            raise PolyglanceError(f"{path}: has no language '{code}'{nearest(code, sorted(seen))}")
    return senses
