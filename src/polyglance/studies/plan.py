"""From a study to runs: rows × x-values × seeds, identical ones once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from polyglance.data.dataset import Dataset, dataset_fingerprint
from polyglance.digest import json_digest
from polyglance.errors import PolyglanceError
from polyglance.evaluation.report import HUMAN_KINDS
from polyglance.recipes import Recipe, load_recipe
from polyglance.registry import nearest
from polyglance.studies.digests import Digests
from polyglance.studies.fingerprint import IMPORTED, group_key, nameless, run_key
from polyglance.studies.inputs import Input, run_inputs
from polyglance.studies.measured import (
    Trial,
    check_measures,
    make_trial,
    measure_of,
    trial_group,
    trial_key,
)
from polyglance.studies.needs import Need, kinds_of, needs_of, translation_of
from polyglance.studies.overrides import (
    LANGUAGE,
    Changes,
    in_old_form,
    read_changes,
    renewed,
    replaced,
)
from polyglance.studies.schema import Column, Profile, Row, Study, Training
from polyglance.vision.store import META

SOURCE, RUN = "source:", "run:"
"""How a row names a source of the study, and a recipe the run that became of it."""

MEMBERS = "members"
"""The field of run.json with the runs of an ensemble."""

X = int | float | str | None
NOTHING: Mapping[str, Any] = {}


@dataclass
class Run:
    """One training, or one trial of an experiment, shared by all rows that need it."""

    key: str
    recipe: Recipe | None
    labels: list[str] = field(default_factory=list)
    rows: set[str] = field(default_factory=set)
    needs: set[Need] = field(default_factory=set)
    trial: Trial | None = None
    source: str | None = None
    """Key of the run that has to come before."""
    data: str = ""
    """The data's fingerprint."""
    inputs: list[Input] = field(default_factory=list)
    """What it reads beside the data."""
    files: dict[str, str] = field(default_factory=dict)
    """Their digests by name."""
    members: tuple[str, ...] = ()
    """Of an ensemble, the keys of the runs whose scores it averages."""

    @cached_property
    def group(self) -> str:
        """The same for all seeds: what its duration is estimated from."""
        if self.trial is not None:
            return trial_group(self.trial)
        return self.key if self.recipe is None else group_key(self.recipe, self.data)

    @property
    def before(self) -> set[str]:
        """Keys of the runs that have to come before."""
        return {*self.members, *([self.source] if self.source else [])}

    @property
    def label(self) -> str:
        more = f" (+{len(self.labels) - 1})" if len(self.labels) > 1 else ""
        return self.labels[0] + more

    def as_dict(self) -> dict[str, Any]:
        """What is run, for files."""
        if self.members:
            return {MEMBERS: list(self.members)}
        if self.recipe is not None:
            return {"recipe": self.recipe.model_dump(mode="json"), "files": self.files}
        return {} if self.trial is None else self.trial.as_dict()


@dataclass(frozen=True)
class Line:
    """A row at one x: which run fills which language or measure, for each seed."""

    row: Row
    x: X
    sources: list[dict[str, str]]
    """By seed: language or measure → key of the run."""

    @property
    def title(self) -> str:
        return self.row.title if self.x is None else f"{self.row.title}, {self.x}"


@dataclass(frozen=True)
class Facts:
    """What a plan needs to know of the data: split languages, those of people's captions."""

    dataset: Dataset
    fingerprint: str
    languages: list[str]
    human: list[str]
    everywhere: list[str]
    """Languages of any split."""
    lexicon: Path | None = None
    """For what looks words up: trainings, translators, perturbations."""
    digests: Digests = field(default_factory=Digests)
    """Of the files that runs read beside the data."""

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        split: str,
        lexicon: Path | None = None,
        cache: Path | None = None,
    ) -> "Facts":
        """The facts of a dataset.

        Args:
            dataset: images with captions.
            split: what is evaluated.
            lexicon: the file, for what looks words up.
            cache: where digests of large files are kept.
        """
        part = dataset.split(split)
        human = [code for code in part.languages if part.best_kind(code) in HUMAN_KINDS]
        fingerprint, every = dataset_fingerprint(dataset), dataset.languages
        digests = Digests(cache)
        return cls(dataset, fingerprint, part.languages, human, every, lexicon, digests)


@dataclass(frozen=True)
class Plan:
    """Everything that a study at one profile runs and shows."""

    study: Study
    profile: Profile
    profile_name: str
    seeds: int
    columns: list[Column]
    lines: list[Line]
    runs: dict[str, Run]
    missing: list[str]
    """Languages of columns that the data lacks."""
    lacking: dict[str, list[str]] = field(default_factory=dict)
    """Rows that train on languages which the data lacks."""
    unavailable: dict[str, str] = field(default_factory=dict)
    """Rows that cannot be run here → what is missing, and where it would come from."""
    recipes: dict[str, list[tuple[str | None, Recipe]]] = field(default_factory=dict)
    """Rows and sources → recipes of the first seed with their language, runnable or not."""

    @cached_property
    def before(self) -> bool:
        """Whether the study is of version 0.1.0, whose recipes it means then."""
        return in_old_form(self.study.model_dump())

    def members(self, column: Column, row: Row, facts: Facts | None) -> list[str]:
        """The languages that a column averages over, or its measure.

        Args:
            column: a column of the study.
            row: a row of the study.
            facts: of the data; None in a measured study.
        """
        if column.measure is not None:
            return [measure_of(column, row)]
        if column.language is not None:
            return [column.language]
        if facts is None or column.counted:
            return []
        chosen = self.study.evaluation.languages or facts.languages
        if column.average == "all":
            return [code for code in chosen if code in facts.languages]
        kinds = kinds_of(self.study, row, column)
        if kinds is not None:
            return list(chosen) if set(kinds) <= HUMAN_KINDS else []
        return [code for code in chosen if code in facts.human]


def pick_profile(study: Study, name: str) -> Profile:
    """A profile by name."""
    if name not in study.profiles:
        raise PolyglanceError(f"unknown profile '{name}'{nearest(name, list(study.profiles))}")
    return study.profiles[name]


def is_chosen(name: str, patterns: str) -> bool:
    """Whether a row is one of those in --rows: wildcards with commas between."""
    return any(fnmatch(name, pattern.strip()) for pattern in patterns.split(","))


def make_plan(
    study: Study,
    profile: str = "standard",
    facts: Facts | None = None,
    seeds: int | None = None,
    overrides: Mapping[str, Any] = NOTHING,
    only: str = "*",
    lenient: bool = False,
) -> Plan:
    """All runs of a study.

    Args:
        study: what to run.
        profile: the name of one of its profiles.
        facts: of the data; without them only the number of a retrieval study's runs is
            meaningful. A measured study has no data.
        seeds: of every row; None is as the profile says.
        overrides: changes as `read_changes` takes them, over all others.
        only: pattern of the names of the rows that `overrides` are for.
        lenient: whether a plan without a run is one, too; else it is an error.
    """
    chosen = pick_profile(study, profile)
    if chosen.folds is not None:
        evaluation = study.evaluation.model_copy(update={"folds": chosen.folds})
        study = study.model_copy(update={"evaluation": evaluation})
    columns, missing = _columns(study, facts)
    plan = Plan(study, chosen, profile, seeds or chosen.seeds, columns, [], {}, missing)
    for row in study.all_rows:
        if row.ensemble:
            continue
        last = read_changes(overrides if is_chosen(row.name, only) else {})
        count = seeds or _seeds(chosen, row)
        for x in _xs(study, chosen, row):
            sources: list[dict[str, str]] = [{} for _ in range(count)]
            for training, each in _trainings(row, facts):
                changes = _changes(study, chosen, row, training, x, last)
                for seed in range(count):
                    try:
                        run = _add(plan, row, training, [*changes], each, seed, facts, last)
                    except _Lacking as lacking:
                        plan.lacking.setdefault(row.name, lacking.languages)
                        break
                    except _Unavailable as unavailable:
                        plan.unavailable.setdefault(row.name, str(unavailable))
                        break
                    _describe(run, row, x, each, seed)
                    for name in _fills(plan, row, training, run, facts):
                        sources[seed].setdefault(name, run.key)
            plan.lines.append(Line(row, x, sources))
        if study.experiment is not None:
            check_measures(study, row, [line.sources[0] for line in plan.lines if line.row is row])
    add_ensembles(plan)
    if facts is not None:
        if not plan.runs and not lenient:
            codes = sorted({code for codes in plan.lacking.values() for code in codes})
            if not codes:
                raise PolyglanceError(f"no row can be run: {next(iter(plan.unavailable.values()))}")
            raise PolyglanceError(
                f"{facts.dataset.name}: every row trains on languages that the data lacks "
                f"({', '.join(codes)}); it has {', '.join(facts.languages)}"
            )
        _collect_needs(plan, facts)
    return plan


def count_runs(study: Study, profile: str) -> int:
    """How many runs a profile has, from those of one seed: a run has as many as a row asks for."""
    chosen = pick_profile(study, profile)
    seeds = {row.name: _seeds(chosen, row) for row in study.all_rows}
    runs = make_plan(study, profile, seeds=1).runs.values()
    return sum(max(seeds[name] for name in run.rows) for run in runs)


def _columns(study: Study, facts: Facts | None) -> tuple[list[Column], list[str]]:
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


def _xs(study: Study, profile: Profile, row: Row) -> list[X]:
    if study.curve is None or not row.curve:
        return [None]
    return list(profile.x or study.curve.values)


def _seeds(profile: Profile, row: Row) -> int:
    few = [count for name, count in profile.fewer_seeds.items() if fnmatch(row.name, name)]
    return min([profile.seeds, *few])


def _trainings(row: Row, facts: Facts | None) -> Iterable[tuple[Training, str | None]]:
    if row.each:
        for code in _each(row, facts):
            yield Training(languages=[code]), code
    else:
        for training in row.runs or [Training()]:
            yield training, None


def _each(row: Row, facts: Facts | None) -> list[str]:
    """The values of `each`; of languages, those that the data has and, for "*", all others."""
    listed = [code for code in row.each if code != "*" and not code.startswith("!")]
    if facts is None:
        return listed
    others = [code for code in facts.languages if code not in listed and f"!{code}" not in row.each]
    return [c for c in listed if c in facts.languages] + (others if "*" in row.each else [])


def _changes(
    study: Study, profile: Profile, row: Row, training: Training, x: X, last: Changes
) -> list[Changes]:
    """All changes in order; later ones win, the most special last."""
    special = [own for name, own in profile.rows.items() if fnmatch(row.name, name)]
    special += [own for name, own in row.by_profile.items() if study.profiles.get(name) is profile]
    changes = [study.overrides, profile.overrides, row.overrides, training.overrides, *special]
    if x is not None and study.curve is not None:
        changes.append(read_changes({study.curve.path: x}))
    if study.experiment is None:
        changes = [renewed(own) for own in changes]
    return [*changes, last]


def _add(
    plan: Plan,
    row: Row,
    training: Training,
    changes: list[Changes],
    each: str | None,
    seed: int,
    facts: Facts | None,
    overrides: Changes,
) -> Run:
    """The run that a recipe or an experiment's settings make, known or new."""
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
            raise _Unavailable(f"{one.path} is not there: --set {one.field}=PATH")
    return Run(key, recipe, source=before, data=facts.fingerprint, inputs=inputs, files=files)


_OWN_FILES = (
    "text.embedder.vectors",
    "text.embedder.graphs",
    "text.embedder.pretrained",
    "text.encoder.pretrained",
)
"""Fields of a recipe that name files which users bring."""


def add_ensembles(plan: Plan) -> None:
    """Lines and runs of rows that average others', once those are planned; lines in rows' order."""
    for row in plan.study.all_rows:
        if row.ensemble:
            plan.lines.extend(_ensemble(plan, row, x) for x in _ensemble_xs(plan, row))
    order = [row.name for row in plan.study.all_rows]
    plan.lines.sort(key=lambda line: order.index(line.row.name))


def _ensemble_xs(plan: Plan, row: Row) -> list[X]:
    return list(dict.fromkeys(line.x for line in plan.lines if line.row.name == row.ensemble[0]))


def _ensemble(plan: Plan, row: Row, x: X) -> Line:
    """An ensemble's line; a row that it names twice gives seeds s and s + 1, the last the first."""
    by_name = {line.row.name: line for line in plan.lines if line.x in (x, None)}
    lines = [by_name[name] for name in row.ensemble if name in by_name]
    again = [row.ensemble[:place].count(name) for place, name in enumerate(row.ensemble)]
    sources: list[dict[str, str]] = []
    count = min(len(line.sources) for line in lines)
    if max(again) >= count:
        plan.unavailable[row.name] = (
            f"an ensemble of a row with itself needs {max(again) + 1} seeds"
        )
        return Line(row, x, [{} for _ in range(count)])
    missing = [name for name in row.ensemble if name in plan.lacking or name in plan.unavailable]
    if missing:
        plan.unavailable[row.name] = f"row '{missing[0]}', which it averages, cannot be run"
    for seed in range(count):
        own = [
            line.sources[(seed + shift) % len(line.sources)]
            for line, shift in zip(lines, again, strict=True)
        ]
        shared = [code for code in own[0] if all(code in other for other in own)]
        keys = {code: tuple(source[code] for source in own) for code in shared}
        sources.append({c: _join(plan, row, x, seed, found).key for c, found in keys.items()})
    return Line(row, x, sources)


def _join(plan: Plan, row: Row, x: X, seed: int, members: tuple[str, ...]) -> Run:
    """The run of an ensemble, known or new; its members are needed for its row, too."""
    key = json_digest({MEMBERS: members})[:24]
    run = plan.runs.setdefault(key, Run(key, None, members=members))
    if row.name not in run.rows:
        _describe(run, row, x, None, seed)
    for member in members:
        plan.runs[member].rows.add(row.name)
    return run


class _Lacking(Exception):
    """A training in languages that the data does not have."""

    def __init__(self, languages: list[str]) -> None:
        super().__init__()
        self.languages = languages


class _Unavailable(Exception):
    """A training that needs what is not there; the message says what, and where to get it."""


def _check_inputs(recipe: Recipe, facts: Facts | None) -> None:
    """Raise for features that the data lacks, and for a pretrained encoder that is not named."""
    feature, encoder = recipe.image.feature, recipe.text.encoder
    root = None if facts is None else facts.dataset.root
    if feature.startswith(IMPORTED) and root is not None:
        folder = root / "features" / feature.removeprefix(IMPORTED)
        if not (folder / META).is_file():
            raise _Unavailable(
                f"the data has no features {feature}: import them ('polyglance data convert "
                "--help'), or name others with --rows ROW --set image.feature=NAME"
            )
    if facts is not None and encoder.kind == "transformer" and encoder.pretrained is None:
        raise _Unavailable(
            "no pretrained text encoder is named: --set text.encoder.pretrained=FOLDER, with "
            "--rows for the rows that have one"
        )


def _check_languages(recipe: Recipe, facts: Facts | None) -> None:
    named = dict.fromkeys([*(recipe.data.languages or ()), *(recipe.data.complete or ())])
    if facts is not None and (lacking := [c for c in named if c not in facts.everywhere]):
        raise _Lacking(lacking)


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
    changes = _changes(plan.study, plan.profile, as_row, training, None, overrides)
    run = _add(plan, as_row, training, changes, None, seed, facts, overrides)
    run.rows.add(row.name)
    label = f"{as_row.name}, seed {seed}"
    run.labels += [label] * (label not in run.labels)
    return run


def _describe(run: Run, row: Row, x: X, each: str | None, seed: int) -> None:
    parts = [row.name, each, None if x is None else str(x), f"seed {seed}"]
    run.labels.append(", ".join(part for part in parts if part))
    run.rows.add(row.name)


def _fills(plan: Plan, row: Row, training: Training, run: Run, facts: Facts | None) -> list[str]:
    """What a run fills: its measures, or the languages named, else those trained on."""
    if run.trial is not None:
        return run.trial.measures
    if facts is None or run.recipe is None:
        return []
    wanted = [code for c in plan.columns for code in plan.members(c, row, facts)]
    # What is translated need not have been trained on.
    trained = None if translation_of(row) else run.recipe.data.languages
    named = facts.languages if training.languages == ["*"] else training.languages
    limits = [named or trained, row.evaluation.languages]
    return [c for c in dict.fromkeys(wanted) if all(not limit or c in limit for limit in limits)]


def _collect_needs(plan: Plan, facts: Facts) -> None:
    for line in plan.lines:
        for column in plan.columns:
            for code in plan.members(column, line.row, facts):
                needs = needs_of(plan.study, line.row, column, code, facts.lexicon, facts.digests)
                for source in line.sources:
                    if code in source:
                        plan.runs[source[code]].needs.update(needs)
