"""Advice on the words of a query: another spelling that matches better, and unknown words."""

import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import regex

from polyglance.errors import PolyglanceError
from polyglance.gallery.library import LibraryImages
from polyglance.gallery.query import Query, check_query
from polyglance.gallery.results import QueryResult
from polyglance.gallery.scoring import Scorer, query_vector
from polyglance.text.spelling import Speller, typos
from polyglance.text.tokenizers.segment import is_unspaced

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import Background, ExportedModel
    from polyglance.text.embedders import Embedder

BEST = 5
"""Number of best images whose mean score measures how well a query matches."""
FOUND = 200
"""Number of images that a library's index finds for each spelling."""
GAIN = 0.1
"""Standard deviations that another spelling must gain; chosen with `benchmarks/spelling.py`."""
CORRECT = 1.5
"""Log-odds of being known from which a word is taken to be correct. This and the next two bounds
were chosen on nouns of a lexicon, which should stay, and typos in words of captions."""
SUGGESTED = -1.0
"""Least log-odds of a suggested word."""
BETTER_KNOWN = (4.4, 6.1)
"""By how much these must exceed the log-odds of the other word, at one and at two typos."""
SHORTEST = 3
"""Shortest word that is tested, in letters."""
FREQUENT = -10.0
"""Log-probability from which a word is not tested: "the" resembles no caption either."""
RARE = -15.0
"""Log-probability below which a word is tested in a query that is known as a whole: it has no entry
of its own in a vocabulary of subwords."""
_UNWANTED = r'(?:^|(?<=\s))-(?:"[^"]*"|\S+)'
_WORD = regex.compile(rf"{_UNWANTED}|(?P<word>[\p{{L}}\p{{M}}]+)")


class IndexScorer:
    """Standard scores of the images that a library's index finds.

    Args:
        model: whose background they are relative to.
        images: of the library.
    """

    def __init__(self, model: "ExportedModel", images: LibraryImages) -> None:
        self.model, self.images = model, images

    def standard(self, query: Query) -> np.ndarray:
        """Standard scores of the images closest to a query, [n]."""
        vector = query_vector(self.model, query)[0]
        return Scorer(self.model, self.images.candidates(vector, FOUND)).standard(query)


class Suggester:
    """Suggests other spellings for a model's queries; thread-safe.

    Many words outside a vocabulary are correct: names, compounds, other languages. So a word is
    replaced only if images match the other one better, or if the model does not know it at all. If
    the background says how well words are known, the other word must also be known, and much
    better: *receipt* is not a misspelt *recept*.

    Args:
        model: whose vocabulary is used, loaded when first needed.
    """

    def __init__(self, model: "Model | ExportedModel") -> None:
        self.model = model
        self._lock = threading.Lock()

    def __call__(
        self, scorer: Scorer | IndexScorer, text: str, language: str | None = None
    ) -> str | None:
        """The text with probably misspelt words replaced; None if there are none.

        Args:
            scorer: of the images that are searched.
            text: the query; excluded terms in it are left unchanged.
            language: one of the model's; None if unknown.
        """
        found, shift = text, 0
        for match in _WORD.finditer(text):
            word = match["word"]
            if word is None:
                continue
            start, end = match.start() + shift, match.end() + shift
            head, tail = found[:start], found[end:]
            others = [head + near + tail for near in self._near(word, language)]
            better = self._best(scorer, found, word, others, language)
            if better is not None:
                found, shift = better, shift + len(better) - len(found)
        return None if found == text else found

    def _near(self, word: str, language: str | None) -> list[str]:
        with self._lock:
            found = self._speller(word)
        return self._better_known(word, found, language) if found else found

    def _better_known(self, word: str, others: list[str], language: str | None) -> list[str]:
        """Those of other words that the model knows much better, if its background can tell."""
        background: Background | None = getattr(self.model, "background", None)
        if background is None or background.chance is None:
            return others
        known = self.model.embedder.read([word, *others], language)
        if any(unknown for _, unknown in known):
            return others  # words without an embedding
        from polyglance.evaluation.encoder import encode_quietly

        vectors = np.asarray(encode_quietly(self.model, [word, *others], language))
        own, *odds = background.known_log_odds(vectors).tolist()
        if own > CORRECT:
            return []
        return [
            other
            for other, value in zip(others, odds, strict=True)
            if value > SUGGESTED and value - own > BETTER_KNOWN[typos(word, other) > 1]
        ]

    @cached_property
    def _speller(self) -> Speller:
        return _speller_of(self.model.embedder, tuple(self.model.languages))

    def _best(
        self,
        scorer: Scorer | IndexScorer,
        text: str,
        word: str,
        others: list[str],
        language: str | None,
    ) -> str | None:
        """The first of the other texts if the word is unknown, else the one that gains most."""
        if not others:
            return None
        query = self._checked(text, language)
        if query is None or any(word.lower() == one.lower() for one in query.unknown):
            return others[0]
        values = [self._strength(scorer, one, language) for one in (text, *others)]
        best = int(np.argmax(values[1:]))
        return others[best] if values[1 + best] >= values[0] + GAIN else None

    def _checked(self, text: str, language: str | None) -> Query | None:
        try:
            return check_query(self.model, regex.sub(_UNWANTED, "", text), language)
        except PolyglanceError:
            return None

    def _strength(self, scorer: Scorer | IndexScorer, text: str, language: str | None) -> float:
        """How well the best images match a text, in standard deviations."""
        query = self._checked(text, language)
        if query is None:
            return -np.inf
        return float(np.sort(scorer.standard(query))[-BEST:].mean())


@lru_cache(2)
def _speller_of(embedder: "Embedder", languages: tuple[str, ...]) -> Speller:
    """The speller of a vocabulary, made once, as reading the vocabulary takes a while."""
    return Speller(embedder.common_words(languages), embedder.log_probability)


def did_you_mean(
    model: "Model | ExportedModel", scorer: Scorer | IndexScorer, results: Sequence[QueryResult]
) -> list[str]:
    """Suggestions for sentences that found nothing or have unknown words.

    Args:
        model: that was queried.
        scorer: of the images that were searched.
        results: of the search.
    """
    suggester, notes = Suggester(model), []
    for result in results:
        query = result.query
        if query.image is not None or not (result.nothing or query.unknown):
            continue
        other = suggester(scorer, query.text, query.language)
        if other is not None:
            notes.append(f"did you mean '{other}'?")
    return notes


def hardly_known_words(
    model: "Model | ExportedModel", query: Query, known: bool
) -> tuple[str, ...]:
    """The words of a query that the model, given each alone, hardly knows.

    None if the model has no background that can tell, or no vocabulary of subwords.

    Args:
        model: with a background.
        query: a sentence.
        known: whether the model knows the sentence as a whole; only rare words are tested then.
    """
    background: Background | None = getattr(model, "background", None)
    if background is None or background.chance is None or query.image is not None:
        return ()
    words = [match["word"] for match in _WORD.finditer(query.text)]
    if known and len(words) == 1:
        return ()
    most = RARE if known else FREQUENT
    rare = [word for word in dict.fromkeys(words) if word and _is_rare(model, word, most)]
    if not rare:
        return ()
    from polyglance.evaluation.encoder import encode_quietly

    try:
        vectors = np.asarray(encode_quietly(model, rare, query.language))
    except PolyglanceError:
        return ()
    known_ones = background.knows(vectors)
    return tuple(word for word, one in zip(rare, known_ones, strict=True) if not one)


def _is_rare(model: "Model | ExportedModel", word: str, most: float) -> bool:
    """Whether a word is long enough to be tested, and its log-probability below `most`."""
    if len(word) < SHORTEST or is_unspaced(word):
        return False
    forms = {word, word.lower(), word.capitalize()}
    return -np.inf < max(map(model.embedder.log_probability, forms)) < most
