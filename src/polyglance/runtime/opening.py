"""Opening a model from a folder."""

from pathlib import Path
from typing import TYPE_CHECKING

from polyglance.errors import PolyglanceError, needed_by
from polyglance.numerics.devices import AUTO, CPU, Device
from polyglance.runtime.folders import RUN, check_model_folder, model_folder
from polyglance.runtime.manifest import EMBEDDER, is_exported
from polyglance.runtime.model import ExportedModel, load
from polyglance.storage.files import has_file

if TYPE_CHECKING:
    from polyglance.models import Model


def is_model(folder: Path) -> bool:
    """Whether a folder is a run's or an exported model's, judged by its files."""
    return has_file(folder / RUN) or (is_exported(folder) and (folder / EMBEDDER).is_dir())


def open_model(
    place: str | Path | None = None, trust: bool = False, device: Device = CPU
) -> "ExportedModel | Model":
    """Load a model: the included one, an exported one, or a run, which needs torch.

    Args:
        place: folder of an exported model or a run; None or "base" is the included model.
        trust: whether a run's files may name networks to download and paths outside the folder.
        device: for a run: auto, cpu, cuda, cuda:N or mps.

    >>> import polyglance
    >>> model = polyglance.load()
    >>> texts = model.encode_text(["a dog", "ein Hund", "a red car"])
    >>> texts.shape
    (3, 512)
    >>> near, far = model.similarity(texts[:1], texts[1:])[0]
    >>> bool(near > far)
    True
    """
    folder = model_folder(place)
    if is_exported(folder):
        if str(device) not in (AUTO, CPU):
            raise PolyglanceError(
                f"{folder}: an exported model runs on the CPU; leave out --device {device}, or "
                "use the folder of the run"
            )
        return load(folder)
    check_model_folder(folder)
    with needed_by(f"the model {folder}, which is not exported,"):
        from polyglance.models import Model

    return Model.load(folder, trust, device)
