"""Fine-tuning: training a model further on the user's own images and captions."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polyglance.core.shipped import BASE
from polyglance.data.dataset import Dataset
from polyglance.data.hold_out import hold_out_for_tuning
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.models.folder import read_config, refuse_no_model
from polyglance.recipes import change_recipe
from polyglance.recipes.load import Changes
from polyglance.recipes.schema import (
    CosineSchedule,
    DataRecipe,
    Recipe,
    SubwordsEmbedderRecipe,
    TransferRecipe,
)
from polyglance.recipes.schema.recipe import IN_PIECES
from polyglance.runtime.conversion.restore import restored_recipe
from polyglance.runtime.folders import check_model_folder, names_base
from polyglance.runtime.manifest import is_exported, read_manifest
from polyglance.transfer.source import copy_weights, source_folder

RATE = 0.1
"""Factor on the source's learning rate."""
UPDATES, EPOCHS, PATIENCE, WARMUP = 200, 20, 4, 10
"""Largest number of updates, the largest number of epochs if the data is known, the number of
evaluations without improvement, and updates with an increasing learning rate."""
EVALUATIONS, EVERY = 10, 4
"""Number of evaluations, and the least number of updates between two."""
BATCH = 128
"""Largest batch, in captions or images: the user's own data is usually small."""
ELSEWHERE = {"text_only": False, "text_files": [], "text_shares": [], "beside": None}
"""Sampling fields that refer to files of the source's training."""


def tuning_recipe(
    source: str | Path,
    overrides: Changes | Iterable[Changes] = (),
    dataset: Dataset | None = None,
) -> Recipe:
    """The recipe for fine-tuning a model, to be passed to `polyglance.train`.

    Architecture, loss and optimizer are the source's, with a tenth of its learning rate. Captions
    are those of the data, in all its languages; other files that the source was trained on are
    left out. The initial weights are a candidate when the best ones are selected.

    Args:
        source: folder of a run or an exported model; "base" is the included model.
        overrides: values by field, as for `load_recipe`.
        dataset: of the training, if known: with few images, there are fewer updates.
    """
    name = BASE if names_base(source) else str(Path(source).expanduser().absolute())
    folder = source_folder(name, Path())
    old = source_recipe(folder)
    batch = min(BATCH, old.training.batch_size)
    updates = UPDATES if dataset is None else _updates(dataset, batch)
    training: dict[str, Any] = {
        "epochs": 30,
        "updates": updates,
        "batch_size": batch,
        "lr": RATE * old.training.lr,
        "schedule": CosineSchedule(),
        "warmup_updates": WARMUP,
        "warmup_epoch": None,
        "evaluate_every": max(EVERY, updates // EVALUATIONS),
        "patience": PATIENCE,
        "primary": None,
        "drop_last": False,
    }
    text = old.text
    if isinstance(text.embedder, SubwordsEmbedderRecipe):
        embedder = text.embedder.model_copy(update={"piece_texts": [], "kept_pieces": None})
        text = text.model_copy(update={"embedder": embedder})
    there = {field: v for field, v in ELSEWHERE.items() if hasattr(old.sampling, field)}
    sections = {
        "text": text,
        "data": DataRecipe(),
        "naming": None,
        "captioning": None,
        "sampling": old.sampling.model_copy(update=there),
        "transfer": TransferRecipe(source=name, tune=True),
        "training": old.training.model_copy(update=training),
        "translation": None,
    }
    return change_recipe(old.model_copy(update=sections), overrides, str(folder))


def _updates(dataset: Dataset, batch: int) -> int:
    """The number of updates for a dataset; many on few images only memorise their captions."""
    images = sum(one.split == "train" for one in hold_out_for_tuning(dataset).images)
    return min(UPDATES, EPOCHS * max(1, -(-images // batch)))


def source_recipe(folder: Path) -> Recipe:
    """The recipe of a run or an exported model, for training it further."""
    if is_exported(folder):
        return restored_recipe(folder, read_manifest(folder))
    check_model_folder(folder)
    refuse_no_model(folder)
    return read_config(folder)[0]


def tuned_model(recipe: Recipe, source: Model, languages: Sequence[str], folder: Path) -> Model:
    """The source itself, with the recipe of its further training.

    Args:
        recipe: of the training.
        source: the model in `folder`.
        languages: of the captions.
        folder: for error messages.
    """
    if recipe.text.embedder.kind not in IN_PIECES:
        for code in languages:
            if code not in source.languages:
                raise PolyglanceError(
                    f"{folder}: has no words of '{code}'; leave it out with --languages "
                    f"{','.join(source.languages)}, or add it with 'polyglance add-language'"
                )
    every = sorted({*source.languages, *languages})
    model = Model(recipe, source.embedder, source.feature_dim, every)
    copy_weights(source, model)
    return model
