"""How many small faults the tests detect, by file: mutation testing of the numerical rooms.

    python benchmarks/mutation.py [ROOM ...] [--file NAME] [--list]

Every mutant (`mutants.py`) of a room's modules is run against the tests that mirror the room and
the module's doctests, in a copy of the repository, until one fails. A mutant is killed if a test
fails, or if the tests take five times as long as usual. Mutants in `equivalent_mutants.yaml`
behave like the original, for the reason given there; they are not run and do not count. Random
tests are seeded, so that the score is reproducible. Exits with 1 if one survives.
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
from types import FrameType

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
# Any failure is enough: no shrinking.
PHASES = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
FACTS = "facts.json"
NO_TESTS = (4, 5)
"""Exit codes of pytest for missing tests: a mutant may change the names of tests."""


@dataclass(frozen=True, slots=True)
class Room:
    """Modules of the package, and the tests that mirror them."""

    modules: str
    tests: tuple[str, ...]


ROOMS = {
    "objectives": Room("objectives/*.py", ("tests/objectives",)),
    "pooling": Room("pooling/*.py", ("tests/pooling",)),
    "metrics": Room("evaluation/ranking/metrics.py", ("tests/evaluation/ranking/test_metrics.py",)),
    "schedule": Room(
        "training/optimization/schedule.py", ("tests/training/optimization/test_schedule.py",)
    ),
}


@dataclass(slots=True)
class Score:
    """What happened to a file's mutants."""

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
    parser.add_argument("--file", default="", help="only modules whose path ends with this")
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
        sys.exit(f"{ROOT / PACKAGE}: has no '{room.modules}'; fix ROOMS in {__file__}")
    return sorted(path for path in found if str(path).endswith(ending))


def _print(path: Path, found: list[Mutant]) -> None:
    for mutant in found:
        print(f"{path}:{mutant.line}: {mutant.where}: {mutant.change}")


def _run_room(name: str, ending: str) -> Iterator[tuple[Path, Score]]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        tests = [test for test in ROOMS[name].tests if (ROOT / test).exists()]
        for path in _modules(ROOMS[name], ending):
            yield path, _run_module(copy, path, tests)


def _run_module(copy: Path, path: Path, tests: list[str]) -> Score:
    found = mutants((ROOT / path).read_text("utf-8"))
    score = Score()
    if not found:
        return score
    # The tests named after the module first: they kill most.
    own = [p.relative_to(ROOT) for t in tests for p in (ROOT / t).glob(f"test_{path.stem}*.py")]
    run = _Run(copy, path, [*map(str, own), *tests, str(path)])
    known = _equivalent(path)
    for where, change in known - {(mutant.where, mutant.change) for mutant in found}:
        print(f"not a mutant any more {path}: {where}: {change}", flush=True)
    for mutant in found:
        if (mutant.where, mutant.change) in known:
            score.equivalent += 1
        elif run.kills(mutant):
            score.killed += 1
        else:
            score.survived += 1
            print(f"survived {path}:{mutant.line}: {mutant.where}: {mutant.change}", flush=True)
    run.write((ROOT / path).read_text("utf-8"))
    print(f"{path!s:44} {score}", flush=True)
    return score


def _equivalent(path: Path) -> set[tuple[str, str]]:
    """Functions and changes of a module's equivalent mutants."""
    listed = yaml.safe_load(EQUIVALENT.read_text("utf-8")) if EQUIVALENT.is_file() else {}
    rows = listed.get(str(path.relative_to(PACKAGE)), [])
    return {(row["where"], change) for row in rows for change in row["changes"]}


class _Run:
    """Runs the tests of one module in a copy of the repository, each in a separate process."""

    def __init__(self, copy: Path, path: Path, arguments: list[str]) -> None:
        self.copy, self.path, self.arguments = copy, path, arguments
        self.limit = 600.0
        self._pass(watch=True)
        facts = json.loads((copy / FACTS).read_text("utf-8"))
        self.calls: dict[str, list[int]] = facts["calls"]
        for name in facts["modules"]:
            # Import what the tests need once, not in every process.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        gc.freeze()
        started = time.monotonic()
        self._pass()
        self.limit = 10 + 5 * (time.monotonic() - started)

    def _pass(self, watch: bool = False) -> None:
        """The original must pass."""
        if self._code(self.arguments, watch):
            sys.exit(
                f"{self.path}: tests fail without a mutation: pytest {' '.join(self.arguments)}"
            )

    def kills(self, mutant: Mutant) -> bool:
        """Whether a test fails: one that calls the mutant's function, or else any."""
        self.write(mutant.source)
        calling = [
            test for test, lines in self.calls.items() if any(line in mutant.span for line in lines)
        ]
        if 0 < len(calling) < len(self.calls) and self._code(calling) not in (0, *NO_TESTS):
            return True
        code = self._code(self.arguments)
        if code in NO_TESTS:
            sys.exit(f"{self.path}: pytest {' '.join(self.arguments)} finds no tests")
        return code != 0

    def write(self, source: str) -> None:
        """Replace the module's source."""
        path = self.copy / self.path
        path.write_text(source, "utf-8")
        # Python trusts a compiled file of the same size and second.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    def _code(self, arguments: list[str], watch: bool = False) -> int | None:
        context = multiprocessing.get_context("fork")
        process = context.Process(target=self._test, args=(arguments, watch))
        process.start()
        process.join(self.limit)
        if process.is_alive():
            process.kill()
            process.join()
        return process.exitcode

    def _test(self, arguments: list[str], watch: bool) -> None:
        os.chdir(self.copy)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        sys.path[:0] = [str(self.copy / "src")]
        # Otherwise pytest would import the module, for its doctests, before its package.
        module = importlib.import_module(".".join(self.path.with_suffix("").parts[1:]))
        assert Path(str(module.__file__)).is_relative_to(self.copy)
        hypothesis.settings.register_profile(
            "mutation", derandomize=True, deadline=None, phases=PHASES
        )
        calls = _Calls(str(module.__file__))
        code = pytest.main([*OPTIONS, *arguments], [calls] if watch else [])
        if watch:
            installed = [
                name
                for name, found in sys.modules.items()
                if "site-packages" in str(getattr(found, "__file__", None))
            ]
            facts = {"modules": installed, "calls": calls.lines}
            Path(FACTS).write_text(json.dumps(facts), "utf-8")
        os._exit(int(code))


class _Calls:
    """A plugin that records the first lines of a module's functions that every test calls."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[str, list[int]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        lines = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename == self.file:
                lines.add(frame.f_code.co_firstlineno)

        sys.setprofile(note)
        yield
        sys.setprofile(None)
        self.lines[item.nodeid] = sorted(lines)


if __name__ == "__main__":
    main()
