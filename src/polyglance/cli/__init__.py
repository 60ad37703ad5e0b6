"""The command line. Heavy imports are inside the commands, so that --help is fast."""

import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from polyglance.cli.add_language import add_language_command
from polyglance.cli.align import align_command
from polyglance.cli.card import card_command
from polyglance.cli.compact import compact_command
from polyglance.cli.data import data_app
from polyglance.cli.data_classes import classes_command
from polyglance.cli.data_emoji import emoji_command
from polyglance.cli.data_lexicon import lexicon_command
from polyglance.cli.data_merge import merge_command
from polyglance.cli.data_translate import translate_command
from polyglance.cli.data_words import words_command
from polyglance.cli.demo import demo_command
from polyglance.cli.embed import embed_command
from polyglance.cli.evaluate import evaluate_command
from polyglance.cli.export import export_command
from polyglance.cli.features import features_command
from polyglance.cli.library_more import library_app
from polyglance.cli.mcp import mcp_command
from polyglance.cli.pooling import pooling_command
from polyglance.cli.recipes import recipes_app
from polyglance.cli.search import search_command
from polyglance.cli.serve import serve_command
from polyglance.cli.study import study_command
from polyglance.cli.train import train_command
from polyglance.cli.vectors import vectors_command
from polyglance.core.terminal import printable
from polyglance.core.trust import VARIABLE, trusting
from polyglance.errors import MissingPackage, PolyglanceError, PolyglanceWarning
from polyglance.numerics.devices import is_out_of_memory
from polyglance.numerics.torchrun import launched

_SHOW = warnings.showwarning

app = typer.Typer(
    name="polyglance",
    help="Find images with words, and words with images, in your language.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from polyglance.core.version import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True),
    trust: bool = typer.Option(
        False,
        "--trust",
        envvar=VARIABLE,
        help=(
            "Trust model folders: allow them to download networks and to read "
            "files outside the folder."
        ),
    ),
) -> None:
    """Find images with words, and words with images, in your language."""
    if launched() and context.invoked_subcommand != "train":
        raise PolyglanceError(
            f"torchrun can only run 'polyglance train'; run 'polyglance "
            f"{context.invoked_subcommand}' without it"
        )
    context.with_resource(trusting(trust))


data_app.command("translate")(translate_command)
data_app.command("classes")(classes_command)
data_app.command("words")(words_command)
data_app.command("emoji")(emoji_command)
data_app.command("lexicon")(lexicon_command)
data_app.command("merge")(merge_command)

USE, MODELS, RESEARCH = "Search your images", "Train and ship models", "Data and research"
"""Panels of `polyglance --help`, in the order in which users need them."""
app.command("search", rich_help_panel=USE)(search_command)
app.add_typer(library_app, name="library", rich_help_panel=USE)
app.command("serve", rich_help_panel=USE)(serve_command)
app.command("mcp", rich_help_panel=USE)(mcp_command)
app.command("embed", rich_help_panel=USE)(embed_command)
app.command("demo", rich_help_panel=USE)(demo_command)
app.command("train", rich_help_panel=MODELS)(train_command)
app.command("evaluate", rich_help_panel=MODELS)(evaluate_command)
app.command("add-language", rich_help_panel=MODELS)(add_language_command)
app.command("export", rich_help_panel=MODELS)(export_command)
app.command("card", rich_help_panel=MODELS)(card_command)
app.command("compact", rich_help_panel=MODELS)(compact_command)
app.add_typer(data_app, name="data", rich_help_panel=RESEARCH)
app.add_typer(recipes_app, name="recipes", rich_help_panel=RESEARCH)
app.command("study", rich_help_panel=RESEARCH)(study_command)
app.command("features", rich_help_panel=RESEARCH)(features_command)
app.command("vectors", rich_help_panel=RESEARCH)(vectors_command)
app.command("align", rich_help_panel=RESEARCH)(align_command)
app.command("pooling", rich_help_panel=RESEARCH)(pooling_command)


def main() -> None:
    """Entry point: user errors are one sentence on stderr and exit code 2; Ctrl-C is 130."""
    warnings.showwarning = _show
    logging.getLogger().addHandler(logging.NullHandler())  # silences libraries' logging
    # Also remove temporary files when terminated by another program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # torch allocates large tensors in huge pages (Linux), which makes large batches faster.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    try:
        with _one_error_message():
            app()
    except PolyglanceError as error:
        _fail(error)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("polyglance"):
            raise
        _fail(MissingPackage("this command", error.name))
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:  # a file that was not checked before
        where = f"{error.filename}: " if error.filename is not None else ""
        _fail(f"{where}cannot be read or written ({error.strerror or error})")
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        _fail("not enough memory; try smaller sizes, batches or data")
    except SystemExit as end:
        if end.code == 130:  # typer's code for KeyboardInterrupt
            print("interrupted", file=sys.stderr)
        raise


@contextmanager
def _one_error_message() -> Iterator[None]:
    """Of the processes that torchrun started, only one prints an error."""
    if not launched():
        yield
        return
    # Otherwise torch warns in every process about parameters that an update does not use.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from polyglance.training.distributed.error_message import single_error_message

    with single_error_message():
        yield


def _show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Print our warnings as notes; other libraries' warnings only if requested (-W)."""
    if issubclass(category, PolyglanceWarning):
        print(f"note: {printable(message)}", file=sys.stderr)
    elif sys.warnoptions:
        _SHOW(message, category, *where, **more)


def _fail(message: Any) -> None:
    print(f"error: {printable(message)}", file=sys.stderr)
    sys.exit(2)
