"""What `polyglance study` says of runs in packs, of weights that are not here, and of time."""

from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import typer

from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.studies.plan import Facts, Plan
    from polyglance.studies.running.execute import Options


def take_in(
    named: Sequence[Path],
    pack: Path | None,
    plan: "Plan",
    facts: "Facts | None",
    options: "Options",
) -> None:
    """Take the plan's runs out of packs.

    Args:
        named: files, and folders of them.
        pack: the file to be written, whose runs are taken as well if it is there.
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: where runs are kept.
    """
    from polyglance.studies.packs import take_runs

    files = _files(named)
    if pack is not None:
        _check_file(pack)
    if pack is not None and pack.exists() and pack not in files:
        files.append(pack)
    for taken in take_runs(files, plan, facts, options):
        typer.echo(taken.told, err=True)


def _check_file(pack: Path) -> None:
    """Fail before the work, not after it."""
    if pack.is_dir() or pack.suffix.lower() != ".zip":
        raise PolyglanceError(f"--pack {pack}: name a file that ends in .zip")
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
            raise PolyglanceError(f"--with {path}: the folder has no .zip file that --pack wrote")
        found += [one for one in inside if one not in found]
    return found


def write_out(pack: Path, plan: "Plan", facts: "Facts | None", options: "Options") -> None:
    """Write the plan's finished runs.

    Args:
        pack: the file.
        plan: the study's runs.
        facts: of the data; None for a measured study.
        options: where runs are kept.
    """
    from polyglance.studies.packs import write_pack

    count = write_pack(pack, plan, facts, options)
    typer.echo(f"runs: {pack}, {count} finished, {pack.stat().st_size / 1000:,.0f} kB")


def tell_again(plan: "Plan", options: "Options") -> None:
    """Say which finished runs are trained again, as their weights are not here.

    Args:
        plan: the study's runs.
        options: where they are, and which rows are chosen.
    """
    from polyglance.studies.running.execute import trained_again

    for key, why in trained_again(plan, options).items():
        label = plan.runs[key].label
        typer.echo(f"{label}: its weights are not here; run again {why}", err=True)


def tell_left(plan: "Plan", options: "Options", failed: Collection[str]) -> None:
    """Say how many runs the time was too short for, and how long they will take.

    Args:
        plan: the study's runs.
        options: when runs had to end.
        failed: keys of the runs that failed.
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
    told = "" if total is None else f", about {duration(total)}; the shortest {duration(min(each))}"
    runs = f"{len(left)} run{'s' * (len(left) > 1)} left"
    typer.echo(f"{runs} for want of time (--minutes){told}; the same command goes on", err=True)
