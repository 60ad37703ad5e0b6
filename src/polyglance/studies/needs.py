"""What a cell of a study is made of: captions of some kinds in a language, asked in some way."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from polyglance.evaluation.perturb import Perturbation, perturbation_tag
from polyglance.recipes import load_recipe
from polyglance.recipes.schema import TranslationRecipe
from polyglance.studies.schema import Column, Row, Study


class Need(NamedTuple):
    """What to judge a run on: captions of some kinds (None: the best), and how it is asked.

    `view` is JSON of what is done before: captions made, queries changed or translated; "" is
    nothing.
    """

    kinds: tuple[str, ...] | None
    language: str
    view: str = ""

    @property
    def order(self) -> tuple[tuple[str, ...], str, str]:
        """To sort by."""
        return self.kinds or (), self.language, self.view


def kinds_of(study: Study, row: Row, column: Column) -> tuple[str, ...] | None:
    """The kinds a cell is judged on: the column's, the row's or the study's."""
    if column.machine is not None:
        return ("machine",)
    kinds = column.kinds or row.evaluation.kinds or study.evaluation.kinds
    return tuple(kinds) if kinds else None


def translation_of(row: Row) -> TranslationRecipe | None:
    """How a row's models are asked: as the row says, or its recipe."""
    if row.evaluation.translation is not None or row.recipe is None:
        return row.evaluation.translation
    return _recipe_translation(row.recipe)


@lru_cache(maxsize=64)
def _recipe_translation(recipe: str) -> TranslationRecipe | None:
    return load_recipe(recipe).translation


def view_of(row: Row, column: Column, perturb: str = "") -> str:
    """What is done to a cell's queries, as `Need` has it; `perturb` is a `perturbation_tag`."""
    translation = translation_of(row)
    view: dict[str, Any] = {"perturb": perturb} if perturb else {}
    if translation is not None:
        view["translation"] = translation.model_dump(mode="json")
    if column.machine is not None:
        view["machine"] = column.machine.model_dump(mode="json")
    return json.dumps(view, sort_keys=True) if view else ""


def needs_of(
    study: Study, row: Row, column: Column, language: str, lexicon: Path | None
) -> tuple[Need, ...]:
    """What a cell is made of; of a change, the perturbed and the plain result."""
    plain = Need(kinds_of(study, row, column), language, view_of(row, column))
    if column.perturb is None:
        return (plain,)
    tag = perturbation_tag(Perturbation.parse(column.perturb), lexicon)
    return (plain._replace(view=view_of(row, column, tag)), *([plain] if column.change else []))
