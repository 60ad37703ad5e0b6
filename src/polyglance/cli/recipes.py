"""`polyglance recipes`: list and show recipes, and explain their fields."""

import re
import sys
from fnmatch import fnmatch
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from polyglance.errors import PolyglanceError


class _ListFirst(TyperGroup):
    """`recipes` and `recipes 'vse*'` are short for `recipes list …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and not args[0].startswith("-")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


recipes_app = typer.Typer(cls=_ListFirst, help="List and show recipes, and explain their fields.")


@recipes_app.command("list")
def list_command(
    pattern: Annotated[str, typer.Argument(help="Wildcard, such as 'vse*'.")] = "*",
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Also show the number of parameters.")
    ] = False,
) -> None:
    """List recipes with their papers, one per line (also: 'recipes PATTERN')."""
    from polyglance.recipes import load_recipe, recipe_names

    names = [name for name in recipe_names() if fnmatch(name, pattern)]
    if not names:
        there = ", ".join(recipe_names())
        raise PolyglanceError(f"no recipe matches '{pattern}'; choose from: {there}")
    recipes = [load_recipe(name) for name in names]
    if not parameters:
        rows = [[recipe.name, recipe.summary, recipe.paper] for recipe in recipes]
        print_table(["name", "what it is", "paper"], rows)
        return
    from polyglance.models.parameters import CHARACTERS, FEATURES, WORDS, count_parameters

    rows = []
    for recipe in recipes:
        count = count_parameters(recipe)
        size = "by encoder" if count is None else f"{count / 1e6:.1f} M"
        rows.append([recipe.name, size, recipe.summary, recipe.paper])
    caption = (
        f"parameters: with a vocabulary of {WORDS:,} words, or an alphabet of {CHARACTERS} "
        f"characters, and image features of dimension {FEATURES}; for one language if each has "
        "its own tower"
    )
    print_table(["name", "parameters", "what it is", "paper"], rows, caption)


@recipes_app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(help="Name of a recipe, or a YAML file.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="path=value, such as training.lr=1e-3")
    ] = None,
) -> None:
    """Print the resolved recipe as YAML, usable as a recipe file.

    Inherited settings that have no effect in it are left out.
    """
    import yaml

    from polyglance.recipes import load_recipe, parse_overrides
    from polyglance.recipes.schema.effects import fields_with_effect

    values = fields_with_effect(load_recipe(name, parse_overrides(overrides or [])))
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
    typer.echo(text, nl=False)


@recipes_app.command("fields")
def fields_command(
    pattern: Annotated[str, typer.Argument(help="Wildcard, such as 'training.*'.")] = "*",
) -> None:
    """List every field that --set can change: path, type, default, meaning.

    text.embedder[liwe].char_dim is the field text.embedder.char_dim of the embedder liwe.
    """
    from polyglance.recipes import field_rows

    # A bracket around a kind is not a character set; kinds may be left out.
    wanted = pattern.replace("[", "[[]")
    rows = [row for row in field_rows() if any(fnmatch(one, wanted) for one in _names(row[0]))]
    if not rows:
        from polyglance.core.registry import nearest

        hint = nearest(pattern, [row[0] for row in field_rows()])
        raise PolyglanceError(f"no field matches '{pattern}'{hint}")
    print_table(["field", "type", "default", "meaning"], rows)


def _names(path: str) -> tuple[str, str]:
    """A field's path with and without kinds."""
    return path, re.sub(r"\[[^]]*\]", "", path)


def print_table(header: list[str], rows: list[list[str]], caption: str | None = None) -> None:
    """Print a table that wraps to the terminal, or tab-separated lines in a pipe.

    Args:
        header: names of the columns.
        rows: their cells.
        caption: below the table.
    """
    if not sys.stdout.isatty():
        for row in [header, *rows]:
            typer.echo("\t".join(row))
        if caption is not None:
            typer.echo(f"# {caption}")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
    for i, name in enumerate(header):
        numeric = name in ("parameters", "default")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=i == 0)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)
