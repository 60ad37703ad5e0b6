"""Docstrings describe arguments if there are more than two, and public names have examples."""

import ast
from collections.abc import Iterator
from doctest import DocTestFinder
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import polyglance
from polyglance import objectives, pooling

SOURCES = Path(__file__).parents[2] / "src" / "polyglance"
EXEMPT = "data/generated/"
"""Drawing and grammar, whose short functions have arguments that say what they are."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Class(NamedTuple):
    """A public class: where it is, its definition, and the names of its base classes."""

    module: str
    tree: ast.ClassDef
    bases: list[str]

    def functions(self) -> dict[str, Function]:
        """Its constructor and public methods, by name."""
        own = [node for node in self.tree.body if isinstance(node, Function)]
        return {one.name: one for one in own if one.name == "__init__" or one.name[0] != "_"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith(EXEMPT):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.Module) -> Iterator[Function]:
    """Public functions of a module, without those that are commands."""
    for node in tree.body:
        if isinstance(node, Function):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            command = node.name.endswith("_command") or "command(" in decorators
            if not node.name.startswith("_") and not command:
                yield node


def classes() -> dict[str, list[Class]]:
    """All classes by name, as a few modules use the same one."""
    found: dict[str, list[Class]] = {}
    for name, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
                found.setdefault(node.name, []).append(Class(name, node, bases))
    return found


def arguments(function: Function) -> list[str]:
    found = function.args
    every = [*found.posonlyargs, *found.args, *found.kwonlyargs, found.vararg, found.kwarg]
    return [one.arg for one in every if one is not None and one.arg not in ("self", "cls")]


@cache
def described(node: Function | ast.ClassDef) -> set[str]:
    """The arguments in the section Args of a docstring."""
    _, _, section = (ast.get_docstring(node) or "").partition("Args:\n")
    return {line.strip().partition(":")[0].strip("* ") for line in section.split("\n")}


def described_in(one: Class, name: str, known: dict[str, list[Class]]) -> set[str]:
    """The arguments of a method that its class, a base class or a protocol describes.

    Those of a constructor stand in the docstring of the class or in its own. A protocol need not
    be a base class; a module's `forward` is its `__call__`.
    """
    found = described(one.tree) if name == "__init__" else set()
    method = one.functions().get(name)
    if method is not None:
        found |= described(method)
    for base in one.bases:
        for parent in known.get(base, ()):
            found |= described_in(parent, name, known)
    return found | described_by_protocols("__call__" if name == "forward" else name, known)


def described_by_protocols(name: str, known: dict[str, list[Class]]) -> set[str]:
    protocols = (one for group in known.values() for one in group if "Protocol" in one.bases)
    methods = (node for one in protocols for node in one.tree.body if isinstance(node, Function))
    return {word for node in methods if node.name == name for word in described(node)}


def test_more_than_two_arguments_of_functions_are_described() -> None:
    found = [(name, one) for name, tree in modules() for one in functions(tree)]
    found = [(name, one) for name, one in found if len(arguments(one)) > 2]
    assert len(found) > 300
    bare = [f"{name}: {one.name}" for name, one in found if set(arguments(one)) - described(one)]
    assert not bare, "\n".join(bare)


def test_more_than_two_arguments_of_constructors_and_methods_are_described() -> None:
    known = classes()
    found, bare = 0, []
    for one in (one for group in known.values() for one in group):
        for name, method in one.functions().items() if one.tree.name[0] != "_" else ():
            if len(arguments(method)) > 2:
                found += 1
                missing = set(arguments(method)) - described_in(one, name, known)
                if missing:
                    bare.append(f"{one.module}: {one.tree.name}.{name}: {sorted(missing)}")
    assert found > 200
    assert not bare, "\n".join(bare)


@pytest.mark.parametrize("name", polyglance.__all__)
def test_what_users_call_has_an_example(name: str) -> None:
    value = getattr(polyglance, name)
    assert not callable(value) or ">>> " in value.__doc__


@pytest.mark.parametrize("package", [objectives, pooling])
def test_losses_and_poolings_have_examples(package: ModuleType) -> None:
    named = {name: getattr(package, name) for name in package.__all__}
    finder = DocTestFinder()  # also in the methods of a class
    bare = [
        name
        for name, value in named.items()
        if callable(value) and not any(one.examples for one in finder.find(value, name))
    ]
    assert not bare
