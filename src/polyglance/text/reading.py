"""Texts as a model reads them: their ids, and the words and languages that it does not know."""

import warnings
from collections.abc import Sequence

from polyglance.core.registry import nearest
from polyglance.errors import NoWords, UnknownLanguageWarning, UnknownWordsWarning
from polyglance.text.embedders.base import Embedder
from polyglance.text.embedders.encoded import EncodedTexts
from polyglance.text.tokenizers.base import Languages, codes_of

SHOWN = 5
"""Words and texts that a warning names."""


def read_ids(embedder: Embedder, texts: Sequence[str], languages: Languages) -> EncodedTexts:
    """Ids of texts; one without any word is an error that names it.

    Args:
        embedder: of the model that reads.
        texts: n texts.
        languages: the language of all, or of each; None where it is not known.
    """
    read, words = embedder.split(texts, languages)
    for index, found in enumerate(words):
        if not found:
            raise NoWords(texts[index], index)
    return embedder.encode(read, words, codes_of(languages, len(texts)))


def warn_of_unknown(
    embedder: Embedder,
    texts: Sequence[str],
    language: str | None,
    trained: Sequence[str],
    stacklevel: int = 2,
) -> None:
    """Warn of a language and of words that a model does not know, once for all texts.

    Args:
        embedder: of the model that reads.
        texts: n texts.
        language: of all of them.
        trained: the languages that the model knows.
        stacklevel: whose line the warning names, as of `warnings.warn`.
    """
    if language is not None and language not in trained:
        hint = nearest(language, list(trained))
        message = f"the model was not trained on language '{language}'{hint}"
        warnings.warn(message, UnknownLanguageWarning, stacklevel=stacklevel)
    known = embedder.read(texts, language)
    missing = [word for _, unknown in known for word in unknown]
    if not missing:
        return
    pairs = zip(texts, known, strict=True)
    lost = [f"{text!r:.60}" for text, (words, unknown) in pairs if len(words) == len(unknown)]
    message = (
        f"the model does not know {len(missing)} of {sum(len(words) for words, _ in known)} words: "
        f"{_some(missing)}"
    )
    if lost:
        message += f"; it knows no word of {_some(lost)}, so their embeddings are meaningless"
    warnings.warn(message, UnknownWordsWarning, stacklevel=stacklevel)


def _some(items: Sequence[str]) -> str:
    shown = list(dict.fromkeys(items))
    rest = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + rest
