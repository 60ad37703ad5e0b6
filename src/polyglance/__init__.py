"""Polyglance: multilingual image–text search. Find images with a sentence, and the reverse.

    import polyglance

    dataset = polyglance.load_dataset("my-photos.csv")
    polyglance.train(polyglance.load_recipe("nce"), dataset, "runs/mine")
    model = polyglance.load("runs/mine")
    polyglance.evaluate(model, dataset, "test")
    polyglance.search(model, "Pictures", ["ein Hund am Strand"])

or without any training, with the model included in the package:

    polyglance.search(polyglance.load(), "Pictures", ["ein Hund am Strand"])

Submodules are imported on first use, so `import polyglance` is fast.
"""

import os
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from polyglance.core.version import __version__
from polyglance.errors import PolyglanceError, needed_by

# onnxruntime 1.31 reports its use to Microsoft unless this is set before it is first imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from polyglance.data import CaptionedImage, Dataset, load_dataset
    from polyglance.evaluation import EvaluateOptions, Report, evaluate
    from polyglance.gallery import search
    from polyglance.models import Model
    from polyglance.recipes import Recipe, load_recipe, recipe_names
    from polyglance.runtime import export_model as export
    from polyglance.runtime import open_model as load
    from polyglance.training import Callback
    from polyglance.transfer import add_language
    from polyglance.transfer import train_recipe as train

_PLACES = {
    "Callback": "polyglance.training",
    "CaptionedImage": "polyglance.data",
    "Dataset": "polyglance.data",
    "EvaluateOptions": "polyglance.evaluation",
    "Model": "polyglance.models",
    "Recipe": "polyglance.recipes",
    "Report": "polyglance.evaluation",
    "add_language": "polyglance.transfer",
    "evaluate": "polyglance.evaluation",
    "export": "polyglance.runtime.conversion.export:export_model",
    "load": "polyglance.runtime:open_model",
    "load_dataset": "polyglance.data",
    "load_recipe": "polyglance.recipes",
    "recipe_names": "polyglance.recipes",
    "search": "polyglance.gallery",
    "train": "polyglance.transfer:train_recipe",
}
"""Name → its module, and what it is called there if it is called otherwise."""

__all__ = [
    "Callback",
    "CaptionedImage",
    "Dataset",
    "EvaluateOptions",
    "Model",
    "PolyglanceError",
    "Recipe",
    "Report",
    "__version__",
    "add_language",
    "evaluate",
    "export",
    "load",
    "load_dataset",
    "load_recipe",
    "recipe_names",
    "search",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'polyglance' has no attribute '{name}'")
    module, _, path = _PLACES[name].partition(":")
    with needed_by(f"polyglance.{name}"):
        globals()[name] = found = attrgetter(path or name)(import_module(module))
    return found


def __dir__() -> list[str]:
    return __all__
