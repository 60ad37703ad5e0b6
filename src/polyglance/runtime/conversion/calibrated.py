"""Exports a model together with its background: completely, or not at all."""

from collections.abc import Callable
from pathlib import Path

from polyglance.data.dataset import Dataset
from polyglance.runtime.background import Background, add_background
from polyglance.runtime.calibration import background_of
from polyglance.runtime.conversion.export import check_new
from polyglance.runtime.manifest import Manifest
from polyglance.runtime.model import load
from polyglance.storage.staging import staged
from polyglance.text.lexicon import Lexicon


def export_with_background(
    export: Callable[[Path], Manifest],
    out: str | Path,
    data: Dataset,
    cache: Path | None = None,
    lexicon: Lexicon | None = None,
) -> tuple[Manifest, Background]:
    """Export a model and calibrate the export; without a background, nothing is written.

    Args:
        export: writes the export to a folder, as `export_model` does.
        out: output folder; must be new or empty.
        data: captioned images that the model was not trained on.
        cache: folder for features; None is the XDG cache.
        lexicon: as for `background_of`.
    """
    target = Path(out)
    check_new(target)
    with staged(target, replace=False) as folder:
        export(folder)
        found = background_of(load(folder), data, cache, lexicon=lexicon)
        made = add_background(folder, found)
    return made, found
