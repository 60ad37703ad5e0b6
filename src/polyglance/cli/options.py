"""Helpers for command-line options: lists, options that need or exclude others, and their names."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import typer

from polyglance.errors import ArgumentError, PolyglanceError

ALL = "; leave it out for all"


def listed(text: str, option: str, remedy: str = "") -> list[str]:
    """The parts of a comma-separated list; an empty list is an error.

    Args:
        text: value of the option.
        option: its name.
        remedy: what to do if it is empty.

    >>> listed("en, de", "--languages")
    ['en', 'de']
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise PolyglanceError(f"{option} '{text}': is empty{remedy}")
    return parts


def reject_other_options(context: typer.Context, option: str, allowed: Collection[str]) -> None:
    """Raise if an option was passed that has no effect with another one.

    Args:
        context: of the command.
        option: the other option.
        allowed: names of the parameters that it can be combined with, including itself.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        if was_given(context, name) and name not in allowed:
            raise PolyglanceError(f"{parameter.opts[0]} has no effect with {option}; leave it out")


def reject_unused_options(
    context: typer.Context, names: Collection[str], needed: str, found: bool
) -> None:
    """Raise if an option was passed that has no effect without something else.

    Args:
        context: of the command.
        names: of the option's parameters.
        needed: what they need.
        found: whether it is there.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        if not found and name in names and was_given(context, name):
            raise PolyglanceError(f"{parameter.opts[0]} needs {needed}")


@contextmanager
def naming_options(**options: str) -> Iterator[None]:
    """Make errors about parameters of a function errors about the options of a command.

    Args:
        **options: those that are not called like the parameter, such as without="--not".

    >>> with naming_options(without="--not"):
    ...     raise ArgumentError("`without` needs `translate_to`")
    Traceback (most recent call last):
    polyglance.errors.PolyglanceError: --not needs --translate-to
    """
    try:
        yield
    except ArgumentError as error:
        raise PolyglanceError(_with_options(str(error), options)) from None


def _with_options(message: str, options: Mapping[str, str]) -> str:
    def option(name: re.Match[str]) -> str:
        return options.get(name[1], f"--{name[1].replace('_', '-')}")

    return re.sub(r"`([a-z_]+)`", option, message)


def was_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter was passed on the command line, rather than a default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
