"""polyglance compact"""

from pathlib import Path
from typing import Annotated

import typer

from polyglance.errors import PolyglanceError

FACTS = ("data", "fingerprint", "captions")


def compact_command(
    run: Annotated[
        Path, typer.Argument(help="A trained model with universal words, such as MULE.")
    ],
    out: Annotated[Path, typer.Option(help="Output folder of the model.")],
) -> None:
    """Store word vectors instead of the layers that compute them, for deployment."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PolyglanceError(f"{out}: already exists and is not empty; choose another --out")
    from polyglance.evaluation.translations.consistency_file import read_weights, write_weights
    from polyglance.models import Model
    from polyglance.models.compact import compact
    from polyglance.models.folder import CONFIG, WEIGHTS
    from polyglance.runtime import model_folder
    from polyglance.storage.files import read_json

    run = model_folder(run)
    model = Model.load(run)
    small = compact(model)
    config, kept = read_json(run / CONFIG), read_weights(run)
    facts = {name: config[name] for name in FACTS if name in config}
    small.save(out, **facts, parameters=small.parameters())
    if kept is not None:
        write_weights(out, kept.targets, kept.translator, kept.weights)
    for name, one, folder in (("trained", model, run), ("compact", small, out)):
        size = (folder / WEIGHTS).stat().st_size / 2**20
        typer.echo(f"{name}: {_counts(one.parameters())}; {size:.1f} MB")
    typer.echo(f"model: {out}")


def _counts(parameters: dict[str, int]) -> str:
    parts = ", ".join(f"{name} {count:,}" for name, count in parameters.items() if name != "all")
    return f"{parameters['all']:,} trainable parameters ({parts})"
