"""Options with which `evaluate` and `search` ask a model in translation."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.data import Dataset
    from polyglance.evaluation import Encoder
    from polyglance.evaluation.translation import Translation
    from polyglance.models import Model
    from polyglance.recipes import Recipe

TRANSLATOR = (
    "lexicon:FILE, file:FILE, captions:DATASET, hf:FOLDER, ctranslate2:FOLDER, argos or http://…"
)

NONE = "none"
"""The consistency that overrules a recipe's."""


class Asked(NamedTuple):
    """What the options say of translating on the dataset `data`; the rest is the recipe's."""

    translator: str | None
    targets: list[str] | None
    consistency: str | None
    data: str | None

    def of(self, model: "Encoder") -> "Translation | None":
        """How to ask `model`; None is without translating."""
        if self.consistency == NONE:
            return None
        asked = self._completed(getattr(model, "recipe", None))
        if asked.translator is None:
            if asked.targets or asked.consistency:
                option = "--translate-to" if asked.targets else "--consistency"
                raise PolyglanceError(f"{option} needs a --translator")
            return None
        if not asked.targets and not asked.consistency:
            raise PolyglanceError("--translator needs --translate-to LANGUAGE or --consistency")
        from polyglance.evaluation.translation import Translation

        consistency: Any = asked.consistency
        translator = asked.translator.replace("$data", self.data or "")
        return Translation(translator, tuple(asked.targets or ()) or None, consistency)

    def _completed(self, recipe: "Recipe | None") -> "Asked":
        if recipe is None or recipe.translation is None:
            return self
        default = recipe.translation
        asked = self._replace(translator=self.translator or default.translator)
        if self.targets is None and self.consistency is None:
            return asked._replace(targets=default.to, consistency=default.consistency)
        return asked


def ask_in_translation(
    asked: Asked, model: "Encoder", dataset: "Dataset", options: dict[str, Any]
) -> "Encoder":
    """The model, translating if that is asked for; what is to be noted goes to stderr."""
    translation = asked.of(model)
    if translation is None:
        return model
    if "perturb" in options:
        raise PolyglanceError(
            "--perturb does not go with translated queries: leave out --translator, or, if the "
            f"recipe asks in translation, add --consistency {NONE}"
        )
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
