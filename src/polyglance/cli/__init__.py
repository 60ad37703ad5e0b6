"""The command line. Heavy imports happen inside the commands, so that --help answers at once."""

import sys

import typer

from polyglance.cli.data import data_app
from polyglance.cli.demo import demo_command
from polyglance.cli.evaluate import evaluate_command
from polyglance.cli.features import features_command
from polyglance.cli.recipes import recipes_app
from polyglance.cli.search import search_command
from polyglance.cli.study import study_command
from polyglance.cli.train import train_command
from polyglance.errors import PolyglanceError

app = typer.Typer(
    name="polyglance",
    help="Find pictures with words, and words with pictures, in every language.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from polyglance import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True),
) -> None:
    """Find pictures with words, and words with pictures, in every language."""


app.add_typer(data_app, name="data")
app.command("features")(features_command)
app.command("train")(train_command)
app.command("evaluate")(evaluate_command)
app.command("search")(search_command)
app.add_typer(recipes_app, name="recipes")
app.command("study")(study_command)
app.command("demo")(demo_command)


def main() -> None:
    """Entry point: user errors are one sentence on stderr and exit code 2."""
    try:
        app()
    except PolyglanceError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("polyglance"):
            raise
        remedy = "install what training needs with: pip install 'polyglance[train]'"
        print(f"error: the package '{error.name}' is missing; {remedy}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
