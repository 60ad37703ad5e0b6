"""No source makes a tensor on the CPU where those that it was given may be elsewhere.

The rule, read off the sources: a function with an argument that is annotated as a tensor, or a
method that computes, says `device=` where it or a function in it makes a tensor from nothing.
Constructors are free to: what they register moves with the layer.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import polyglance

SOURCE = Path(polyglance.__file__).parent
MAKERS = re.compile(
    "arange|as_tensor|empty|eye|full|linspace|logspace|ones|rand|randint|randn|randperm|"
    "scalar_tensor|tensor|tril_indices|triu_indices|zeros"
)
"""Functions of torch. Not `from_numpy`, by which batches are prepared for any device."""
COMPUTES = frozenset({"forward", "outcome", "loss", "__call__"})
EXCEPTIONS: dict[str, str] = {
    "numerics/gru_steps.py": "lengths, and the plan of steps made of them, stay on the CPU",
    "numerics/recurrent.py": "lengths, and the plan of steps made of them, stay on the CPU",
    "runtime/conversion/portable.py": "what is traced for ONNX is on the CPU",
    "studies/experiments/pooling_patterns.py": "the experiment is on the CPU",
    "training/assignment/scores.py": "noise comes from a generator of the CPU, for the same draws",
    "training/inputs/augment.py": "what is drawn for a batch is made on the CPU and moved with it",
}
"""File → why its tensors are on the CPU."""


def makers_without_device(source: str) -> Iterator[tuple[str, int, str]]:
    """(function, line, call) of each tensor made from nothing where tensors are given."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and _is_given_tensors(function):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and _makes(node):
                    yield function.name, node.lineno, ast.unparse(node)


def _is_given_tensors(function: ast.FunctionDef) -> bool:
    if function.name == "__init__":
        return False
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    notes = [ast.unparse(one.annotation) for one in every if one.annotation is not None]
    return function.name in COMPUTES or any("Tensor" in note for note in notes)


def _makes(call: ast.Call) -> bool:
    name = call.func
    torchs = isinstance(name, ast.Attribute) and ast.unparse(name.value) == "torch"
    if not torchs or not MAKERS.fullmatch(name.attr):  # type: ignore[union-attr]
        return False
    return not any(keyword.arg in ("device", "out") for keyword in call.keywords)


def test_the_rule_finds_what_it_should() -> None:
    source = """
def scores(images: Tensor) -> Tensor:
    def inner() -> None:
        torch.zeros(3)
    return images + torch.arange(len(images))
def fine(images: Tensor) -> Tensor:
    return images + torch.arange(len(images), device=images.device)
def words(count: int) -> Tensor:
    return torch.zeros(count)
class Layer:
    def __init__(self, table: Tensor) -> None:
        self.weight = torch.empty(3)
    def forward(self, batch):
        return torch.ones(2)
"""
    found = {f"{name}: {call}" for name, _, call in makers_without_device(source)}
    wanted = {"scores: torch.arange(len(images))", "scores: torch.zeros(3)"}
    assert found == wanted | {"forward: torch.ones(2)"}


def test_tensors_are_made_on_the_device_of_what_is_given() -> None:
    found = [
        f"{place}:{line}: {call} in {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (place := path.relative_to(SOURCE).as_posix()) not in EXCEPTIONS
        for name, line, call in makers_without_device(path.read_text())
    ]
    assert not found, f"{found[0]}: say device=, of a tensor that is given"


@pytest.mark.parametrize("place", EXCEPTIONS)
def test_exceptions_are_needed(place: str) -> None:
    """A file that is mended is taken off the list."""
    assert list(makers_without_device((SOURCE / place).read_text()))
