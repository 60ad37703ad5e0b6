"""Words of a query that the model hardly knows."""

from typing import TYPE_CHECKING

import numpy as np
import regex

from polyglance.errors import PolyglanceError
from polyglance.gallery.query import Query
from polyglance.text.tokenizers.segment import is_unspaced

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import Background, ExportedModel

SHORTEST = 3
"""Shortest word that is tested, in letters."""
FREQUENT = -10.0
"""Log-probability from which a word is not tested: "the" resembles no caption either."""
RARE = -15.0
"""Log-probability below which a word is tested in a query that is known as a whole: it has no entry
of its own in a vocabulary of subwords."""
_WORD = regex.compile(r"(?:^|(?<=\s))-\S+|(?P<word>[\p{L}\p{M}]+)")


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
