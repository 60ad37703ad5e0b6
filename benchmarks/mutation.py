"""How many small faults the tests notice, by file: mutation testing of the numerical rooms.

    python benchmarks/mutation.py [ROOM ...] [--file NAME] [--list]

Every mutant (`mutants.py`) of a room's modules is run against the tests that mirror the room and
the module's own examples, in a copy of the repository, until one fails. A mutant is killed if a
test fails or takes five times as long as all of them should. Mutants of `equivalent_mutants.yaml` behave
as the original does, for the reason given there; they are not run and do not count.
Random tests are seeded, so that the score is the same every time. Exits with 1 if one survives.
"""

import argparse
import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import hypothesis
import pytest
import yaml
from mutants import Mutant, mutants

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/polyglance")
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.yaml")
WITHOUT = ("cacheprovider", "xdist", "anyio")
OPTIONS = ["-x", "--hypothesis-profile=mutation", *(f"-pno:{plugin}" for plugin in WITHOUT)]
# A failure is enough: the smallest one is not looked for.
PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.generate)


@dataclass(frozen=True, slots=True)
class Room:
    """Modules below the package, and the tests that mirror them."""

    modules: str
    tests: tuple[str, ...]


ROOMS = {
    "objectives": Room("objectives/*.py", ("tests/objectives",)),
    "pooling": Room("pooling/*.py", ("tests/pooling",)),
    "metrics": Room("evaluation/metrics.py", ("tests/evaluation/test_metrics.py",)),
    "schedule": Room("training/schedule.py", ("tests/training/test_schedule.py",)),
}


@dataclass(slots=True)
class Score:
    """What became of a file's mutants."""

    killed: int = 0
    survived: int = 0
    equivalent: int = 0

    def __str__(self) -> str:
        total = self.killed + self.survived
        share = f"{100 * self.killed / total:5.1f} %" if total else "      -"
        return f"{self.killed:5} / {total:4} {share}   equivalent {self.equivalent:3}"


def main() -> None:
    """Read the rooms, run their mutants, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", help=f"of {', '.join(ROOMS)}; all if none is given")
    parser.add_argument("--file", default="", help="only modules whose path ends like this")
    parser.add_argument("--list", action="store_true", help="print the mutants, run none")
    given = parser.parse_args()
    if wrong := set(given.rooms) - set(ROOMS):
        parser.error(f"unknown room '{min(wrong)}'")
    chosen = given.rooms or list(ROOMS)
    if given.list:
        for name in chosen:
            for path in _modules(ROOMS[name], given.file):
                _print(path, mutants((ROOT / path).read_text("utf-8")))
        return
    scores = {path: score for name in chosen for path, score in _run_room(name, given.file)}
    print("\nkilled / mutants")
    for path, score in scores.items():
        print(f"{path!s:44} {score}")
    parts = scores.values()
    whole = Score(*(sum(getattr(s, k) for s in parts) for k in Score.__slots__))
    print(f"{'all':44} {whole}")
    sys.exit(whole.survived > 0)


def _modules(room: Room, ending: str) -> list[Path]:
    found = [path.relative_to(ROOT) for path in (ROOT / PACKAGE).glob(room.modules)]
    if not found:
        sys.exit(f"{ROOT / PACKAGE}: holds no '{room.modules}'; mend ROOMS in {__file__}")
    return sorted(path for path in found if str(path).endswith(ending))


def _print(path: Path, found: list[Mutant]) -> None:
    for mutant in found:
        print(f"{path}:{mutant.line}: {mutant.where}: {mutant.change}")


def _run_room(name: str, ending: str) -> Iterator[tuple[Path, Score]]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, copy / part)
        shutil.copy(ROOT / "pyproject.toml", copy)
        tests = [test for test in ROOMS[name].tests if (ROOT / test).exists()]
        for path in _modules(ROOMS[name], ending):
            yield path, _run_module(copy, path, tests)


def _run_module(copy: Path, path: Path, tests: list[str]) -> Score:
    found = mutants((ROOT / path).read_text("utf-8"))
    score = Score()
    if not found:
        return score
    # The test named after the module first, since it kills most; the module's own examples last,
    # since pytest would import the module before its package.
    own = [p.relative_to(ROOT) for t in tests for p in (ROOT / t).glob(f"test_{path.stem}.py")]
    arguments = [*map(str, own), *tests, str(path)]
    started = time.monotonic()
    if _fails(copy, arguments, 600):
        sys.exit(f"{path}: the tests fail as they are: pytest {' '.join(arguments)}")
    _import_once(copy)
    limit = 10 + 5 * (time.monotonic() - started)
    known = _equivalent(path)
    for mutant in found:
        if (mutant.where, mutant.change) in known:
            score.equivalent += 1
        elif _killed(copy, path, mutant, arguments, limit):
            score.killed += 1
        else:
            score.survived += 1
            print(f"survived {path}:{mutant.line}: {mutant.where}: {mutant.change}", flush=True)
    _write(copy / path, (ROOT / path).read_text("utf-8"))
    print(f"{path!s:44} {score}", flush=True)
    return score


def _equivalent(path: Path) -> set[tuple[str, str]]:
    """Functions and changes of a module's mutants that behave as the original."""
    listed = yaml.safe_load(EQUIVALENT.read_text("utf-8")) if EQUIVALENT.is_file() else {}
    rows = listed.get(str(path.relative_to(PACKAGE)), [])
    return {(row["where"], change) for row in rows for change in row["changes"]}


def _killed(copy: Path, path: Path, mutant: Mutant, arguments: list[str], limit: float) -> bool:
    _write(copy / path, mutant.source)
    return _fails(copy, arguments, limit)


def _write(path: Path, source: str) -> None:
    path.write_text(source, "utf-8")
    # Python trusts a compiled file of the same size and second.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def _fails(copy: Path, arguments: list[str], limit: float) -> bool:
    """Whether the tests fail, in a process of their own."""
    process = multiprocessing.get_context("fork").Process(target=_test, args=(copy, arguments))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode != 0


def _import_once(copy: Path) -> None:
    """Import what the tests do beside the package itself, so that no later process has to."""
    for name in json.loads((copy / "modules.json").read_text()):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.freeze()


def _test(copy: Path, arguments: list[str]) -> None:
    os.chdir(copy)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.path[:0] = [str(copy / "src")]
    hypothesis.settings.register_profile("mutation", derandomize=True, deadline=None, phases=PHASES)
    code = pytest.main([*OPTIONS, *arguments])
    others = [name for name in sys.modules if name.partition(".")[0] not in ("polyglance", "tests")]
    (copy / "modules.json").write_text(json.dumps(others))
    polyglance = sys.modules.get("polyglance")
    inside = polyglance is None or Path(str(polyglance.__file__)).is_relative_to(copy)
    os._exit(int(code) if inside else 99)


if __name__ == "__main__":
    main()
