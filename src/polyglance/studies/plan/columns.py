"""Columns of a study: which ones the data can fill, by which runs, and the evaluations needed."""

from polyglance.errors import PolyglanceError
from polyglance.studies.format.needs import needs_of, translation_of
from polyglance.studies.format.schema import Column, Row, Study, Training
from polyglance.studies.plan.runs import DataFacts, Plan, Run


def present_columns(study: Study, facts: DataFacts | None) -> tuple[list[Column], list[str]]:
    """The columns that the data can fill, and the languages of others; without facts, all."""
    if facts is None:
        return list(study.columns), []
    present = study.evaluation.languages or facts.languages
    named = {column.title for column in study.columns}
    found: list[Column] = []
    missing: list[str] = []
    for column in study.columns:
        if column.language == "*":
            every = [_for(column, code) for code in present if code in facts.languages]
            found += [one for one in every if one.title not in named]
        elif column.language is None or column.language in facts.languages:
            found.append(column)
        elif column.language not in missing:
            missing.append(column.language)
    if all(column.counted for column in found):
        there = ", ".join(facts.languages)
        raise PolyglanceError(
            f"{facts.dataset.name}: none of the study's languages ({', '.join(missing)}) has "
            f"captions in split '{study.evaluation.split}', only {there}"
        )
    return found, missing


def _for(column: Column, language: str) -> Column:
    name = column.name.replace("*", language)
    return column.model_copy(update={"language": language, "name": name})


def filled(
    plan: Plan, row: Row, training: Training, run: Run, facts: DataFacts | None
) -> list[str]:
    """What a run fills: its measures, or the specified languages, else those trained on.

    Args:
        plan: whose columns.
        row: of the run.
        training: of the row.
        run: that fills them.
        facts: of the data.
    """
    if run.trial is not None:
        return run.trial.measures
    if facts is None or run.recipe is None:
        return []
    wanted = [code for c in plan.columns for code in plan.members(c, row, facts)]
    # Translated queries need not be in a training language.
    trained = None if translation_of(row) else run.recipe.data.languages
    named = facts.languages if training.languages == ["*"] else training.languages
    limits = [named or trained, row.evaluation.languages]
    return [c for c in dict.fromkeys(wanted) if all(not limit or c in limit for limit in limits)]


def collect_needs(plan: Plan, facts: DataFacts) -> None:
    """Record in every run which evaluations its columns need."""
    for line in plan.lines:
        for column in plan.columns:
            for code in plan.members(column, line.row, facts):
                needs = needs_of(plan.study, line.row, column, code, facts.lexicon, facts.digests)
                for source in line.sources:
                    if code in source:
                        plan.runs[source[code]].needs.update(needs)
