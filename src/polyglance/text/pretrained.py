"""Pretrained encoders of Hugging Face transformers, from folders on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from polyglance.errors import PolyglanceError
from polyglance.files import refuse_pipes
from polyglance.packages import import_package, quiet
from polyglance.recipes.schema import TextRecipe

FOLDER = "encoder"
"""Where a model keeps its encoder's configuration and tokeniser; the weights are the model's."""

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
T = TypeVar("T")


def located(recipe: TextRecipe, model: Path) -> TextRecipe:
    """The recipe of a saved model, with the encoder in the model's own folder."""
    if not recipe.in_pieces:
        return recipe
    return recipe.model_copy(update={"pretrained": str(model / FOLDER)})


def check_pretrained(recipe: TextRecipe) -> None:
    """Find what would stop a training on a pretrained encoder, before anything is computed."""
    if not recipe.in_pieces:
        return
    if recipe.towers != "shared":
        raise PolyglanceError(f"{_field(recipe)}=transformer needs text.towers=shared")
    folder = encoder_folder(recipe)
    import_package("transformers")
    if not _has_weights(folder):
        raise PolyglanceError(
            f"{folder}: has a configuration and no weights (model.safetensors or "
            "pytorch_model.bin); download the whole model"
        )


def encoder_folder(recipe: TextRecipe) -> Path:
    """The folder that `text.pretrained` names."""
    if recipe.pretrained is None:
        raise PolyglanceError(
            f"{_field(recipe)}=transformer needs an encoder: give the folder of a downloaded "
            "Hugging Face model with --set text.pretrained=FOLDER"
        )
    folder = Path(recipe.pretrained).expanduser()
    refuse_pipes(folder)
    if not (folder / "config.json").is_file():
        raise PolyglanceError(
            f"{folder}: no encoder there; text.pretrained must be the folder of a Hugging Face "
            "model with config.json, its weights and its tokeniser"
        )
    return folder


def load_config(folder: Path) -> Any:
    """The configuration of the encoder in `folder`."""
    transformers = import_package("transformers")
    config = _loading(
        folder, lambda: transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    )
    if getattr(config, "is_encoder_decoder", False) or not hasattr(config, "hidden_size"):
        raise PolyglanceError(
            f"{folder}: '{config.model_type}' is not a text encoder such as bert or xlm-roberta"
        )
    return config


def load_tokenizer(folder: Path) -> Any:
    """The fast tokeniser of the encoder in `folder`."""
    transformers = import_package("transformers")

    def load() -> Any:
        with quiet(transformers.utils.logging):
            return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)

    tokenizer = _loading(folder, load)
    if not getattr(tokenizer, "is_fast", False):
        raise PolyglanceError(f"{folder}: the tokeniser has no fast form (tokenizer.json)")
    return tokenizer


def load_encoder(folder: Path) -> Any:
    """The network in `folder` without its pooler, in float32; fresh if there are no weights."""
    transformers = import_package("transformers")
    config = load_config(folder)

    def load() -> Any:
        with quiet(transformers.utils.logging):
            if not _has_weights(folder):
                return transformers.AutoModel.from_config(config), {"missing_keys": []}
            return transformers.AutoModel.from_pretrained(
                folder, local_files_only=True, output_loading_info=True
            )

    network, info = _loading(folder, load)
    if lost := sorted(key for key in info["missing_keys"] if "pooler" not in key):
        raise PolyglanceError(f"{folder}: the weights lack '{lost[0]}'; download the model again")
    if hasattr(network, "pooler"):
        network.pooler = None
    return network.float().train()


def _field(recipe: TextRecipe) -> str:
    return "text.encoder" if recipe.encoder == "transformer" else "text.embedder"


def _has_weights(folder: Path) -> bool:
    return any(path.is_file() for pattern in WEIGHTS for path in folder.glob(pattern))


def _loading(folder: Path, load: Callable[[], T]) -> T:
    """Whatever goes wrong inside transformers while loading is about the folder's files."""
    try:
        return load()
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise PolyglanceError(
            f"{folder}: cannot load the encoder ({reason}); download the model again, or upgrade "
            "transformers"
        ) from None
