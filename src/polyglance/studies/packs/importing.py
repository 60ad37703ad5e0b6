"""Imports finished runs of packs into the local folder of runs."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

from polyglance.errors import ArgumentError, PolyglanceError
from polyglance.storage.files import atomic, write_json
from polyglance.studies.packs.content import MEASURES, Pack, PackedRun
from polyglance.studies.packs.parts import as_lists
from polyglance.studies.plan import DataFacts, Plan, Run
from polyglance.studies.running.execute import Options
from polyglance.studies.running.store import NO_WEIGHTS, RunFolder


@dataclass
class ImportResult:
    """What happened to the runs of one pack."""

    path: Path
    runs: list[Run] = field(default_factory=list)
    """Runs imported."""
    here: int = 0
    """Runs that already exist, or are being run."""
    others: int = 0
    """Runs of other studies, rows, seeds or settings."""
    other_data: int = 0
    """Runs on other data."""

    @property
    def summary(self) -> str:
        """A summary in one line."""
        more = {
            "that already exist": self.here,
            "on other data": self.other_data,
            "that this study does not have": self.others,
        }
        rest = ", ".join(f"{count} {what}" for what, count in more.items() if count)
        count = len(self.runs)
        imported = (
            f"{count} finished run{'s' * (count != 1)} imported" if count else "no run imported"
        )
        return f"{self.path}: {imported}{f'; it has {rest}' if rest else ''}"


def pack_files(named: Sequence[Path], pack: Path | None = None) -> list[Path]:
    """The packs to import runs from; a folder without packs is an error.

    Args:
        named: files, and folders of them.
        pack: a file to be written, which is one of them if it exists; an error if it cannot be
            written.
    """
    found: list[Path] = []
    for path in named:
        inside = sorted(path.glob("*.zip")) if path.is_dir() else [path]
        if not inside:
            raise ArgumentError(f"`packs` {path}: the folder has no .zip file written by `pack`")
        found += [one for one in inside if one not in found]
    if pack is not None:
        _check_writable(pack)
        found += [pack] if pack.exists() and pack not in found else []
    return found


def _check_writable(pack: Path) -> None:
    if pack.is_dir() or pack.suffix.lower() != ".zip":
        raise ArgumentError(f"`pack` {pack}: must end in .zip")
    try:
        pack.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=pack.parent):
            pass
    except OSError as error:
        raise ArgumentError(f"`pack` {pack}: cannot be written ({error.strerror})") from None


def import_runs(
    paths: Sequence[Path], plan: Plan, facts: DataFacts | None, options: Options
) -> list[ImportResult]:
    """Import the plan's runs from packs; all files are checked before the first run is written.

    Args:
        paths: the files; if several have a run, the first with all results needed is used.
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: with the location of runs.
    """
    found: dict[str, tuple[PackedRun, ImportResult]] = {}
    outcomes = []
    with ExitStack() as stack:
        packs = [Pack(path) for path in paths]
        for pack in packs:
            stack.callback(pack.close)
        for pack in packs:
            outcomes.append(imported := ImportResult(pack.path))
            for packed in _fitting(pack, plan, facts, imported):
                run, before = plan.runs[packed.key], found.get(packed.key)
                _check(packed, run, facts, pack.path)
                if not _wanted(packed, run, plan, options) or (
                    before is not None and not _lacks(before[0], run, plan)
                ):
                    imported.here += 1
                else:
                    found[packed.key] = packed, imported
    for key, (packed, imported) in found.items():
        if _place(packed, plan.runs[key], plan, options, imported.path):
            imported.runs.append(plan.runs[key])
        else:
            imported.here += 1
    return outcomes


def _fitting(
    pack: Pack, plan: Plan, facts: DataFacts | None, imported: ImportResult
) -> Iterator[PackedRun]:
    for key in pack.keys:
        if key in plan.runs:
            yield pack.read(key)
            continue
        data = pack.identity(key).get("data")
        other = facts is not None and data is not None and data != facts.fingerprint
        imported.other_data += other
        imported.others += not other


def _check(packed: PackedRun, run: Run, facts: DataFacts | None, path: Path) -> None:
    """Raise if results have other images or measures than the run's."""
    for name, value in packed.results.items():
        if name == MEASURES:
            fits = run.trial is not None and set(value["values"]) == set(run.trial.measures)
        else:
            fits = facts is not None and value["photos"] == _images(facts, value["split"])
        if not fits:
            raise PolyglanceError(
                f"{path}: a damaged pack of runs ({name} of run {run.key} has other "
                "images or measures than the run); write it again with --pack"
            )
    if run.trial is not None and MEASURES not in packed.results:
        raise PolyglanceError(
            f"{path}: a damaged pack of runs (run {run.key} has no measures); write it "
            "again with --pack"
        )


def _images(facts: DataFacts, split: str) -> list[str]:
    return [entry.image for entry in facts.dataset.images if entry.split == split]


def _lacks(packed: PackedRun, run: Run, plan: Plan) -> bool:
    """Whether the plan needs a result that a packed run does not have."""
    split, folder = plan.study.evaluation.split, RunFolder(Path())
    return any(folder.result(split, need).name not in packed.results for need in run.needs)


def _wanted(packed: PackedRun, run: Run, plan: Plan, options: Options) -> bool:
    """Whether a packed run has more than the local one."""
    folder, lacks = options.folder(run), _lacks(packed, run, plan)
    if not folder.done:
        return not (lacks and folder.model.exists())  # it is being trained for the missing results
    whole = folder.has_weights or folder.complete(plan.study.evaluation.split, run.needs)
    return not whole and not lacks


def _place(packed: PackedRun, run: Run, plan: Plan, options: Options, path: Path) -> bool:
    """Write a run into its folder, done.json last; False if another process is working on it."""
    folder = options.folder(run)
    folder.path.mkdir(parents=True, exist_ok=True)
    with folder.unused() as unused:
        if not unused or not _wanted(packed, run, plan, options):
            return False
        folder.forget()
        folder.describe(run, options.data)
        if run.recipe is not None:
            with atomic(folder.path / NO_WEIGHTS, "w") as handle:
                handle.write(_no_weights(run, folder, path))
        for name, value in packed.results.items():
            whole = value if name == MEASURES else as_lists(value)
            write_json(folder.path / "results" / name, whole)
        folder.finish(packed.outcome)
    return True


def _no_weights(run: Run, folder: RunFolder, path: Path) -> str:
    row = run.labels[0].partition(",")[0]
    return (
        f"the run was imported from {path.name}, which has no weights; to train it here, delete "
        f"{folder.path} and run 'polyglance study' with --rows '{row}', without --with\n"
    )
