"""Did you mean …: another spelling of a query that matches the images better."""

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import regex

from polyglance.errors import PolyglanceError
from polyglance.gallery.library import LibraryImages
from polyglance.gallery.query import Query, check_query
from polyglance.gallery.results import QueryResult
from polyglance.gallery.scoring import Scorer, query_vector
from polyglance.text.spelling import Speller

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel

BEST = 5
"""Number of best images whose mean score measures how well a query matches."""
FOUND = 200
"""Number of images that a library's index finds for each spelling."""
GAIN = 0.2
"""Standard deviations that another spelling must gain; chosen with `benchmarks/spelling.py`."""
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
    replaced only if images match the other one better, or if the model does not know it at all.

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
            others = [head + near + tail for near in self._near(word)]
            better = self._best(scorer, found, word, others, language)
            if better is not None:
                found, shift = better, shift + len(better) - len(found)
        return None if found == text else found

    def _near(self, word: str) -> list[str]:
        with self._lock:
            return self._speller(word)

    @cached_property
    def _speller(self) -> Speller:
        embedder = self.model.embedder
        words = embedder.common_words(self.model.languages)
        return Speller(words, embedder.log_probability)

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
