"""What a model cannot read: words it never saw, languages it was not trained on."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyglance.errors import UnknownLanguageWarning, UnknownWordsWarning
from polyglance.registry import nearest

if TYPE_CHECKING:
    from polyglance.models.model import Model

SHOWN = 5
"""Words and texts that a warning names."""


def warn_of_unknown(
    model: "Model", texts: Sequence[str], language: str | None, stacklevel: int = 2
) -> None:
    """Warn of a language and of words that the model does not know, once for all texts.

    Args:
        model: that reads.
        texts: n texts.
        language: of all of them.
        stacklevel: whose line the warning names, as of `warnings.warn`.
    """
    if language is not None and language not in model.languages:
        hint = nearest(language, model.languages)
        message = f"the model was not trained on language '{language}'{hint}"
        warnings.warn(message, UnknownLanguageWarning, stacklevel=stacklevel)
    known = model.embedder.read(texts, language)
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
        message += f"; it knows no word of {_some(lost)}, so their embeddings say nothing of them"
    warnings.warn(message, UnknownWordsWarning, stacklevel=stacklevel)


def _some(items: Sequence[str]) -> str:
    shown = list(dict.fromkeys(items))
    rest = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + rest
