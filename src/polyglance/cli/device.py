"""The option `--device` of several commands."""

from typing import Annotated

import typer

from polyglance.numerics.devices import AUTO, HELP

DeviceOption = Annotated[str, typer.Option("--device", help=f"Device: {HELP}.")]
DEFAULT = AUTO
