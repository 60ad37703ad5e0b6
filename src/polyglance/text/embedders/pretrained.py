"""Pretrained encoders of Hugging Face transformers, from folders on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from polyglance.core.packages import SAFELY, import_package, offline, quiet
from polyglance.errors import PolyglanceError
from polyglance.recipes.schema import (
    Recipe,
    TextRecipe,
    TransformerEmbedderRecipe,
    TransformerRecipe,
)

FOLDER = "encoder"
"""Subfolder of a model with its encoder's configuration and tokenizer, but no weights."""

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
T = TypeVar("T")


def located(recipe: Recipe, model: Path) -> Recipe:
    """A saved model's recipe, with `pretrained` set to the model's own folder."""
    text = recipe.text
    for name in ("encoder", "embedder"):
        part = getattr(text, name)
        if part.kind == "transformer":
            _refuse_weights(model / FOLDER)
            part = part.model_copy(update={"pretrained": str(model / FOLDER)})
            text = text.model_copy(update={name: part})
    return recipe.model_copy(update={"text": text})


def _refuse_weights(folder: Path) -> None:
    """Raise an error for weights in the encoder's folder; they might be pickles."""
    for pattern in WEIGHTS:
        for path in folder.glob(pattern):
            raise PolyglanceError(
                f"{path}: unexpected weights, which belong in the model's own file; remove the file"
            )


def check_pretrained(recipe: TextRecipe) -> None:
    """Raise an error for anything that would stop a training on a pretrained encoder."""
    folder = encoder_folder(recipe)
    import_package("transformers")
    if not _has_weights(folder):
        raise PolyglanceError(
            f"{folder}: has a configuration but no weights (model.safetensors or "
            "pytorch_model.bin); download the whole model"
        )


def encoder_folder(recipe: TextRecipe) -> Path:
    """The folder of the pretrained encoder of `text.encoder` or `text.embedder`."""
    part = _part(recipe)
    if part is None:
        raise ValueError("the recipe has no pretrained transformer")
    name, pretrained = part
    if pretrained is None:
        raise PolyglanceError(
            f"{name}.kind=transformer needs an encoder: set the folder of a "
            f"Hugging Face model with --set {name}.pretrained=FOLDER"
        )
    folder = Path(pretrained).expanduser()
    if not (folder / "config.json").is_file():
        raise PolyglanceError(
            f"{folder}: contains no encoder; {name}.pretrained must be a folder of a Hugging Face "
            "model with config.json, its weights and its tokenizer"
        )
    return folder


def load_config(folder: Path) -> Any:
    """The configuration of the encoder in `folder`."""
    transformers = import_package("transformers")
    config = _loading(folder, lambda: transformers.AutoConfig.from_pretrained(folder, **SAFELY))
    if getattr(config, "is_encoder_decoder", False) or not hasattr(config, "hidden_size"):
        raise PolyglanceError(
            f"{folder}: '{config.model_type}' is not a text encoder such as bert or xlm-roberta"
        )
    return config


def load_tokenizer(folder: Path) -> Any:
    """The fast tokenizer of the encoder in `folder`."""
    transformers = import_package("transformers")

    def load() -> Any:
        with quiet(transformers.utils.logging):
            return transformers.AutoTokenizer.from_pretrained(folder, **SAFELY)

    tokenizer = _loading(folder, load)
    if not getattr(tokenizer, "is_fast", False):
        raise PolyglanceError(f"{folder}: the tokenizer has no fast form (tokenizer.json)")
    return tokenizer


def load_encoder(folder: Path) -> Any:
    """The network in `folder` without its pooler, in float32; untrained if it has no weights."""
    transformers = import_package("transformers")
    config = load_config(folder)

    def load() -> Any:
        with quiet(transformers.utils.logging):
            if not _has_weights(folder):
                return transformers.AutoModel.from_config(config), {"missing_keys": []}
            return transformers.AutoModel.from_pretrained(
                folder, **SAFELY, output_loading_info=True
            )

    network, info = _loading(folder, load)
    if lost := sorted(key for key in info["missing_keys"] if "pooler" not in key):
        raise PolyglanceError(f"{folder}: the weights lack '{lost[0]}'; download the model again")
    if hasattr(network, "pooler"):
        network.pooler = None
    return network.float().train()


def _part(recipe: TextRecipe) -> tuple[str, str | None] | None:
    """The section with a pretrained transformer, and its folder."""
    if isinstance(recipe.encoder, TransformerRecipe):
        return "text.encoder", recipe.encoder.pretrained
    if isinstance(recipe.embedder, TransformerEmbedderRecipe):
        return "text.embedder", recipe.embedder.pretrained
    return None


def _has_weights(folder: Path) -> bool:
    return any(path.is_file() for pattern in WEIGHTS for path in folder.glob(pattern))


def _loading(folder: Path, load: Callable[[], T]) -> T:
    """Call `load` offline; report any error of transformers as one about the folder."""
    try:
        with offline():
            return load()
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolyglanceError(
            f"{folder}: cannot load the encoder ({reason}); download the model again, or upgrade "
            "transformers"
        ) from None
