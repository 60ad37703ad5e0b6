"""A process that performs runs (training and evaluation, or measurement) for its parent.

Each line on stdin is a task, each line on stdout its outcome; a run's output goes to its log.
When the parent dies, stdin ends and so does the worker.
"""

import json
import os
import queue
import shutil
import sys
import threading
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyglance.core.memory import peak_memory, reset_peak_memory
from polyglance.core.trust import trusting
from polyglance.data import Dataset, load_dataset
from polyglance.errors import PolyglanceError
from polyglance.evaluation.perturb import Perturber, make_perturber
from polyglance.evaluation.perturb.known import KnownWords
from polyglance.numerics.devices import AUTO
from polyglance.recipes import Recipe, check_recipe
from polyglance.storage.files import read_json, write_json
from polyglance.studies.format.measured import Trial
from polyglance.studies.format.needs import Need, View
from polyglance.studies.plan import MEMBERS, RUN
from polyglance.studies.running.machine import commit, cpu_model
from polyglance.studies.running.store import CRASH, MISTAKE, RunFolder, RunOutcome

if TYPE_CHECKING:
    from polyglance.evaluation.encoder import Encoder
    from polyglance.evaluation.translations.translation import Translation


@dataclass(frozen=True)
class Task:
    """The task for one run: `spec` has its recipe, or an experiment and its settings."""

    folder: str
    spec: dict[str, Any]
    data: str
    split: str
    needs: list[Need]
    cache: str | None = None
    threads: int = 1
    lexicon: str | None = None
    device: str = AUTO
    again: bool = False
    """Whether to train a finished run again if its weights are missing."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Task":
        value = json.loads(text)
        found = value.pop("needs")
        needs = [Need(tuple(kinds) if kinds else None, *how) for kinds, *how in found]
        return cls(needs=needs, **value)


def perform(task: Task) -> str:
    """Train and evaluate, or measure, what is not done yet; the reason of a failure, or ""."""
    folder = RunFolder(Path(task.folder))
    with folder.locked(), trusting():  # the models belong to this study
        if task.again and folder.done and not folder.has_weights:
            folder.forget()
        if reason := _lacks_source(task, folder):
            folder.fail(reason, CRASH)
            return reason
        try:
            if "experiment" in task.spec:
                _measure(task, folder)
            else:
                _join(task, folder) if MEMBERS in task.spec else _train(task, folder)
                _evaluate(task, folder)
        except PolyglanceError as error:
            folder.fail(str(error), MISTAKE)
            return str(error)
        except Exception as error:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {error} (see log.txt of run {folder.path.name})"
            folder.fail(reason, CRASH)
            return reason
        folder.forget_failure()
    return ""


def _lacks_source(task: Task, folder: RunFolder) -> str:
    """Why a run cannot start yet, or ""."""
    transfer = task.spec.get("recipe", {}).get("transfer") or {}
    named = str(transfer.get("source") or "")
    source = [named.removeprefix(RUN)] if named.startswith(RUN) else []
    for key in (*source, *task.spec.get(MEMBERS, ())):
        what, other = "starts from" if key in source else "averages", folder.path.parent / key
        if not RunFolder(other).done:
            return f"the run it {what}, {key}, has not been done"
        if not RunFolder(other).has_weights and not (key in source and folder.done):
            return f"the weights of the run it {what}, {key}, are missing; delete {other}"
    return ""


def _measure(task: Task, folder: RunFolder) -> None:
    if folder.done:
        return
    import torch

    torch.set_num_threads(task.threads)
    trial, commit_at_start = Trial.from_dict(task.spec), commit()
    start = time.monotonic()
    more = (_dataset(task.data, task.cache), _path(task.cache)) if trial.parts.data else ()
    measured = trial.parts.run(trial.settings, *more)
    if set(measured.values) != set(trial.measures):
        raise ValueError(f"measured {sorted(measured.values)}, not {sorted(trial.measures)}")
    write_json(folder.measures, asdict(measured))
    seconds = round(time.monotonic() - start, 3)
    folder.finish(
        RunOutcome(seconds, task.threads, machine=cpu_model(), commit=commit_at_start or None)
    )


def _train(task: Task, folder: RunFolder) -> None:
    if folder.done:
        return
    import torch

    from polyglance.training.checkpoint import FILE
    from polyglance.transfer import train_recipe

    torch.set_num_threads(task.threads)
    recipe = check_recipe(task.spec["recipe"], "study run")
    dataset = _dataset(task.data, task.cache)
    _clear_unless_resumable(folder.model, recipe, dataset)
    commit_at_start = commit()
    reset_peak_memory()
    cache, place = _path(task.cache), task.device
    result = train_recipe(recipe, dataset, folder.model, resume=True, cache=cache, device=place)
    done, parts = result.progress, result.model.parameters()
    folder.finish(
        RunOutcome(
            round(done.seconds, 3),
            task.threads,
            done.finished,
            done.update,
            done.best_update,
            parts["all"],
            parts,
            result.updates_per_epoch,
            peak_memory(),
            recipe.loss.warmup(result.updates_per_epoch) or None,
            cpu_model(),
            commit_at_start or None,
            result.tokens,
        )
    )
    # Optimizer states take three times the space of the parameters that evaluations need.
    (folder.model / FILE).unlink(missing_ok=True)


def _members(task: Task, folder: RunFolder) -> list[RunFolder]:
    """The runs of an ensemble."""
    return [RunFolder(folder.path.parent / key) for key in task.spec[MEMBERS]]


def _join(task: Task, folder: RunFolder) -> None:
    """An ensemble is not trained; its parameters are those of all its models."""
    if folder.done:
        return
    parts: Counter[str] = Counter()
    for member in _members(task, folder):
        if (outcome := member.outcome()) is not None:
            parts.update(outcome.parts)
    folder.finish(
        RunOutcome(0.0, task.threads, "joined", parameters=parts["all"], parts=dict(parts))
    )


def _model(task: Task, folder: RunFolder) -> "Encoder":
    """The trained model, or the ensemble."""
    from polyglance.evaluation import Ensemble
    from polyglance.models import Model

    if MEMBERS not in task.spec:
        return Model.load(folder.model, device=task.device)
    members = _members(task, folder)
    return Ensemble([Model.load(member.model, device=task.device) for member in members])


def _clear_unless_resumable(model: Path, recipe: Recipe, dataset: Dataset) -> None:
    """Start from scratch if an older version, or an early kill, left an unusable run."""
    if not model.exists():
        return
    try:
        saved = read_json(model / "model.json")
        written = check_recipe(saved["recipe"], str(model))
        fits = written == recipe and saved["data"] == dataset.name
    except (PolyglanceError, KeyError, TypeError):
        fits = False
    if not fits:
        shutil.rmtree(model)


def _evaluate(task: Task, folder: RunFolder) -> None:
    """Evaluate what is missing, grouping languages with the same kinds and view."""
    lacking = folder.lacking(task.split, set(task.needs))
    if not lacking:
        return
    from polyglance.evaluation import EvaluateOptions, evaluate

    model = _model(task, folder)
    for kinds, text in dict.fromkeys((need.kinds, need.view) for need in lacking):
        view, cache = View.model_validate_json(text or "{}"), _path(task.cache)
        languages = [need.language for need in lacking if (need.kinds, need.view) == (kinds, text)]
        dataset = _captioned(view, task, languages)
        options = EvaluateOptions(
            languages=languages,
            kinds=kinds,
            bootstrap=0,
            perturb=_perturbed(view, task),
            translation=_translation(view, task),
            folds=view.folds or 1,
            same_text=view.same_text or False,
        )
        name = folder.path.name
        report = evaluate(model, dataset, task.split, options, name=name, cache=cache)
        for result in report.results:
            path = folder.result(task.split, Need(kinds, result.language, text))
            single = replace(report, results=[result], averages={})
            write_json(path, single.as_dict(ranks=True))


def _perturbed(view: View, task: Task) -> Perturber | None:
    if not view.perturb:
        return None
    return _perturber(view.perturb, task.data, task.cache, task.lexicon)


def _captioned(view: View, task: Task, languages: list[str]) -> Dataset:
    """The study's data, with machine captions for the split if a view needs them."""
    dataset, made = _dataset(task.data, task.cache), view.machine
    if made is None:
        return dataset
    from polyglance.translation import make_translator
    from polyglance.translation.fill import fill_languages

    translator = make_translator(made.translator.replace("$data", task.data))
    how = made.language, made.kinds
    cache, part = _path(task.cache), dataset.split(task.split)
    filled, _ = fill_languages(part, translator, languages, *how, beside=True, cache=cache)
    others = [entry for entry in dataset.images if entry.split != task.split]
    return replace(dataset, images=[*filled, *others])


def _translation(view: View, task: Task) -> "Translation | None":
    """How a view translates queries; None if it does not."""
    if (how := view.translation) is None:
        return None
    from polyglance.evaluation.translations.translation import Translation

    translator = how.translator.replace("$data", task.data)
    return Translation(translator, tuple(how.to) if how.to else None, how.consistency)


@lru_cache(maxsize=1)
def _dataset(source: str, cache: str | None) -> Dataset:
    return load_dataset(source, _path(cache))


@lru_cache(maxsize=1)
def _known(source: str, cache: str | None) -> KnownWords:
    return KnownWords(_dataset(source, cache))


@lru_cache(maxsize=16)
def _perturber(tag: str, source: str, cache: str | None, lexicon: str | None) -> Perturber:
    return make_perturber(tag.partition("@")[0], _known(source, cache), _path(lexicon))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def main() -> None:
    """Serve until stdin ends."""
    replies = os.fdopen(os.dup(1), "w")
    tasks: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    while True:
        task = Task.from_json(tasks.get())
        _log_to(RunFolder(Path(task.folder)).log)
        if task.lexicon is not None:  # where trainings read it
            os.environ["POLYGLANCE_LEXICON"] = task.lexicon
        subject = task.data or task.spec.get("experiment")
        print(datetime.now().isoformat(" ", "seconds"), "started on", subject, flush=True)
        reason = perform(task)
        print(datetime.now().isoformat(" ", "seconds"), reason or "done")
        sys.stdout.flush()
        sys.stderr.flush()
        print(json.dumps({"reason": reason}), file=replies, flush=True)


def _listen(tasks: "queue.Queue[str]") -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)


def _log_to(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


if __name__ == "__main__":
    main()
