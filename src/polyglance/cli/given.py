"""What is given on the command line: lists with commas, options that exclude others."""

from collections.abc import Collection

import typer

from polyglance.errors import PolyglanceError

ALL = "; leave it out for all"


def listed(text: str, option: str, remedy: str = "") -> list[str]:
    """The parts of a list with commas between; one that names nothing is an error.

    Args:
        text: as it was given.
        option: by which.
        remedy: what to do where it names nothing.

    >>> listed("en, de", "--languages")
    ['en', 'de']
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise PolyglanceError(f"{option} '{text}': names nothing{remedy}")
    return parts


def refuse_others(context: typer.Context, option: str, allowed: Collection[str]) -> None:
    """Raise where an option was given that would do nothing beside another one.

    Args:
        context: of the command.
        option: the other one.
        allowed: names of the parameters that go with it, itself among them.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        if was_given(context, name) and name not in allowed:
            raise PolyglanceError(f"{parameter.opts[0]} does nothing with {option}; leave it out")


def was_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter is on the command line, and not a default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
