"""An exported model of fresh weights, which encodes real pictures and words."""

from pathlib import Path

from polyglance.models import Model
from polyglance.recipes import load_recipe, parse_overrides
from polyglance.runtime import export_model
from polyglance.text.embedders import TableEmbedder, Vocabulary
from tests.conftest import TOY


def write_model(folder: Path, dim: int = 16) -> Path:
    """Export a model with EfficientNet-Lite0, and give its folder."""
    changes = [*TOY, "image.feature=efficientnet-lite0/global", f"joint.dim={dim}"]
    recipe = load_recipe("nce", parse_overrides(changes))
    words = TableEmbedder(recipe, {"": Vocabulary(["dog", "cat"])})
    export_model(Model(recipe, words, 1280, ["en"]), folder / "out", cache=folder / "cache")
    return folder / "out"
