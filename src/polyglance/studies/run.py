"""Runs a study, from its name and the data to its report."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyglance.data import load_dataset
from polyglance.data.dataset import dataset_fingerprint
from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.numerics.devices import AUTO, choose_device
from polyglance.studies.experiments import experiments
from polyglance.studies.format.load import load_study, short_name
from polyglance.studies.format.overrides import override_texts, read_changes
from polyglance.studies.format.schema import Study
from polyglance.studies.keys.digests import Digests
from polyglance.studies.plan import DataFacts, Plan, make_plan, pick_profile

# Other modules of this room are imported when they are needed: plots and packs take time.
if TYPE_CHECKING:
    from polyglance.studies.packs import ImportResult
    from polyglance.studies.report import Document
    from polyglance.studies.running.execute import Options
    from polyglance.studies.running.states import PlanStates


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Options for running a study.

    Args:
        profile: "quick", "standard" or "paper".
        seeds: number of seeds of every row, 0 … N-1; None is the profile's.
        rows: run only rows that match, comma-separated wildcards.
        overrides: values by field, or `path=value` texts, for every run or those of `rows`.
        jobs: number of parallel runs, which share the cores.
        retry: retry failed runs.
        minutes: start no run that is estimated to end after this time; None for no limit.
        device: to train on, such as "cpu" or "cuda".
        runs: folder for the runs of all studies; None is in the cache.
        cache: folder for features and runs; None is the user's cache.
        lexicon: the file `lexicon.tsv.gz`, for studies that need one.
        pack: a .zip file, to which finished runs are added, without weights; runs in it are
            taken from it.
        packs: further such files, or folders of them, to take finished runs from.
        show_progress: True or False; None shows a bar on a terminal, lines elsewhere.
    """

    profile: str = "standard"
    seeds: int | None = None
    rows: str = "*"
    overrides: Mapping[str, Any] | Sequence[str] = ()
    jobs: int = 1
    retry: bool = False
    minutes: float | None = None
    device: str = AUTO
    runs: Path | None = None
    cache: Path | None = None
    lexicon: Path | None = None
    pack: Path | None = None
    packs: Sequence[Path] = ()
    show_progress: bool | None = None


DEFAULTS = StudyOptions()


@dataclass(frozen=True)
class PreparedStudy:
    """A study with its plan, ready to be run; made by `prepare_study`.

    Args:
        name: of the study.
        data: what the user passed; "" for a measured study.
        plan: its runs.
        facts: of the data; None for a measured study.
        options: the user's.
        started: when it was prepared, in `time.monotonic` seconds.
        running: the options of its runs.
        migrated: number of runs with keys of earlier versions that were found again.
        imported: what was taken from each pack.
    """

    name: str
    data: str
    plan: Plan
    facts: DataFacts | None
    options: StudyOptions
    started: float
    running: "Options"
    migrated: int = 0
    imported: "list[ImportResult]" = field(default_factory=list)

    def states(self) -> "PlanStates":
        """The state of every run, and the expected time of the missing ones; nothing is run."""
        from polyglance.studies.running.states import states_of

        return states_of(self.plan, self.facts, self.running)

    def execute(self) -> dict[str, str]:
        """Run what is missing; key → reason of the selected runs that failed, now or before."""
        from polyglance.studies.packs import PackUpdater
        from polyglance.studies.running.execute import execute

        pack, updater = self.options.pack, None
        if pack is not None:
            updater = PackUpdater(pack, self.plan, self.facts, self.running)
        return execute(self.plan, self.facts, self.running, updater)

    def write_pack(self, path: Path) -> int:
        """Add all finished runs to a pack; returns the number of runs in it."""
        from polyglance.studies.packs import write_pack

        return write_pack(path, self.plan, self.facts, self.running)

    def document(self, failed: Mapping[str, str], out: Path | None = None) -> "Document":
        """The report about all finished runs.

        Args:
            failed: result of `execute`.
            out: folder of the report, for the command that it states.
        """
        from polyglance.studies.findings.results import collect
        from polyglance.studies.report import make_document

        results = collect(self.plan, self.facts, self.running)
        seconds = time.monotonic() - self.started
        command, name = self._command(out), short_name(self.name)
        return make_document(name, results, self.running, failed, command, seconds)

    def _command(self, out: Path | None) -> str:
        """The command that reproduces the report."""
        from polyglance.studies.report.environment import shown_change, shown_path
        from polyglance.studies.running.execute import uses_lexicon

        plan, options = self.plan, self.options
        words = ["polyglance", "study", shown_path(self.name)]
        words += ["--data", shown_path(self.data)] if self.data else []
        words += ["--out", shown_path(str(out))] if out is not None else []
        words += ["--profile", plan.profile_name]
        # The option would override a profile that gives some rows fewer seeds.
        fewer_seeds = any(len(line.sources) < plan.seeds for line in plan.lines)
        words += [] if fewer_seeds else ["--seeds", str(plan.seeds)]
        words += ["--jobs", str(options.jobs)]
        words += ["--rows", options.rows] if options.rows != "*" else []
        if options.lexicon is not None and uses_lexicon(plan):
            words += ["--lexicon", shown_path(str(options.lexicon))]
        changes = override_texts(options.overrides)
        words += [word for change in changes for word in ("--set", shown_change(change))]
        return shlex.join(words)


def run_study(
    study: str | Path,
    data: str | Path | None = None,
    options: StudyOptions = DEFAULTS,
    out: Path | None = None,
) -> "Document":
    """Train and evaluate all rows of a paper's table; call it again to resume.

    Runs that failed are listed in the document's `failures`; the others are completed.

    Args:
        study: the name of an included study, or a YAML file.
        data: dataset folder, CSV/Parquet or "generated"; None for a measured study.
        options: profile, seeds, rows, and where runs are.
        out: folder in which NAME.md, NAME.html and NAME.json are written; None writes none.
    """
    from polyglance.studies.report import write_report

    prepared = prepare_study(study, data, options)
    if out is not None:
        check_report_folder(out)
    failed = prepared.execute()
    if options.pack is not None:
        prepared.write_pack(options.pack)
    document = prepared.document(failed, out)
    if out is not None:
        write_report(document, out)
    return document


def plan_states(
    study: str | Path, data: str | Path | None = None, options: StudyOptions = DEFAULTS
) -> "PlanStates":
    """What `run_study` would run, how long it would take, and what is missing; runs nothing.

    Args:
        study: as for `run_study`.
        data: as for `run_study`.
        options: as for `run_study`.
    """
    return prepare_study(study, data, options, lenient=True).states()


def prepare_study(
    study: str | Path,
    data: str | Path | None = None,
    options: StudyOptions = DEFAULTS,
    *,
    lenient: bool = False,
) -> PreparedStudy:
    """Plan a study, and find its finished runs, also those in packs and of earlier versions.

    Args:
        study: as for `run_study`.
        data: as for `run_study`.
        options: as for `run_study`.
        lenient: allow a plan without any run; otherwise it is an error.
    """
    from polyglance.studies.packs import import_runs, pack_files
    from polyglance.studies.running.execute import Options, default_runs
    from polyglance.studies.running.migrate import migrate_runs

    started, source = time.monotonic(), "" if data is None else str(data)
    name, loaded = str(study), load_study(str(study))
    _check_data(loaded, name, source)
    if not lenient:
        choose_device(options.device)  # fail early
    pick_profile(loaded, options.profile)
    cache, lexicon, facts = options.cache, options.lexicon, None
    if source and loaded.experiment is not None:
        loaded = _with_inputs(loaded, source, cache, lexicon)
    elif source:
        facts = DataFacts.of(load_dataset(source, cache), loaded.evaluation.split, lexicon, cache)
    changes = read_changes(options.overrides)
    plan = make_plan(
        loaded, options.profile, facts, options.seeds, changes, options.rows, lenient=lenient
    )
    running = Options(
        data=source,
        runs=options.runs or default_runs(cache),
        jobs=options.jobs,
        rows=options.rows,
        retry=options.retry,
        cache=cache,
        lexicon=lexicon,
        show_progress=options.show_progress,
        device=options.device,
        until=None if options.minutes is None else started + 60 * options.minutes,
    )
    migrated = 0 if facts is None else migrate_runs(running.runs, facts)
    files = pack_files(options.packs, options.pack)
    imported = list(import_runs(files, plan, facts, running))
    return PreparedStudy(name, source, plan, facts, options, started, running, migrated, imported)


def _check_data(study: Study, name: str, data: str) -> None:
    """Raise if a study lacks data, or has no use for it."""
    measured = None if study.experiment is None else experiments.get(study.experiment)
    if not data and (measured is None or measured.data):
        raise ArgumentError("pass the images and captions with `data`")
    if data and measured is not None and not measured.data:
        raise ArgumentError(f"{name} needs no images; leave out `data`")


def _with_inputs(study: Study, data: str, cache: Path | None, lexicon: Path | None) -> Study:
    """A measured study whose settings have the digests of what it reads."""
    known = {"fingerprint": dataset_fingerprint(load_dataset(data, cache))}
    if lexicon is not None and lexicon.exists():
        known["lexicon"] = Digests(cache).of_lexicon(lexicon)
    return study.model_copy(update={"overrides": {**study.overrides, **known}})


def check_report_folder(out: Path) -> None:
    """Raise early if a report cannot, or should not, be written into a folder; creates it."""
    from polyglance.studies.running.machine import check_clean

    check_clean(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PolyglanceError(f"{out}: cannot be created ({error.strerror})") from None
