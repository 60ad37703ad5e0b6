"""Executes the missing runs of a plan."""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from polyglance.core.registry import nearest
from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb.spec import Perturbation
from polyglance.numerics.devices import AUTO
from polyglance.storage.files import cache_dir
from polyglance.studies.experiments import experiments
from polyglance.studies.keys.fingerprint import IMPORTED
from polyglance.studies.keys.inputs import Input, run_inputs
from polyglance.studies.plan import DataFacts, Plan, Run, is_chosen
from polyglance.studies.running.machine import cpu_model
from polyglance.studies.running.pool import FAILED, LEFT, START, Pool, threads_for
from polyglance.studies.running.store import MISTAKE, RunFolder, RunOutcome
from polyglance.studies.running.times import RESTART_SECONDS, Estimate, StudyBar
from polyglance.studies.running.weights import runs_to_repeat
from polyglance.studies.running.worker import Task


@dataclass(frozen=True)
class Options:
    """Options for running a study."""

    data: str
    """Empty for a measured study."""
    runs: Path
    jobs: int = 1
    rows: str = "*"
    retry: bool = False
    cache: Path | None = None
    lexicon: Path | None = None
    show_progress: bool | None = None
    device: str = AUTO
    until: float | None = None
    """Deadline for runs, in `time.monotonic` seconds; None for no limit."""

    def folder(self, run: Run) -> RunFolder:
        return RunFolder(self.runs / run.key)


def default_runs(cache: Path | None = None) -> Path:
    """Default folder for runs, shared by all studies."""
    return cache_dir(cache) / "studies" / "runs"


def wanted(plan: Plan, options: Options) -> list[Run]:
    """The runs of the rows selected with --rows."""
    rows = [row.name for row in plan.study.all_rows]
    for pattern in map(str.strip, options.rows.split(",")):
        if not any(is_chosen(name, pattern) for name in rows):
            raise PolyglanceError(f"no row matches '{pattern}'{nearest(pattern, rows)}")
    names = {name for name in rows if is_chosen(name, options.rows)}
    return [run for run in plan.runs.values() if run.rows & names]


def pending(plan: Plan, options: Options) -> list[Run]:
    """The runs still to be performed or evaluated; failed ones only with `retry`.

    They include finished runs whose weights others need and which are missing.
    """
    todo = _incomplete(plan, options)
    keys = {run.key for run in todo} | set(retrained_runs(plan, options))
    return [run for run in wanted(plan, options) if run.key in keys]


def retrained_runs(plan: Plan, options: Options) -> dict[str, str]:
    """Key → reason, for finished runs that are trained again as their weights are missing."""
    folders = {key: options.folder(run) for key, run in plan.runs.items()}
    return runs_to_repeat(plan, _incomplete(plan, options), folders)


def _incomplete(plan: Plan, options: Options) -> list[Run]:
    split = plan.study.evaluation.split
    todo = []
    for run in wanted(plan, options):
        folder = options.folder(run)
        failure = None if options.retry else folder.failure()
        remembered = failure is not None and failure.kind == MISTAKE
        if not remembered and not folder.complete(split, run.needs):
            todo.append(run)
    return todo


def estimate(plan: Plan, options: Options) -> Estimate:
    """Durations of the plan's finished runs; for a group, those on this CPU if there are any."""
    known = Estimate()
    found: dict[str, list[RunOutcome]] = {}
    for run in plan.runs.values():
        if not run.members and (outcome := options.folder(run).outcome()) is not None:
            found.setdefault(run.group, []).append(outcome)
    for group, every in found.items():
        here = [outcome for outcome in every if outcome.machine in (None, cpu_model())]
        for outcome in here or every:
            known.add(group, outcome.seconds)
    return known


def execute(
    plan: Plan,
    facts: DataFacts | None,
    options: Options,
    on_end: Callable[[], None] | None = None,
) -> dict[str, str]:
    """Perform what is missing; key → reason of the selected runs that failed, now or before.

    Args:
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: rows, location, parallelism and deadline.
        on_end: called when a run has finished.
    """
    runs = wanted(plan, options)
    todo = pending(plan, options)
    if todo:
        _check_lexicon(todo, options.lexicon)
        if facts is not None and any(_fits(run, plan, options) for run in todo):
            _extract(todo, facts, options)
        again = set(retrained_runs(plan, options))
        done, left = len(runs) - len(todo), set[str]()
        for stage in _stages(todo):
            ready = [run for run in stage if not run.dependencies & left]
            left |= {run.key for run in stage if run.dependencies & left}
            gone = _run(ready, done, plan, options, len(runs), again, on_end) if ready else set()
            left |= gone
            done += len(ready) - len(gone)
    failures = {run.key: options.folder(run).failure() for run in runs}
    return {key: failure.reason for key, failure in failures.items() if failure is not None}


def _check_lexicon(todo: Sequence[Run], lexicon: Path | None) -> None:
    """Raise early if a lexicon that trainings need is missing."""
    from polyglance.text.lexicon import lexicon_path

    for run in todo:
        for one in _lexicons(run, lexicon):
            lexicon_path(one.path, one.needed_by, f"--lexicon ({one.field} in a recipe)")


def _lexicons(run: Run, lexicon: Path | None = None) -> list[Input]:
    found = [] if run.recipe is None else run_inputs(run.recipe, (), lexicon)
    return [one for one in found if one.field.endswith(".lexicon")]


def uses_lexicon(plan: Plan) -> bool:
    """Whether its trainings, translators or perturbations use a lexicon."""
    runs = plan.runs.values()
    perturbed = [Perturbation.parse(c.perturb) for c in plan.columns if c.perturb is not None]
    return (
        any(_lexicons(run) for run in runs)
        or any("lexicon:" in need.view for run in runs for need in run.needs)
        or any(one.needs_lexicon for one in perturbed)
    )


def _stages(todo: Sequence[Run]) -> list[list[Run]]:
    """Runs grouped in the order in which they can start: those that others need come first."""
    stages, left = [], list(todo)
    while left:
        waiting = {run.key for run in left}
        stages.append([run for run in left if not run.dependencies & waiting])
        left = [run for run in left if run.dependencies & waiting]
    return stages


def _fits(run: Run, plan: Plan, options: Options) -> bool:
    """Whether a run would finish before the deadline, judging by others."""
    if options.until is None:
        return True
    folder = options.folder(run)
    if run.members or (folder.done and folder.has_weights):
        seconds: float | None = RESTART_SECONDS
    else:
        seconds = estimate(plan, options).of(run.group)
    return time.monotonic() + (seconds or 0.0) < options.until


def _run(
    todo: Sequence[Run],
    done: int,
    plan: Plan,
    options: Options,
    total: int,
    again: set[str],
    on_end: Callable[[], None] | None,
) -> set[str]:
    """Perform a stage; the keys of runs that would have missed the deadline."""
    jobs, left = min(_jobs(plan, options), len(todo)), set()
    threads = threads_for(_jobs(plan, options))
    tasks = [_task(run, plan, options, threads, run.key in again) for run in todo]
    for run in todo:
        folder = options.folder(run)
        folder.describe(run, options.data)
        if options.retry and folder.failure() is not None and not folder.done:
            shutil.rmtree(folder.model, ignore_errors=True)
        folder.forget_failure()
    known = estimate(plan, options)
    with (
        StudyBar(todo, (done, total), jobs, known, options.show_progress) as bar,
        Pool(tasks, jobs, lambda position: _fits(todo[position], plan, options)) as pool,
    ):
        for event in pool.events():
            if event is None:
                bar.tick()
            elif event[1] == START:
                bar.start(todo[event[0]])
            elif event[1] == LEFT:
                bar.leave(todo[event[0]])
                left.add(todo[event[0]].key)
            else:
                bar.end(todo[event[0]], event[1].removeprefix(FAILED))
                if on_end is not None:
                    on_end()
    return left


def _jobs(plan: Plan, options: Options) -> int:
    """Number of parallel runs; timing experiments always run alone."""
    name = plan.study.experiment
    return 1 if name is not None and experiments.get(name).alone else options.jobs


def _task(run: Run, plan: Plan, options: Options, threads: int, again: bool = False) -> Task:
    path = Path(options.data)
    own = bool(options.data) and path.exists() and not options.data.startswith("generated")
    return Task(
        folder=str((options.runs / run.key).absolute()),
        spec=run.as_dict(),
        data=str(path.absolute()) if own else options.data,
        split=plan.study.evaluation.split,
        needs=sorted(run.needs, key=lambda need: need.order),
        lexicon=None if options.lexicon is None else str(options.lexicon.absolute()),
        cache=None if options.cache is None else str(options.cache.absolute()),
        threads=threads,
        device=options.device,
        again=again,
    )


def _extract(todo: Sequence[Run], facts: DataFacts, options: Options) -> None:
    """Compute features once, before workers would do it in parallel."""
    recipes = [run.recipe.image for run in todo if run.recipe is not None]
    names = dict.fromkeys(image.feature for image in recipes if image.backbone is None)
    extracted = [name for name in names if not name.startswith(IMPORTED)]
    if not extracted:
        return
    from polyglance.vision.extraction.extract import load_features

    for name in extracted:
        try:
            load_features(
                facts.dataset,
                name,
                options.cache,
                show_progress=options.show_progress,
                device=options.device,
            )
        except PolyglanceError:
            continue  # the runs that need it will report it
