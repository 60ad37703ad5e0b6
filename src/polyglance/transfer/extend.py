"""Adding a language to a trained model, as `polyglance add-language` does."""

import contextlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.core.documents import validate
from polyglance.data.dataset import CaptionTable, Dataset
from polyglance.data.hold_out import hold_out
from polyglance.errors import PolyglanceError
from polyglance.evaluation import EvaluateOptions, evaluate
from polyglance.evaluation.ranking.metrics import Metrics, chance
from polyglance.models import Model
from polyglance.numerics.devices import CPU, Device, choose_device
from polyglance.recipes.schema import (
    ConstantSchedule,
    DataRecipe,
    LanguageSampling,
    Recipe,
    SumHingeRecipe,
    TransferRecipe,
    VectorsEmbedderRecipe,
)
from polyglance.runtime.folders import model_folder
from polyglance.text.embedders import TrainingTexts
from polyglance.training.folder import PREFIX, check_folder, is_empty_run, lock_run
from polyglance.training.trainer import train
from polyglance.transfer.source import load_source
from polyglance.transfer.start import extend_source, start_from


@dataclass(frozen=True)
class Gain:
    """Recalls in the new language: before, with the dictionary, and after training on pairs."""

    images: int
    read: float
    """Share of the captions' words that the model knows."""
    chance: float
    before: Metrics | None
    start: Metrics
    trained: Metrics | None


@dataclass(frozen=True)
class Extension:
    """A model with a language added."""

    model: Model
    words: int
    """Words of the new language with vectors of their own."""
    unchanged: int
    """Parameters of the original model, all bit-identical in the new one."""
    gain: Gain | None
    """The gain in the new language, if it was evaluated."""
    split: str
    """What it was evaluated on."""


@dataclass(frozen=True)
class PairTraining:
    """Images with captions in the new language to train its words on.

    Args:
        dataset: images with captions.
        images: number of training images to use; by default all.
        epochs: largest number of epochs.
        lr: learning rate of the new words.
    """

    dataset: Dataset
    images: int | None = None
    epochs: int = 20
    lr: float = 1e-3


def add_language(
    source: str | Path,
    language: str,
    out: str | Path,
    transfer: Mapping[str, Any] | None = None,
    pairs: PairTraining | None = None,
    evaluate_on: Dataset | None = None,
    split: str = "test",
    cache: Path | None = None,
    resume: bool = False,
    device: Device = CPU,
) -> Extension:
    """Add a language to a trained model; results in its other languages stay bit-identical.

    Args:
        source: folder of a trained model, or base.
        language: tag of the new language.
        out: output folder of the new model.
        transfer: fields of a recipe's transfer section, such as `{"dictionary": "pairs.txt"}`.
        pairs: images with captions in the language, if available.
        evaluate_on: dataset to evaluate on; by default the held-out part of `pairs`.
        split: split of `evaluate_on`.
        cache: folder for features and word vectors.
        resume: resume a killed training on `pairs`.
        device: auto, cpu, cuda, cuda:N or mps.

    With a dictionary, French words get the vectors of English ones:

    >>> import polyglance
    >>> from tempfile import TemporaryDirectory
    >>> from polyglance.text.embedders import TableEmbedder, Vocabulary
    >>> sizes = {"text.encoder.hidden": 8, "joint.dim": 16}
    >>> recipe = polyglance.load_recipe("nce", {"image.feature": "imported/mine", **sizes})
    >>> embedder = TableEmbedder(recipe, {"": Vocabulary(["dog", "cat"])})
    >>> model = polyglance.Model(recipe, embedder, feature_dim=4, languages=["en"])
    >>> with TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "old"))
    ...     _ = Path(folder, "fr-en.txt").write_text("chat cat")
    ...     transfer = {"dictionary": f"{folder}/fr-en.txt"}
    ...     added = polyglance.add_language(f"{folder}/old", "fr", f"{folder}/new", transfer)
    ...     extended = polyglance.load(f"{folder}/new")
    >>> added.words, extended.languages
    (1, ['en', 'fr'])
    >>> difference = extended.encode_text("chat", "fr") - extended.encode_text("cat", "en")
    >>> bool((abs(difference) < 1e-5).all())
    True
    """
    place = choose_device(device)
    if not is_empty_run(Path(out)):
        raise PolyglanceError(f"{out}: already exists and is not empty; choose another --out")
    folder = model_folder(source)
    old, folder = load_source(folder), folder.absolute()
    if evaluate_on is not None:
        evaluate_on.split(split).captions([language])  # fail early
    settings = validate(
        TransferRecipe, {"method": "svd", **(transfer or {}), "source": str(folder)}, "transfer"
    )
    count = 0 if pairs is None else pairs.images
    epochs, lr = (1, 1e-3) if pairs is None else (pairs.epochs, pairs.lr)
    recipe = extension_recipe(old, language, settings, count, epochs, lr)
    captions = None if pairs is None else pairs.dataset
    new, start = extend_model(recipe, Path(out), captions, evaluate_on, cache, resume, place)
    if evaluate_on is None and captions is not None:
        evaluate_on, split = hold_out(captions), "val"
    gain = None
    if evaluate_on is not None:
        trained = None if captions is None else new
        for model in (old, start, new):
            model.to(place)
        gain = evaluate_gain(old, start, trained, language, evaluate_on, split, cache)
    words = new.embedder.count_words(language)
    return Extension(new, words, check_unchanged(old, new), gain, split)


def extension_recipe(
    source: Model,
    language: str,
    transfer: TransferRecipe,
    images: int | None,
    epochs: int,
    lr: float,
) -> Recipe:
    """The recipe of `source` with a language added.

    Args:
        source: the trained model.
        language: the new language.
        transfer: with the source's folder and the dictionary.
        images: number of images for training its words; None is all, 0 none.
        epochs: largest number of epochs.
        lr: learning rate of the new words.
    """
    old = source.recipe
    training: dict[str, Any] = {
        "epochs": epochs,
        "updates": None,
        "lr": lr,
        "schedule": ConstantSchedule(),
        "warmup_updates": 0,
        "warmup_epoch": None,
        "multipliers": {},
        "evaluate_every": None,
        "primary": None,
        "patience": 5,
    }
    text = old.text
    if isinstance(text.embedder, VectorsEmbedderRecipe):
        embedder = text.embedder.model_copy(update={"vectors": transfer.vectors})
        text = text.model_copy(update={"embedder": embedder})
    sections = {
        "text": text,
        "data": DataRecipe(languages=[language], images=images),
        "transfer": transfer.model_copy(update={"keep": True}),
        # Few pairs and a frozen encoder: the loss of the original training is not needed.
        "loss": SumHingeRecipe(mask_same_image=True),
        "sampling": LanguageSampling(),
        "training": old.training.model_copy(update=training),
    }
    return old.model_copy(update=sections)


def extend_model(
    recipe: Recipe,
    out: Path,
    pairs: Dataset | None = None,
    data: Dataset | None = None,
    cache: Path | None = None,
    resume: bool = False,
    device: Device = CPU,
) -> tuple[Model, Model]:
    """The model in `out` with the recipe's language added, and the same model before training.

    Args:
        recipe: from `extension_recipe`.
        out: output folder of the new model.
        pairs: images with captions in the language, to train its words on.
        data: source of the dictionary and vectors, if not `pairs`.
        cache: folder for features and word vectors.
        resume: resume a killed training.
        device: to train on.
    """
    assert recipe.transfer is not None
    source = Path(recipe.transfer.source)
    old = load_source(source)
    texts = TrainingTexts(CaptionTable.collect([]), [], pairs or data, cache)
    start = extend_source(recipe, old, texts, old.feature_dim, source).model
    with lock_run(out):
        check_folder(out, recipe, "", resume=False)
    made = temporary_folder(out)
    with lock_run(made):
        if pairs is None or not resume:
            _clear(made)
        if pairs is None:
            start.save(made, captions=0)
            model = Model.load(made)
        else:
            begin = start_from(source)
            how: dict[str, Any] = {"start": begin, "device": device}
            model = train(recipe, hold_out(pairs), made, resume, cache, **how).model
        check_unchanged(old, model)
    _finish(made, out)
    return model, start


def temporary_folder(out: Path) -> Path:
    """Temporary folder for the model of `out`; it is renamed when the model is complete."""
    return out.absolute().with_name(f".{out.absolute().name}.unfinished")


def _clear(made: Path) -> None:
    """Remove what a killed training left; the caller holds its lock."""
    for path in made.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith(PREFIX):
            path.unlink()


def _finish(made: Path, out: Path) -> None:
    try:
        with contextlib.suppress(FileNotFoundError):
            out.rmdir()  # an empty folder made beforehand
        made.rename(out)
    except OSError as error:
        raise PolyglanceError(
            f"{out}: cannot be written ({error.strerror}); the complete model is in {made}"
        ) from None


def check_unchanged(old: Model, new: Model) -> int:
    """Number of parameters of `old`; all must be in `new`, bit-identical."""
    state = new.network.state_dict()
    for name, value in old.network.state_dict().items():
        if name not in state or not state[name].cpu().equal(value.cpu()):
            raise PolyglanceError(
                f"'{name}' of the model has changed: this is a bug in Polyglance; please report it"
            )
    return sum(value.numel() for value in old.network.state_dict().values())


def _known_share(model: Model, language: str, part: Dataset) -> float:
    """Share of the words of a split's captions that the model knows."""
    kind = part.best_kind(language)
    found = model.embedder.read(part.captions([language], [kind]).texts, language)
    total = sum(len(words) for words, _ in found)
    return 1 - sum(len(unknown) for _, unknown in found) / max(total, 1)


def evaluate_gain(
    old: Model,
    start: Model,
    trained: Model | None,
    language: str,
    dataset: Dataset,
    split: str,
    cache: Path | None = None,
) -> Gain:
    """The gain in the new language on a split.

    Args:
        old: the model before the language was added.
        start: with the dictionary alone.
        trained: trained on pairs, if any.
        language: the new language.
        dataset: with captions in it.
        split: to evaluate on.
        cache: folder for features.
    """
    models = [start, *([trained] if trained is not None else [])]
    options = EvaluateOptions(languages=[language], bootstrap=0)
    reports = [evaluate(m, dataset, split, options, cache=cache) for m in models]
    try:
        before = evaluate(old, dataset, split, options, cache=cache).results[0].metrics
    except PolyglanceError:  # a model with one tower per language cannot encode another
        before = None
    found = [report.results[0] for report in reports]
    outcome = found[0].outcome
    level = chance(outcome.caption_image)
    return Gain(
        len(outcome.image),
        _known_share(trained or start, language, dataset.split(split)),
        level,
        before,
        found[0].metrics,
        found[1].metrics if len(found) > 1 else None,
    )
