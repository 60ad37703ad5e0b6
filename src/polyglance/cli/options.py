"""Helpers for command-line options: comma-separated lists, and options that exclude others."""

from collections.abc import Collection

import typer

from polyglance.errors import PolyglanceError

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


def was_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter was passed on the command line, rather than a default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
