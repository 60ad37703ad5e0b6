"""Options with which `evaluate` and `search` ask a model in translation."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.evaluation import Encoder
    from polyglance.evaluation.translation import Translation
    from polyglance.models import Model

TRANSLATOR = (
    "lexicon:FILE, file:FILE, captions:DATASET, hf:FOLDER, ctranslate2:FOLDER, argos or http://…"
)


def translation_of(
    translator: str | None, targets: list[str] | None, consistency: str | None
) -> "Translation | None":
    """What the options say; those that make no sense without others are told."""
    if translator is None:
        if targets or consistency:
            option = "--translate-to" if targets else "--consistency"
            raise PolyglanceError(f"{option} needs a --translator")
        return None
    if not targets and not consistency:
        raise PolyglanceError("--translator needs --translate-to LANGUAGE or --consistency")
    from polyglance.evaluation.translation import Translation

    chosen: Any = consistency
    return Translation(translator, tuple(targets) if targets else None, chosen)


def ask_in_translation(
    translation: "Translation | None", model: "Encoder", dataset: "Dataset", options: dict[str, Any]
) -> "Encoder":
    """The model, translating if that is asked for; what is to be noted goes to stderr."""
    if translation is None:
        return model
    names = ("split", "languages", "kinds", "cache")
    used = {name: options[name] for name in names}
    translated, notes = translation.of(model, dataset, **used)
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    return translated


def translate_queries(
    model: "Model",
    queries: list[str],
    language: str | None,
    translator: str,
    target: str | None,
    cache: Path | None,
) -> tuple[list[str], str]:
    """Queries in a language that the model knows, and that language."""
    from polyglance.translation import make_translator, translate

    if language is None:
        raise PolyglanceError("--translator needs the --language of the queries")
    if target is None:
        target = "en" if "en" in model.languages else model.languages[0]
    if target not in model.languages:
        known = ", ".join(model.languages)
        raise PolyglanceError(f"--translate-to {target}: the model knows {known}")
    found = translate(make_translator(translator), queries, language, target, cache)
    translated = []
    for query, text in zip(queries, found, strict=True):
        if text is None:
            raise PolyglanceError(f"the translator has no translation of '{query}' to {target}")
        typer.echo(f"note: '{query}' is searched for as '{text}'", err=True)
        translated.append(text)
    return translated, target
