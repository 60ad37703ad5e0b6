"""The option `--device`, which several commands have."""

from typing import Annotated

import typer

from polyglance.numerics.devices import AUTO, HELP

DeviceOption = Annotated[str, typer.Option("--device", help=f"Device: {HELP}.")]
DEFAULT = AUTO
