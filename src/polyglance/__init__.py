"""Polyglance: find images with words, and words with images, in every language.

    import polyglance

    dataset = polyglance.load_dataset("my-photos.csv")
    polyglance.train(polyglance.load_recipe("nce"), dataset, "runs/mine")
    model = polyglance.load("runs/mine")
    polyglance.evaluate(model, dataset, "test")
    polyglance.search(model, "~/Pictures", ["ein Hund am Strand"])

Names are looked up when they are first used: importing the package takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polyglance.errors import PolyglanceError
from polyglance.version import __version__

if TYPE_CHECKING:
    from polyglance.data import CaptionedImage, Dataset, load_dataset
    from polyglance.evaluation import EvaluateOptions, Report, evaluate
    from polyglance.gallery import search
    from polyglance.models import Model
    from polyglance.recipes import Recipe, load_recipe, recipe_names
    from polyglance.training import Callback
    from polyglance.transfer import add_language
    from polyglance.transfer import train_recipe as train

    load = Model.load

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
    "load_dataset": "polyglance.data",
    "load_recipe": "polyglance.recipes",
    "recipe_names": "polyglance.recipes",
    "search": "polyglance.gallery",
}

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
    "load",
    "load_dataset",
    "load_recipe",
    "recipe_names",
    "search",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        return __getattr__("Model").load
    if name == "train":
        return import_module("polyglance.transfer").train_recipe
    if name not in _PLACES:
        raise AttributeError(f"module 'polyglance' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
