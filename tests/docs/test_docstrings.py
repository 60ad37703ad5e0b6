"""Docstrings of public functions describe their arguments if there are more than two."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "polyglance"
EXEMPT = "data/generated/"
"""Drawing and grammar, whose short functions have arguments that say what they are."""


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Public functions of a module and methods of clients, without those that are commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bodies = [tree, *(node for node in classes if node.name.endswith("Client"))]
    for node in (node for body in bodies for node in body.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            command = node.name.endswith("_command") or "command(" in decorators
            if not node.name.startswith("_") and not command:
                yield node


def arguments(function: ast.FunctionDef) -> list[str]:
    found = function.args
    every = [*found.posonlyargs, *found.args, *found.kwonlyargs, found.vararg, found.kwarg]
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


def test_more_than_two_arguments_are_described() -> None:
    found, bare = 0, []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        for function in functions(path) if not name.startswith(EXEMPT) else ():
            if len(arguments(function)) > 2:
                found += 1
                text = ast.get_docstring(function) or ""
                described = {
                    line.strip().partition(":")[0].strip("* ") for line in text.split("\n")
                }
                if "Args:" not in text or not set(arguments(function)) <= described:
                    bare.append(f"{name}: {function.name}")
    assert found > 300
    assert not bare
