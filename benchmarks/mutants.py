"""Mutants of a module: the same source with one small fault each, made on its syntax tree.

The operators are those of the usual mutation testers (Jia & Harman 2011), and a few for tensors:
a method call left out, a named argument left out, `amax` for `amin`. Docstrings, types, error
messages, `dataclass` and `zip`'s `strict` are left as they are.
"""

import ast
import builtins
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
PAIRS = ["max min", "amax amin", "sum mean", "any all", "sin cos", "log exp", "argmax argmin"]
NAMES = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}
MODULES = {"torch", "np", "nn", "F", "functional", "math", "re"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module's source with one fault: its line, its function or class, and the new statement.

    `span` are the lines of the function, or of the whole module if it is in none.
    """

    line: int
    where: str
    change: str
    source: str
    span: range


@dataclass(frozen=True, slots=True)
class _Slot:
    """A position of a node in a tree: a field of `holder`, or an item of a list."""

    holder: Any
    key: Any
    node: ast.AST
    statement: ast.stmt
    where: str
    span: range

    def put(self, node: ast.AST) -> None:
        if isinstance(self.holder, list):
            self.holder[self.key] = node
        else:
            setattr(self.holder, self.key, node)


def mutants(source: str) -> list[Mutant]:
    """All mutants of a module's source, in order.

    >>> [mutant.change for mutant in mutants("def f(a): return a < 2")][1:]
    ['return a <= 2', 'return a >= 2', 'return a < 3', 'return a < 1']
    """
    tree = ast.parse(source)
    found: dict[str, Mutant] = {}
    for slot in list(_slots(tree, None, "", range(1, source.count("\n") + 2))):
        line = getattr(slot.node, "lineno", slot.statement.lineno)
        for replacement in _replacements(slot.node):
            if isinstance(slot.holder, ast.Expr) and not isinstance(replacement, ast.Call):
                continue  # Another mutant leaves out the whole statement.
            slot.put(replacement)
            text = ast.unparse(ast.fix_missing_locations(tree))
            change = _header(slot.statement)
            slot.put(slot.node)
            if slot.node is slot.statement:
                change = f"{change} → {_header(replacement)}"
            found.setdefault(text, Mutant(line, slot.where, change, text, slot.span))
    return list(found.values())


def _slots(node: ast.AST, statement: ast.stmt | None, where: str, span: range) -> Iterator[_Slot]:
    """What may be mutated below a node; no docstrings, types, imports or error messages."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        where = f"{where}.{node.name}".lstrip(".")
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        span = range(first, (node.end_lineno or first) + 1)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_params"):
            continue
        listed = isinstance(value, list)
        for key, item in enumerate(value) if listed else [(field, value)]:
            if not isinstance(item, ast.AST) or _skipped(item):
                continue
            inner = item if isinstance(item, ast.stmt) else statement
            assert inner is not None
            yield _Slot(value if listed else node, key, item, inner, where, span)
            if not isinstance(item, ast.Raise):
                yield from _slots(item, inner, where, span)


def _skipped(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.expr_context():
            return True
        case ast.Expr(ast.Constant()):
            return True
        case ast.Assign([ast.Name("__all__")]):
            return True
        case ast.Call(ast.Name("dataclass")) | ast.keyword("strict"):
            return True
    return False


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, [operator], rest):
            for other in COMPARISONS[type(operator)]:
                yield ast.Compare(left, [other()], rest)
        case ast.Compare(left, [first, *more], rest):
            for other in COMPARISONS[type(first)]:
                yield ast.Compare(left, [other(), *more], rest)
        case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
            yield ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.AugAssign(target, operator, value):
            if type(operator) in ARITHMETIC:
                yield ast.AugAssign(target, ARITHMETIC[type(operator)](), value)
            yield ast.Pass()
        case ast.UnaryOp(ast.USub() | ast.Not() | ast.Invert(), operand):
            yield operand
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.Constant(value):
            yield from (ast.Constant(other) for other in _constants(value))
        case ast.Call():
            yield from _calls(node)
        case ast.comprehension(target, iterated, [test, *more]) if not _negated_anyway(test):
            opposite = ast.UnaryOp(ast.Not(), test)
            yield ast.comprehension(target, iterated, [opposite, *more], node.is_async)
        case ast.If(test, body, orelse) if not _negated_anyway(test):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.IfExp(test, body, orelse) if not _negated_anyway(test):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Return(value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Lambda(arguments):
            yield ast.Lambda(arguments, ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Expr() | ast.Raise():
            yield ast.Pass()


def _constants(value: Any) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case float():
            yield 2 * value if value else 1.0
        case str():
            yield value + "XX"


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    """The paired function, no call, and one named argument less."""
    function, arguments, named = node.func, node.args, node.keywords
    if isinstance(function, ast.Name) and {function.id, NAMES.get(function.id)} <= set(
        dir(builtins)
    ):
        yield ast.Call(ast.Name(NAMES[function.id]), arguments, named)
    if isinstance(function, ast.Attribute):
        if function.attr in NAMES:
            other = ast.Attribute(function.value, NAMES[function.attr])
            yield ast.Call(other, arguments, named)
        owner = function.value
        if not (isinstance(owner, ast.Name) and owner.id in MODULES) and not _is_super(owner):
            yield owner
    for place, argument in enumerate(named):
        if argument.arg and not _skipped(argument):
            yield ast.Call(function, arguments, named[:place] + named[place + 1 :])


def _negated_anyway(test: ast.expr) -> bool:
    """Whether another operator already negates a condition."""
    return isinstance(test, ast.Compare | ast.UnaryOp)


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _header(node: ast.AST) -> str:
    """A statement on one line, without the block below it."""
    if isinstance(getattr(node, "body", None), list):
        node = copy.copy(node)
        node.body = [ast.Expr(ast.Constant(...))]  # type: ignore[attr-defined]
        if hasattr(node, "orelse"):
            node.orelse = []
    return " ".join(ast.unparse(node).split())
