"""From a row, its changes and a seed to a run, known or new."""

from fnmatch import fnmatch

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, load_recipe
from polyglance.studies.format.measured import make_trial, trial_key
from polyglance.studies.format.overrides import LANGUAGE, Changes, read_changes, renewed, replaced
from polyglance.studies.format.schema import Profile, Row, Study, Training
from polyglance.studies.keys.fingerprint import IMPORTED, nameless, run_key
from polyglance.studies.keys.inputs import run_inputs
from polyglance.studies.plan.runs import RUN, SOURCE, Facts, Plan, Run, X
from polyglance.vision.extraction.store import META

_OWN_FILES = (
    "text.embedder.vectors",
    "text.embedder.graphs",
    "text.embedder.pretrained",
    "text.encoder.pretrained",
)
"""Fields of a recipe that name files which users bring."""


class Lacking(Exception):
    """A training in languages that the data does not have."""

    def __init__(self, languages: list[str]) -> None:
        super().__init__()
        self.languages = languages


class Unavailable(Exception):
    """A training that needs what is not there; the message says what, and where to get it."""


def all_changes(
    study: Study, profile: Profile, row: Row, training: Training, x: X, last: Changes
) -> list[Changes]:
    """All changes in order; later ones win, the most special last.

    Args:
        study: whose own changes come first.
        profile: then its.
        row: then those of a row.
        training: then those of one of its trainings.
        x: a value of the study's curve.
        last: over all others.
    """
    special = [own for name, own in profile.rows.items() if fnmatch(row.name, name)]
    special += [own for name, own in row.by_profile.items() if study.profiles.get(name) is profile]
    changes = [study.overrides, profile.overrides, row.overrides, training.overrides, *special]
    if x is not None and study.curve is not None:
        changes.append(read_changes({study.curve.path: x}))
    if study.experiment is None:
        changes = [renewed(own) for own in changes]
    return [*changes, last]


def add_run(
    plan: Plan,
    row: Row,
    training: Training,
    changes: list[Changes],
    each: str | None,
    seed: int,
    facts: Facts | None,
    overrides: Changes,
) -> Run:
    """The run that a recipe or an experiment's settings make, known or new.

    Args:
        plan: gets the run.
        row: what it is for.
        training: of the row.
        changes: of the recipe, or of the settings.
        each: the language, or another value, that the row has runs for.
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
            recipe = nameless(load_recipe(named, own, shared=True, before=plan.before))
            seeded = recipe.training.model_copy(update={"seed": seed})
            recipe = recipe.model_copy(update={"training": seeded})
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


def _training(recipe: Recipe, source: Run | None, facts: Facts | None) -> Run:
    """A training with its identity; without facts, the identity of its recipe alone."""
    before = source.key if source else None
    if facts is None:
        return Run(run_key(recipe, ""), recipe, source=before)
    inputs = run_inputs(recipe, facts.everywhere, facts.lexicon)
    files = {one.name: one.digest(facts.digests) for one in inputs}
    key = run_key(recipe, facts.fingerprint, facts.dataset, files)
    for one in inputs:
        if not one.files and one.field in _OWN_FILES:
            raise Unavailable(f"{one.path} is not there: --set {one.field}=PATH")
    return Run(key, recipe, source=before, data=facts.fingerprint, inputs=inputs, files=files)


def _check_inputs(recipe: Recipe, facts: Facts | None) -> None:
    """Raise for features that the data lacks, and for a pretrained encoder that is not named."""
    feature, encoder = recipe.image.feature, recipe.text.encoder
    root = None if facts is None else facts.dataset.root
    if feature.startswith(IMPORTED) and root is not None:
        folder = root / "features" / feature.removeprefix(IMPORTED)
        if not (folder / META).is_file():
            raise Unavailable(
                f"the data has no features {feature}: import them ('polyglance data convert "
                "--help'), or name others with --rows ROW --set image.feature=NAME"
            )
    if facts is not None and encoder.kind == "transformer" and encoder.pretrained is None:
        raise Unavailable(
            "no pretrained text encoder is named: --set text.encoder.pretrained=FOLDER, with "
            "--rows for the rows that have one"
        )


def _check_languages(recipe: Recipe, facts: Facts | None) -> None:
    named = dict.fromkeys([*(recipe.data.languages or ()), *(recipe.data.complete or ())])
    if facts is not None and (lacking := [c for c in named if c not in facts.everywhere]):
        raise Lacking(lacking)


def _source(
    plan: Plan, row: Row, recipe: Recipe, overrides: Changes, seed: int, facts: Facts | None
) -> Run | None:
    """The run of the study's source that a row's recipe starts from, if it names one."""
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
