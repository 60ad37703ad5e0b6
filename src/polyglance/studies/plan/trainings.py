"""From a row, its overrides and a seed to a run, known or new."""

from fnmatch import fnmatch

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe
from polyglance.studies.format.measured import make_trial, trial_key
from polyglance.studies.format.overrides import LANGUAGE, Changes, read_changes, replaced, upgraded
from polyglance.studies.format.schema import Profile, Row, Study, Training
from polyglance.studies.keys.fingerprint import IMPORTED, run_key, training_fields
from polyglance.studies.keys.inputs import run_inputs
from polyglance.studies.plan.runs import RUN, SOURCE, DataFacts, Plan, Run, X
from polyglance.vision.extraction.store import META

_OWN_FILES = (
    "text.embedder.vectors",
    "text.embedder.graphs",
    "text.embedder.pretrained",
    "text.encoder.pretrained",
)
"""Recipe fields that refer to files provided by users."""


class MissingLanguages(Exception):
    """A training in languages that the data does not have."""

    def __init__(self, languages: list[str]) -> None:
        super().__init__()
        self.languages = languages


class MissingInputs(Exception):
    """A training with missing inputs; the message says which, and where to get them."""


def all_changes(
    study: Study, profile: Profile, row: Row, training: Training, x: X, last: Changes
) -> list[Changes]:
    """All overrides in order; later, more specific ones take precedence.

    Args:
        study: whose overrides come first.
        profile: then its overrides.
        row: then those of a row.
        training: then those of one of its trainings.
        x: a value of the study's curve.
        last: take precedence over all others.
    """
    special = [own for name, own in profile.rows.items() if fnmatch(row.name, name)]
    special += [own for name, own in row.by_profile.items() if study.profiles.get(name) is profile]
    changes = [study.overrides, profile.overrides, row.overrides, training.overrides, *special]
    if x is not None and study.curve is not None:
        changes.append(read_changes({study.curve.path: x}))
    changes = [own for own in changes if own]
    if study.experiment is None:
        changes = [upgraded(own) for own in changes]
    return [*changes, last] if last else changes


def add_run(
    plan: Plan,
    row: Row,
    training: Training,
    changes: list[Changes],
    each: str | None,
    seed: int,
    facts: DataFacts | None,
    overrides: Changes,
) -> Run:
    """The run defined by a recipe or an experiment's settings, known or new.

    Args:
        plan: to add the run to.
        row: that it is for.
        training: of the row.
        changes: to the recipe, or to the settings.
        each: the language, or another value, of this run among the row's.
        seed: of the run.
        facts: of the data.
        overrides: the last of the changes, for the run's source.
    """
    try:
        if plan.study.experiment is not None:
            trial = make_trial(plan.study.experiment, [*changes, {"seed": seed}], each)
            run = Run(trial_key(trial), None, trial=trial)
        else:
            own = [replaced(one, LANGUAGE, each) for one in changes]
            named = training.recipe or row.recipe or ""
            recipe = load_recipe(named, own, shared=True, before=plan.is_v0_1_0)
            recipe = training_fields(recipe, seed)
            if seed == 0:
                plan.recipes.setdefault(row.name, []).append((each, recipe))
            _check_languages(recipe, facts)
            _check_inputs(recipe, facts)
            source = _source(plan, row, recipe, overrides, seed, facts)
            if source is not None and recipe.transfer is not None:
                begun = recipe.transfer.model_copy(update={"source": f"{RUN}{source.key}"})
                recipe = recipe.model_copy(update={"transfer": begun})
            run = _training(recipe, source, facts)
    except PolyglanceError as error:
        raise PolyglanceError(f"study row '{row.name}': {error}") from None
    return plan.runs.setdefault(run.key, run)


def _training(recipe: Recipe, source: Run | None, facts: DataFacts | None) -> Run:
    """A training with its identity; without facts, the identity of its recipe alone."""
    before = source.key if source else None
    if facts is None:
        return Run(run_key(recipe, ""), recipe, source=before)
    inputs = run_inputs(recipe, facts.everywhere, facts.lexicon)
    files = {one.name: one.digest(facts.digests) for one in inputs}
    key = run_key(recipe, facts.fingerprint, facts.dataset, files)
    for one in inputs:
        if not one.files and one.field in _OWN_FILES:
            raise MissingInputs(f"{one.path} does not exist: --set {one.field}=PATH")
    return Run(key, recipe, source=before, data=facts.fingerprint, inputs=inputs, files=files)


def _check_inputs(recipe: Recipe, facts: DataFacts | None) -> None:
    """Raise for features that the data lacks, and for a missing pretrained encoder."""
    feature = recipe.image.feature
    root = None if facts is None else facts.dataset.root
    if feature.startswith(IMPORTED) and root is not None:
        folder = root / "features" / feature.removeprefix(IMPORTED)
        if not (folder / META).is_file():
            raise MissingInputs(
                f"the data has no features {feature}: import them ('polyglance data convert "
                "--help'), or choose others with --rows ROW --set image.feature=NAME"
            )
    for place in ("encoder", "embedder"):
        section = getattr(recipe.text, place)
        if facts is not None and section.kind == "transformer" and section.pretrained is None:
            raise MissingInputs(
                f"no pretrained text encoder is specified: --set text.{place}.pretrained=FOLDER, "
                "with --rows for the rows that have one"
            )


def _check_languages(recipe: Recipe, facts: DataFacts | None) -> None:
    named = dict.fromkeys([*(recipe.data.languages or ()), *(recipe.data.complete or ())])
    if facts is not None and (lacking := [c for c in named if c not in facts.everywhere]):
        raise MissingLanguages(lacking)


def _source(
    plan: Plan, row: Row, recipe: Recipe, overrides: Changes, seed: int, facts: DataFacts | None
) -> Run | None:
    """The run of the study's source that a row's recipe starts from, if any."""
    named = "" if recipe.transfer is None else recipe.transfer.source
    if not named.startswith(SOURCE):
        return None
    name = named.removeprefix(SOURCE)
    if name not in plan.study.sources:
        hint = nearest(name, list(plan.study.sources))
        raise PolyglanceError(f"transfer.source: the study has no source '{name}'{hint}")
    training = plan.study.sources[name]
    as_row = Row.model_validate({"name": f"source {name}"})
    changes = all_changes(plan.study, plan.profile, as_row, training, None, overrides)
    run = add_run(plan, as_row, training, changes, None, seed, facts, overrides)
    run.rows.add(row.name)
    label = f"{as_row.name}, seed {seed}"
    run.labels += [label] * (label not in run.labels)
    return run
