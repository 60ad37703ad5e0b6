"""Sentences to look for, checked against what the model knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.errors import PolyglanceError
from polyglance.registry import nearest
from polyglance.text.tokenizers.base import read_words

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
    """Cut a sentence into words; one that the model can make nothing of is an error.

    Args:
        model: that is asked.
        text: the sentence.
        language: one of the model's; None if it is not known.
    """
    known = ", ".join(model.languages)
    if language is not None and language not in model.languages:
        hint = nearest(language, model.languages)
        raise PolyglanceError(f"the model was not trained on language '{language}'{hint}")
    words = tuple(read_words(model.recipe.text, [text], language)[1][0])
    if not words:
        raise PolyglanceError(f"the query '{text}' has no words to look for")
    words, unknown = model.embedder.unknown(words, language)
    if len(unknown) == len(words):
        named = ", ".join(dict.fromkeys(unknown))
        raise PolyglanceError(
            f"the model knows none of the words of '{text}' ({named}), so any image would do; "
            f"ask in one of its languages: {known}"
        )
    return Query(text, language, words, unknown)


def check_queries(
    model: "Model",
    queries: str | Sequence[str | Query],
    languages: str | Sequence[str | None] | None = None,
) -> list[Query]:
    """`check_query` for each sentence; a `Query` is left as it is.

    Args:
        model: what is asked.
        queries: one sentence or several.
        languages: one for all queries, or one for each; None lets the script decide.
    """
    texts = [queries] if isinstance(queries, str) else list(queries)
    codes = [languages] * len(texts) if isinstance(languages, str | None) else list(languages)
    if not texts:
        raise PolyglanceError("there is no query; give at least one sentence")
    if len(codes) != len(texts):
        raise PolyglanceError(f"{len(texts)} queries were given with {len(codes)} languages")
    return [
        query if isinstance(query, Query) else check_query(model, query, code)
        for query, code in zip(texts, codes, strict=True)
    ]


def query_texts(queries: str | Sequence[str | Query]) -> list[str]:
    """The sentences of one query or several."""
    given = [queries] if isinstance(queries, str) else queries
    texts = [query.text if isinstance(query, Query) else query for query in given]
    if not texts:
        raise PolyglanceError("there is no query; give at least one sentence")
    return texts


def translate_queries(
    model: "Model",
    queries: str | Sequence[str | Query],
    language: str | Sequence[str | None] | None,
    translator: str,
    target: str | None = None,
    cache: Path | None = None,
) -> tuple[list[str], str, list[str]]:
    """Queries in a language that the model knows, that language, and notes that tell them.

    Args:
        model: what is asked.
        queries: one sentence or several.
        language: that of all queries.
        translator: such as "lexicon:FILE".
        target: the language to translate to, by default English if the model knows it.
        cache: folder for translations.
    """
    from polyglance.translation import make_translator, translate

    texts = query_texts(queries)
    if not isinstance(language, str):
        raise PolyglanceError("--translator needs the --language of the queries, one for all")
    if target is None:
        target = "en" if "en" in model.languages else model.languages[0]
    if target not in model.languages:
        known = ", ".join(model.languages)
        raise PolyglanceError(f"--translate-to {target}: the model knows {known}")
    found = translate(make_translator(translator), texts, language, target, cache)
    translated = []
    for query, text in zip(texts, found, strict=True):
        if text is None:
            raise PolyglanceError(f"the translator has no translation of '{query}' to {target}")
        translated.append(text)
    pairs = zip(texts, translated, strict=True)
    return translated, target, [f"'{old}' is searched for as '{new}'" for old, new in pairs]
