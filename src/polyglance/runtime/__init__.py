"""Models without torch: folders written by `polyglance export`, run by onnxruntime.

`load(folder)` needs numpy, Pillow, onnxruntime and the tokenizers; `export` needs torch.
"""

from typing import TYPE_CHECKING, Any

from polyglance.runtime.background import Background, add_background, calibrate
from polyglance.runtime.calibration import background_of
from polyglance.runtime.folders import model_folder, shipped
from polyglance.runtime.model import ExportedModel, load
from polyglance.runtime.opening import is_model, open_model

if TYPE_CHECKING:
    from polyglance.runtime.conversion.export import export_model

__all__ = [
    "Background",
    "ExportedModel",
    "add_background",
    "background_of",
    "calibrate",
    "export_model",
    "is_model",
    "load",
    "model_folder",
    "open_model",
    "shipped",
]


def __getattr__(name: str) -> Any:
    if name != "export_model":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from polyglance.runtime.conversion.export import export_model

    return export_model
