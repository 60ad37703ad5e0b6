"""The layout shows the architecture: imports point one way, as docs/architecture.md says."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "polyglance"
ABOVE = ("polyglance", "polyglance.__main__")
"""What hands out the public names or starts the program: above all rooms."""
MOST, LISTS = 12, {"cli", "data/convert"}
"""Modules that a folder may hold, and folders with a module for each of a list's entries."""


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in SOURCES.rglob("*.py")}


def imported(node: ast.AST) -> Iterator[str]:
    """Modules of the package that a piece of source imports, lazily or not; not for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and (child.module or "").startswith("polyglance"):
            for alias in child.names:
                inner = f"{child.module}.{alias.name}"
                yield inner if inner in MODULES else str(child.module)
        elif isinstance(child, ast.Import):
            yield from (a.name for a in child.names if a.name.startswith("polyglance"))
        yield from imported(child)


GRAPH = {
    name: set(imported(ast.parse(path.read_text(encoding="utf-8")))) - {name}
    for name, path in MODULES.items()
}


def room_of(module: str) -> str:
    return module.split(".")[1]


def rooms() -> dict[str, set[str]]:
    """Room → the rooms it imports from."""
    found: dict[str, set[str]] = {}
    for module in GRAPH.keys() - set(ABOVE):
        others = GRAPH[module] - set(ABOVE)
        found.setdefault(room_of(module), set()).update(map(room_of, others))
    return {room: others - {room} for room, others in found.items()}


def documented() -> dict[str, set[str]]:
    """The table of docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `?(\w+)`? \|[^|]*\|([^|]*)\|$", text, re.M)
    found = {room: set(re.findall(r"`(\w+)`", needs)) for room, needs in rows}
    return {room: needs for room, needs in found.items() if room != "room"}


def test_no_module_imports_itself_through_others() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' → '.join(error.args[1])}")


def test_every_import_is_of_a_module_that_exists() -> None:
    assert {other for others in GRAPH.values() for other in others} <= set(MODULES)


def test_rooms_depend_on_each_other_as_documented() -> None:
    assert rooms() == documented()


def test_rooms_are_documented_in_the_order_of_their_dependencies() -> None:
    seen: set[str] = set()
    for room, needs in documented().items():
        assert needs <= seen, f"{room} needs {needs - seen}, which come later"
        seen.add(room)


def test_no_folder_is_crowded() -> None:
    folders = {path.parent for path in MODULES.values()}
    crowded = {
        folder.relative_to(SOURCES).as_posix()
        for folder in folders
        if len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) > MOST
    }
    assert crowded == LISTS


def test_rooms_of_a_room_import_one_way() -> None:
    needs: dict[str, set[str]] = {}
    for module, others in GRAPH.items():
        for other in others:
            for one, two in zip(_folders(module), _folders(other), strict=False):
                if one != two:
                    needs.setdefault(one, set()).add(two)
                    break
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(f"rooms import each other: {' → '.join(error.args[1])}")


def _folders(module: str) -> list[str]:
    """The folders that a module lies in, from the room on."""
    parts = MODULES[module].relative_to(SOURCES).parent.parts
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
