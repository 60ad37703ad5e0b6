"""Trainings that start from a trained model."""

from collections.abc import Callable, Sequence
from pathlib import Path

from polyglance.core.registry import Registry
from polyglance.data.dataset import Dataset
from polyglance.data.hold_out import hold_out
from polyglance.errors import PolyglanceError
from polyglance.models import Model
from polyglance.numerics.devices import AUTO, Device
from polyglance.recipes.schema import Recipe
from polyglance.text.embedders import TrainingTexts
from polyglance.training import Callback, Result, train
from polyglance.training.inputs.data import Start, StartModel, fresh_model
from polyglance.transfer.source import check_alike, freeze, load_source, source_folder
from polyglance.transfer.translator import translate_model
from polyglance.transfer.tune import tuned_model
from polyglance.transfer.words import add_languages

Bring = Callable[[Recipe, Model, Sequence[str], TrainingTexts], Model]
transfers: Registry[Bring] = Registry("transfer")
"""How a model is brought to languages, by its embedder's kind; all others get words added."""
transfers.register("vectors")(translate_model)


def start_from(source: Path) -> StartModel:
    """A start from the model in the folder `source`."""

    def start(recipe: Recipe, texts: TrainingTexts, feature_dim: int) -> Start:
        return transferred(recipe, load_source(source), texts, feature_dim, source)

    return start


def transferred(
    recipe: Recipe, source: Model, texts: TrainingTexts, feature_dim: int, folder: Path
) -> Start:
    """The model that a recipe's transfer section makes of a trained one.

    Args:
        recipe: with a transfer section.
        source: the trained model, of `folder`.
        texts: captions in the new languages; none where `data.languages` names them.
        feature_dim: dimension of the image features at hand.
        folder: the source's, for messages.
    """
    assert recipe.transfer is not None
    check_alike(recipe, source, feature_dim, folder)
    languages = list(dict.fromkeys(texts.captions.languages)) or list(recipe.data.languages or ())
    if not languages:
        raise PolyglanceError("data.images=0 needs data.languages: which are to be read")
    if recipe.transfer.tune:
        return Start(tuned_model(recipe, source, languages, folder), fresh=False)
    if recipe.transfer.keep:
        for code in languages:
            if code in source.languages:
                raise PolyglanceError(f"{folder}: the model knows '{code}' already")
    kind = recipe.text.embedder.kind
    bring = transfers.get(kind) if kind in transfers else add_languages
    model = bring(recipe, source, languages, texts)
    model.drawings = source.drawings
    if not recipe.transfer.keep:
        return Start(model, fresh=False)
    trains = recipe.data.languages or sorted(languages)
    freeze(model, trains)
    return Start(model, fresh=False, trains=trains)


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
            training images if there is no validation split.
        out: output folder of the run.
        resume: resume a killed run, with the same result as an uninterrupted one; or extend a
            finished run whose recipe differs only in `training.epochs` or `updates`.
        cache: folder for features and word vectors; None is the XDG cache.
        show_progress: None shows progress bars in a terminal for long operations.
        callbacks: called at the events of the training.
        device: auto, cpu, cuda, cuda:N or mps.
    """
    out = Path(out)
    start: StartModel = fresh_model
    if recipe.transfer is not None:
        start = start_from(source_folder(recipe.transfer.source, out))
        if recipe.transfer.tune:
            dataset = hold_out(dataset, split=recipe.data.validation_split)
    return train(recipe, dataset, out, resume, cache, show_progress, start, callbacks, device)
