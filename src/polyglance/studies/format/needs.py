"""What a cell of a study is computed from: captions of some kinds in a language, with a view."""

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb import Perturbation, perturbation_tag
from polyglance.recipes import load_recipe
from polyglance.recipes.schema import Section, TranslationRecipe
from polyglance.studies.format.schema import Column, EvaluationSettings, MachineCaptions, Row, Study
from polyglance.studies.keys.digests import Digests
from polyglance.text.lexicon import lexicon_path


class Need(NamedTuple):
    """What to evaluate a run on: captions of some kinds (None: the best) in a language.

    `view` is the JSON of a `View`; "" for none.
    """

    kinds: tuple[str, ...] | None
    language: str
    view: str = ""

    @property
    def order(self) -> tuple[tuple[str, ...], str, str]:
        """Sort key."""
        return self.kinds or (), self.language, self.view


class View(Section):
    """Preparation of an evaluation: queries perturbed or translated, captions translated."""

    perturb: str | None = None
    translation: TranslationRecipe | None = None
    machine: MachineCaptions | None = None
    lexicon: str | None = None
    """Digest of the lexicon that a translator uses."""
    folds: int | None = None
    """Number of folds of the images to average over; None is one."""
    same_text: bool | None = None


def kinds_of(study: Study, row: Row, column: Column) -> tuple[str, ...] | None:
    """The kinds of captions a cell is evaluated on; None is each language's best.

    Args:
        study: used last.
        row: used if the column has none.
        column: used first; with machine captions, only these.
    """
    if column.machine is not None:
        return ("machine",)
    kinds = column.kinds or row.evaluation.kinds or study.evaluation.kinds
    return tuple(kinds) if kinds else None


def translation_of(row: Row) -> TranslationRecipe | None:
    """How a row's queries are translated, according to the row or its recipe."""
    if row.evaluation.translation is not None or row.recipe is None:
        return row.evaluation.translation
    return _recipe_translation(row.recipe)


@lru_cache(maxsize=64)
def _recipe_translation(recipe: str) -> TranslationRecipe | None:
    return load_recipe(recipe).translation


def view_of(
    row: Row,
    column: Column,
    perturb: str | None = None,
    lexicon: Path | None = None,
    digests: Digests | None = None,
    evaluation: EvaluationSettings | None = None,
) -> str:
    """The view of a cell's evaluation, as in `Need`.

    Args:
        row: determines the translation of queries.
        column: determines whether captions are made by a translator.
        perturb: perturbation of the queries; None for none.
        lexicon: for translators that specify none; None is $POLYGLANCE_LEXICON.
        digests: of files; None leaves them out.
        evaluation: the study's, for columns without folds of their own.
    """
    evaluation = evaluation or EvaluationSettings()
    folds = column.folds or evaluation.folds
    view = View(
        perturb=perturb,
        translation=translation_of(row),
        machine=column.machine,
        folds=folds if folds > 1 else None,
        same_text=evaluation.same_text or None,
    )
    if digests is not None and (path := _translator_lexicon(view, lexicon)) is not None:
        view = view.model_copy(update={"lexicon": digests.of_lexicon(path)})
    found = {k: v for k, v in view.model_dump(mode="json").items() if v is not None}
    return json.dumps(found, sort_keys=True) if found else ""


def _translator_lexicon(view: View, lexicon: Path | None) -> Path | None:
    """The file of a `lexicon:` translator, if any."""
    for part in (view.translation, view.machine):
        for named in ("" if part is None else part.translator).split("|"):
            name, _, argument = named.strip().partition(":")
            if name == "lexicon":
                try:
                    return lexicon_path(argument.partition(",words=")[0] or lexicon, "")
                except PolyglanceError:
                    return None  # the run that needs it will report it
    return None


def needs_of(
    study: Study,
    row: Row,
    column: Column,
    language: str,
    lexicon: Path | None,
    digests: Digests | None = None,
) -> tuple[Need, ...]:
    """What a cell is computed from; for a change, the perturbed and the plain result.

    Args:
        study: its kinds are used if row and column have none.
        row: of the cell.
        column: of the cell.
        language: one of those that the column averages over.
        lexicon: for translators and perturbations that need one.
        digests: of files, so that results depend on the lexicon's content.
    """
    kinds, more = kinds_of(study, row, column), (lexicon, digests, study.evaluation)
    plain = Need(kinds, language, view_of(row, column, None, *more))
    if column.perturb is None:
        return (plain,)
    tag = perturbation_tag(Perturbation.parse(column.perturb), lexicon)
    return (
        plain._replace(view=view_of(row, column, tag, *more)),
        *([plain] if column.change else []),
    )
