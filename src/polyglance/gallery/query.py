"""Queries, sentences and images, checked against the model's vocabulary."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyglance.core.languages import known_language, language_name
from polyglance.data.images.inputs import GivenImage, listed
from polyglance.data.images.read import EXTENSIONS
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.gallery.hit import path_text

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.runtime import ExportedModel

HINT = "try --language {}"
"""The hint for choosing another language on the command line."""


@dataclass(frozen=True, slots=True)
class Query:
    """A sentence or an image; `unknown` are those of its `words` that the model does not know.

    A query that cannot be answered has a `problem`. `better` is a language in which the model knows
    more of the words.
    """

    text: str
    language: str | None
    words: tuple[str, ...]
    unknown: tuple[str, ...]
    better: str | None = None
    problem: str | None = None
    image: Any = field(default=None, compare=False, repr=False)
    """The image of an image query, or its embedding [D]."""
    vector: Any = field(default=None, compare=False, repr=False)
    """The embedding [D] of the sentence, if already computed."""
    like: tuple["Query", ...] = ()
    """Images that results should also be similar to."""
    without: tuple["Query", ...] = ()
    """What results should not show."""

    @property
    def mixed(self) -> bool:
        """Whether it combines several parts."""
        return bool(self.like or self.without)

    @property
    def parts(self) -> tuple["Query", ...]:
        """The query and what it is combined with."""
        return (self, *self.like, *self.without)

    @property
    def label(self) -> str:
        """The query as text, with all its parts."""
        like = "".join(f" + {other.text}" for other in self.like)
        return self.text + like + "".join(f" - {other.text}" for other in self.without)

    @property
    def warning(self) -> str | None:
        """The warning about unknown words, if any."""
        return self.warn()

    def warn(self, hint: str = HINT) -> str | None:
        """The warning about unknown words, if any.

        Args:
            hint: how to choose another language, if that would help.
        """
        if not self.unknown:
            return None
        named = ", ".join(dict.fromkeys(self.unknown))
        return (
            f"the model does not know {len(self.unknown)} of the {len(self.words)} words "
            f"of '{self.text}': {named}{_try(self.better, hint)}"
        )

    @property
    def file(self) -> Path | None:
        """The file of an image query, if it has one."""
        return Path(self.image) if isinstance(self.image, str | os.PathLike) else None


GivenQueries = str | Query | GivenImage | Iterable[str | Query | GivenImage]
"""One or several queries: sentences, images, or already checked queries."""


def check_query(
    model: "Model | ExportedModel", text: str, language: str | None = None, hint: str = HINT
) -> Query:
    """Tokenize a sentence; one without known words is an error.

    Args:
        model: to query.
        text: the sentence.
        language: its tag, `de` or `de-AT`; None if unknown.
        hint: how to choose another language, for error messages.
    """
    if language is not None:
        language = known_language(language, model.languages, model.embedder.reads_all)
    words, unknown = model.embedder.read([text], language)[0]
    if not words:
        raise PolyglanceError(f"the query '{text}' has no words to look for")
    better = _better_language(model, text, language, len(unknown)) if unknown else None
    if len(unknown) == len(words):
        named = ", ".join(dict.fromkeys(unknown))
        known = ", ".join(model.languages)
        raise PolyglanceError(
            f"the model knows none of the words of '{text}' ({named}), so the results would be "
            "arbitrary" + (_try(better, hint) or f"; use one of its languages: {known}")
        )
    return Query(text, language, words, unknown, better)


def _better_language(
    model: "Model | ExportedModel", text: str, language: str | None, unknown: int
) -> str | None:
    """The language of the model with the fewest unknown words, if fewer than now."""
    counts = {}
    for code in model.languages:
        words, missing = model.embedder.read([text], code)[0]
        if words and code != language:
            counts[code] = len(missing)
    best = min(counts, key=lambda code: counts[code], default=None)
    return best if best is not None and counts[best] < unknown else None


def _try(language: str | None, hint: str) -> str:
    if language is None:
        return ""
    name = language_name(language)
    called = "" if name == language else f" ({name})"
    return f"; it knows more of them in {language}{called}: {hint.format(language)}"


def check_queries(
    model: "Model | ExportedModel",
    queries: GivenQueries,
    languages: str | Sequence[str | None] | None = None,
    cache: Path | None = None,
) -> list[Query]:
    """`check_query` for each sentence; a `Query` is returned unchanged.

    A query that cannot be answered has a `problem`; if none can, the first problem is raised.

    Args:
        model: to query.
        queries: one or several sentences or images. The path of an image file is an image.
        languages: one for all queries, or one per query; None detects it by script.
        cache: folder for features of images; the XDG cache by default.
    """
    items = _listed(queries)
    codes = [languages] * len(items) if isinstance(languages, str | None) else list(languages)
    if len(codes) != len(items):
        raise PolyglanceError(f"{len(items)} queries were passed with {len(codes)} languages")
    pairs = zip(items, codes, strict=True)
    found = [_checked(model, query, code, cache) for query, code in pairs]
    if all(query.problem for query in found):
        raise PolyglanceError(str(found[0].problem))
    return found


def _checked(
    model: "Model | ExportedModel", query: Any, language: str | None, cache: Path | None
) -> Query:
    if isinstance(query, Query):
        return query
    if is_image(query):
        return _checked_image(model, query, cache)
    try:
        return check_query(model, query, language)
    except PolyglanceError as error:
        return Query(query, language, (), (), problem=str(error))


def _checked_image(model: "Model | ExportedModel", query: Any, cache: Path | None) -> Query:
    named = isinstance(query, str | os.PathLike)
    text, problem = path_text(Path(query)) if named else "an image", None
    try:
        model.encode_images(query, cache, show_progress=False)
    except PolyglanceError as error:
        problem = str(error)
        if named and not os.path.exists(query):
            problem = (
                f"{text}: no such file; a text that ends like an image file is read as one (to "
                f"search for the word, write '{Path(query).stem}')"
            )
    return Query(text, None, (), (), problem=problem, image=query)


def mix(
    model: "Model | ExportedModel",
    queries: Sequence[Query],
    like: GivenQueries | None,
    without: GivenQueries | None,
    cache: Path | None = None,
) -> list[Query]:
    """Combine every query with the same images, and with the same exclusions.

    Args:
        model: to query.
        queries: checked; if empty, the first image of `like` is the query.
        like: images that results should be similar to.
        without: sentences or images of what they should not show.
        cache: folder for features of images.
    """
    images = [_checked_image(model, one, cache) for one in _listed(like)] if like else []
    others = check_queries(model, without, cache=cache) if without else []
    for part in [*images, *others]:
        if part.problem is not None:
            raise PolyglanceError(part.problem)
    first, rest = (queries, images) if queries else (images[:1], images[1:])
    return [replace(query, like=tuple(rest), without=tuple(others)) for query in first]


def is_image(query: Any) -> bool:
    """Whether a query is an image: not a text, or a text that is the path of an image file.

    A single word that ends like an image file name is one, too, even if the file is missing.
    """
    if not isinstance(query, str):
        return True
    if Path(query[-20:]).suffix.lower() not in EXTENSIONS:
        return False
    return len(query.split()) == 1 or os.path.isfile(query)


def _listed(queries: GivenQueries) -> list[Any]:
    items: Any = [queries] if isinstance(queries, Query) else list(listed(queries))  # type: ignore[arg-type]
    if not items:
        raise PolyglanceError("there is no query; pass at least one sentence")
    return items


def query_texts(queries: GivenQueries) -> list[str]:
    """The texts of one or several queries; an image, which cannot be translated, is an error."""
    texts = []
    for query in _listed(queries):
        text = query.text if isinstance(query, Query) else query
        if is_image(text):
            raise ArgumentError("an image query cannot be combined with `translator`")
        texts.append(text)
    return texts


def translate_queries(
    model: "Model | ExportedModel",
    queries: GivenQueries,
    language: str | Sequence[str | None] | None,
    translator: str,
    target: str | None = None,
    cache: Path | None = None,
) -> tuple[list[str], str, list[str]]:
    """Queries in a language that the model knows, that language, and notes on the translations.

    Args:
        model: to query.
        queries: one or several sentences.
        language: of all queries.
        translator: such as "lexicon:FILE".
        target: target language, by default English if the model knows it.
        cache: folder for translations.
    """
    from polyglance.translation import make_translator, translate

    texts = query_texts(queries)
    if not isinstance(language, str):
        raise ArgumentError("`translator` needs the `language` of the queries, one for all")
    if target is None:
        target = "en" if "en" in model.languages else model.languages[0]
    if target not in model.languages:
        known = ", ".join(model.languages)
        raise ArgumentError(f"`translate_to` {target}: the model knows {known}")
    found = translate(make_translator(translator), texts, language, target, cache)
    translated = []
    for query, text in zip(texts, found, strict=True):
        if text is None:
            raise PolyglanceError(f"the translator has no translation of '{query}' to {target}")
        translated.append(text)
    pairs = zip(texts, translated, strict=True)
    return translated, target, [f"'{old}' is searched for as '{new}'" for old, new in pairs]
