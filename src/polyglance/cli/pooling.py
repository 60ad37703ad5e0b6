"""`polyglance pooling`: the coefficients that a model's poolings have learned."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyglance.errors import PolyglanceError

if TYPE_CHECKING:
    from polyglance.models import Model
    from polyglance.pooling.plot import Curve

LARGEST = 1000
SIDES = ("image", "text")


def pooling_command(
    model: Annotated[Path, typer.Argument(help="A run whose recipe pools with gpo or fspool.")],
    out: Annotated[Path, typer.Option(help="Output file (.png).")],
    sizes: Annotated[str, typer.Option(help="Set sizes to plot.")] = "5,9,16,25",
) -> None:
    """Plot the learned coefficients of the image and text pooling by rank."""
    counts = _sizes(sizes)
    if out.suffix.lower() != ".png" or out.is_dir():
        raise PolyglanceError(f"--out {out}: must end in .png")
    from polyglance.models import Model
    from polyglance.pooling.plot import draw
    from polyglance.runtime import model_folder

    panels = _panels(Model.load(model_folder(model)), model, counts)
    draw(out, panels)
    _print(panels)


def _sizes(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    wrong = [part for part in parts if not (part.isascii() and part.isdigit())]
    counts = sorted({int(part[:9]) for part in parts}) if not wrong else []
    if not counts or counts[0] < 1 or counts[-1] > LARGEST:
        raise PolyglanceError(
            f"--sizes {text}: expected comma-separated numbers from 1 to {LARGEST}, such as 5,9,16"
        )
    return counts


def _panels(model: "Model", path: Path, sizes: list[int]) -> dict[str, list["Curve"]]:
    """Curves by title: "image: gpo", "text: gpo", or "text de: gpo" with a tower per language."""
    from polyglance.pooling.plot import curves, learned

    names = {"image": model.recipe.image.pooling, "text": model.recipe.text.pooling}
    panels = {}
    for side in SIDES:
        # An image with a single vector is never pooled, whatever the recipe says.
        if side == "image" and model.recipe.image.is_global:
            continue
        for module, pooling in learned(getattr(model.network, side)).items():
            parts = [part for part in module.split(".") if part.startswith("language_")]
            where = " ".join([side, *(part.removeprefix("language_") for part in parts)])
            panels[f"{where}: {names[side]}"] = curves(pooling, sizes)
    if not panels:
        raise PolyglanceError(
            f"{path}: its poolings ('{names['image']}' of images, '{names['text']}' of text) have "
            "no learned coefficients by rank; train with image.pooling=gpo on a grid or "
            "regions, or with text.pooling=gpo"
        )
    return panels


def _print(panels: dict[str, list["Curve"]]) -> None:
    from rich.console import Console

    from polyglance.evaluation.reports.tables import Rows

    rows, sections = [], set()
    for title, lines in panels.items():
        for line in lines:
            shares = [slice(1), slice(3), slice(-3, None), slice(-1, None)]
            masses = [f"{line.mass(ranks):.3f}" for ranks in shares]
            rows.append([title, str(line.size), *masses, f"{1 / line.size:.3f}"])
        sections.add(len(rows))
    header = ["pooling", "n", "first", "first 3", "last 3", "last", "1/n"]
    notes = ["Weights by rank, the largest value first; the mean would give 1/n to each."]
    table = Rows("Learned coefficients", header, rows, notes, frozenset(sections))
    console = Console()
    console.width = max(console.width, Console(width=1000).measure(table.rich()).maximum)
    console.print(table.rich())
