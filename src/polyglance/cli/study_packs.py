"""Messages of `polyglance study` about runs in packs, missing weights, and time."""

from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import typer

from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.studies.plan import DataFacts, Plan
    from polyglance.studies.running.execute import Options


def import_packs(
    named: Sequence[Path],
    pack: Path | None,
    plan: "Plan",
    facts: "DataFacts | None",
    options: "Options",
) -> None:
    """Import the plan's runs from packs.

    Args:
        named: files, and folders of them.
        pack: the file to be written, whose runs are imported as well if it exists.
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: with the location of runs.
    """
    from polyglance.studies.packs import import_runs

    files = _files(named)
    if pack is not None:
        _check_file(pack)
    if pack is not None and pack.exists() and pack not in files:
        files.append(pack)
    for result in import_runs(files, plan, facts, options):
        typer.echo(result.summary, err=True)


def _check_file(pack: Path) -> None:
    """Fail early if the file cannot be written."""
    if pack.is_dir() or pack.suffix.lower() != ".zip":
        raise PolyglanceError(f"--pack {pack}: must end in .zip")
    try:
        pack.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=pack.parent):
            pass
    except OSError as error:
        raise PolyglanceError(f"--pack {pack}: cannot be written ({error.strerror})") from None


def _files(named: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in named:
        inside = sorted(path.glob("*.zip")) if path.is_dir() else [path]
        if not inside:
            raise PolyglanceError(f"--with {path}: the folder has no .zip file written by --pack")
        found += [one for one in inside if one not in found]
    return found


def write_pack_file(
    pack: Path, plan: "Plan", facts: "DataFacts | None", options: "Options"
) -> None:
    """Write the plan's finished runs.

    Args:
        pack: the file.
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: with the location of runs.
    """
    from polyglance.studies.packs import write_pack

    count = write_pack(pack, plan, facts, options)
    typer.echo(f"runs: {pack}, {count} finished, {pack.stat().st_size / 1000:,.0f} kB")


def print_retrained(plan: "Plan", options: "Options") -> None:
    """Print which finished runs are trained again because their weights are missing.

    Args:
        plan: the study's runs.
        options: with the location of runs and the selected rows.
    """
    from polyglance.studies.running.execute import retrained_runs

    for key, why in retrained_runs(plan, options).items():
        label = plan.runs[key].label
        typer.echo(f"{label}: its weights are missing; run again {why}", err=True)


def print_remaining(plan: "Plan", options: "Options", failed: Collection[str]) -> None:
    """Print how many runs did not fit into the time limit, and how long they will take.

    Args:
        plan: the study's runs.
        options: with the time limit.
        failed: keys of failed runs.
    """
    from polyglance.studies.running.execute import estimate, pending
    from polyglance.studies.running.times import duration

    if options.until is None:
        return
    left = [run for run in pending(plan, options) if run.key not in failed]
    if not left:
        return
    known = estimate(plan, options)
    total, each = known.total(left, options.jobs), [known.of(run.group) or 0.0 for run in left]
    time = "" if total is None else f", about {duration(total)}; the shortest {duration(min(each))}"
    runs = f"{len(left)} run{'s' * (len(left) > 1)} left after the time limit (--minutes){time}"
    typer.echo(f"{runs}; run the same command to continue", err=True)
