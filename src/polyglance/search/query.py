"""Sentences to look for, checked against what the model knows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyglance.errors import PolyglanceError
from polyglance.registry import nearest
from polyglance.text.tokenizers.read import read_words

if TYPE_CHECKING:
    from polyglance.models import Model


@dataclass(frozen=True, slots=True)
class Query:
    """A sentence; `unknown` are those of its `words` that the model has never seen."""

    text: str
    language: str | None
    words: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def warning(self) -> str | None:
        """What to tell about unknown words, if there are any."""
        if not self.unknown:
            return None
        named = ", ".join(dict.fromkeys(self.unknown))
        return (
            f"the model does not know {len(self.unknown)} of the {len(self.words)} words "
            f"of '{self.text}': {named}"
        )


def check_query(model: "Model", text: str, language: str | None = None) -> Query:
    """Cut a sentence into words; one that the model can make nothing of is an error."""
    known = ", ".join(model.languages)
    if language is not None and language not in model.languages:
        hint = nearest(language, model.languages)
        raise PolyglanceError(f"the model was not trained on language '{language}'{hint}")
    words = tuple(read_words(model.recipe.text, [text], language)[1][0])
    if not words:
        raise PolyglanceError(f"the query '{text}' has no words to look for")
    words, unknown = model.reader.recognise(model.recipe.text, words, language)
    if len(unknown) == len(words):
        named = ", ".join(dict.fromkeys(unknown))
        raise PolyglanceError(
            f"the model knows none of the words of '{text}' ({named}), so any picture would do; "
            f"ask in one of its languages: {known}"
        )
    return Query(text, language, words, unknown)
