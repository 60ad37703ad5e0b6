"""Ids of texts, and warnings about unknown words and languages."""

import warnings
from collections.abc import Sequence

from polyglance.core.languages import known_language
from polyglance.errors import NoWords, PolyglanceError, UnknownLanguageWarning, UnknownWordsWarning
from polyglance.text.embedders.base import Embedder
from polyglance.text.embedders.encoded import EncodedTexts
from polyglance.text.tokenizers.base import Languages, language_per_text

SHOWN = 5
"""Most words and texts in a warning."""


def listed_texts(texts: Sequence[str] | str) -> list[str]:
    """One or several texts as a list; anything else is an error.

    >>> listed_texts("a dog")
    ['a dog']
    """
    if isinstance(texts, str):
        return [texts]
    try:
        return list(texts)
    except TypeError:
        raise PolyglanceError(
            f"texts are {texts!r:.40}, of type {type(texts).__name__}; pass a string or a list of "
            "strings"
        ) from None


def read_ids(embedder: Embedder, texts: Sequence[str], languages: Languages) -> EncodedTexts:
    """Ids of texts; a text without words is an error.

    Args:
        embedder: of the model.
        texts: n texts.
        languages: one language for all, one per text, or None if unknown.
    """
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise PolyglanceError(
                f"text {index} is {text!r:.40}, of type {type(text).__name__}; pass strings"
            )
    read, words = embedder.split(texts, languages)
    for index, found in enumerate(words):
        if not found:
            raise NoWords(texts[index], index)
    return embedder.encode(read, words, language_per_text(languages, len(texts)))


def warn_of_unknown(
    embedder: Embedder,
    texts: Sequence[str],
    language: str | None,
    trained: Sequence[str],
    stacklevel: int = 2,
) -> None:
    """Warn about an unknown language and unknown words, once for all texts.

    Args:
        embedder: of the model.
        texts: n texts.
        language: of all texts.
        trained: the model's languages.
        stacklevel: as for `warnings.warn`.
    """
    if language is not None and language not in trained:
        try:
            known = known_language(language, trained, embedder.reads_all)
            message = (
                f"the model was not trained on language '{language}' (did you mean '{known}'?)"
            )
        except PolyglanceError as error:
            known, message = "", str(error)
        if not (known and embedder.reads_all):
            warnings.warn(message, UnknownLanguageWarning, stacklevel=stacklevel)
    read = embedder.read(texts, language)
    missing = [word for _, unknown in read for word in unknown]
    if not missing:
        return
    pairs = zip(texts, read, strict=True)
    lost = [f"{text!r:.60}" for text, (words, unknown) in pairs if len(words) == len(unknown)]
    message = (
        f"the model does not know {len(missing)} of {sum(len(words) for words, _ in read)} words: "
        f"{_some(missing)}"
    )
    if lost:
        message += f"; it knows no word of {_some(lost)}, so their embeddings are meaningless"
    warnings.warn(message, UnknownWordsWarning, stacklevel=stacklevel)


def _some(items: Sequence[str]) -> str:
    shown = list(dict.fromkeys(items))
    rest = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + rest
