"""Training that starts from a trained model."""

from collections.abc import Callable, Sequence
from pathlib import Path

from polyglance.core.registry import Registry
from polyglance.data.dataset import Dataset
from polyglance.data.hold_out import hold_out_for_tuning
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.numerics.devices import AUTO, Device
from polyglance.recipes.schema import Recipe
from polyglance.text.embedders import TrainingTexts
from polyglance.training import Callback, Result, train
from polyglance.training.inputs.data import CreateModel, InitialModel, fresh_model
from polyglance.transfer.source import check_compatible, freeze, load_source, source_folder
from polyglance.transfer.translator import translate_model
from polyglance.transfer.tune import tuned_model
from polyglance.transfer.words import add_languages

TransferModel = Callable[[Recipe, Model, Sequence[str], TrainingTexts], Model]
transfers: Registry[TransferModel] = Registry("transfer")
"""How a model is extended, by the kind of its embedder; by default words are added."""
transfers.register("vectors")(translate_model)


def start_from(source: Path) -> CreateModel:
    """A training start from the model in the folder `source`."""

    def start(recipe: Recipe, texts: TrainingTexts, feature_dim: int) -> InitialModel:
        return extend_source(recipe, load_source(source), texts, feature_dim, source)

    return start


def extend_source(
    recipe: Recipe, source: Model, texts: TrainingTexts, feature_dim: int, folder: Path
) -> InitialModel:
    """The model that a recipe's transfer section makes from a trained one.

    Args:
        recipe: with a transfer section.
        source: the trained model in `folder`.
        texts: captions in the new languages; none if `data.languages` names them.
        feature_dim: dimension of the available image features.
        folder: the source's, for error messages.
    """
    assert recipe.transfer is not None
    check_compatible(recipe, source, feature_dim, folder)
    languages = list(dict.fromkeys(texts.captions.languages)) or list(recipe.data.languages or ())
    if not languages:
        raise PolyglanceError("data.images=0 needs data.languages, the new languages")
    if recipe.transfer.tune:
        return InitialModel(tuned_model(recipe, source, languages, folder), fresh=False)
    if recipe.transfer.keep and not source.embedder.reads_all:
        for code in languages:
            if code in source.languages:
                raise PolyglanceError(f"{folder}: the model already has '{code}'")
    kind = recipe.text.embedder.kind
    transfer = transfers.get(kind) if kind in transfers else add_languages
    model = transfer(recipe, source, languages, texts)
    model.drawings = source.drawings
    if not recipe.transfer.keep:
        return InitialModel(model, fresh=False)
    trains = recipe.data.languages or sorted(languages)
    freeze(model, trains)
    return InitialModel(model, fresh=False, trains=trains)


def train_recipe(
    recipe: Recipe,
    dataset: Dataset,
    out: str | Path,
    resume: bool = False,
    cache: Path | None = None,
    show_progress: bool | None = None,
    callbacks: Sequence[Callback] = (),
    device: Device = AUTO,
) -> Result:
    """Train a recipe, starting from the model in its transfer section, if any.

    Args:
        recipe: the system.
        dataset: images with captions. Fine-tuning (`transfer.tune`) holds out a fifth of the
            training images, at least 20 if possible, if there is no validation split.
        out: output folder of the run.
        resume: resume a killed run, with the same result as an uninterrupted one; or extend a
            finished run whose recipe differs only in `training.epochs` or `updates`.
        cache: folder for features and word vectors; None is the XDG cache.
        show_progress: None shows progress bars in a terminal for long operations.
        callbacks: called at the events of the training.
        device: auto, cpu, cuda, cuda:N or mps.

    From a table of one's own photos, as in the tutorial:

        dataset = polyglance.load_dataset("my-photos.csv")
        polyglance.train(polyglance.load_recipe("nce"), dataset, "runs/mine")

    From features of one's own, here a colour for each image:

    >>> import numpy as np
    >>> import polyglance
    >>> from tempfile import TemporaryDirectory
    >>> from polyglance.data import save_folder
    >>> from polyglance.vision.extraction.store import FeatureStore
    >>> captions = [f"a {colour} wall" for colour in ("red", "green", "blue")] * 5
    >>> splits = ["train"] * 12 + ["val"] * 3
    >>> images = [
    ...     polyglance.CaptionedImage(f"{n}.jpg", split, {"en": {"independent": [caption]}})
    ...     for n, (split, caption) in enumerate(zip(splits, captions))
    ... ]
    >>> changes = {
    ...     "image.feature": "imported/colour",
    ...     "text": {"embedder": {"word_dim": 8, "min_count": 1}, "encoder.hidden": 8},
    ...     "joint.dim": 8,
    ...     "training": {"batch_size": 4, "lr": 0.02, "epochs": 20},
    ... }
    >>> recipe = polyglance.load_recipe("nce", changes)
    >>> with TemporaryDirectory() as folder:
    ...     save_folder(Path(folder, "walls"), images)
    ...     path = Path(folder, "walls", "features", "colour")
    ...     with FeatureStore.create(path, 3, "global", "imported/colour") as store:
    ...         store.append_many((one.image, np.eye(3)[[n % 3]]) for n, one in enumerate(images))
    ...     dataset = polyglance.load_dataset(f"{folder}/walls")
    ...     cache = Path(folder, "cache")
    ...     result = polyglance.train(recipe, dataset, f"{folder}/run", cache=cache)
    >>> result.model.languages, result.progress.best  # the largest rsum
    (['en'], 600.0)
    """
    out = Path(out)
    start: CreateModel = fresh_model
    if recipe.transfer is not None:
        start = start_from(source_folder(recipe.transfer.source, out))
        if recipe.transfer.tune:
            dataset = hold_out_for_tuning(dataset, recipe.data.validation_split)
    return train(recipe, dataset, out, resume, cache, show_progress, start, callbacks, device)
