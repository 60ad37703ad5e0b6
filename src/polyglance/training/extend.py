"""Adding a language to a trained model, as `polyglance add-language` does."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.data.dataset import Dataset
from polyglance.data.hold_out import hold_out
from polyglance.errors import PolyglanceError
from polyglance.evaluation import EvaluateOptions, evaluate
from polyglance.evaluation.metrics import Metrics, chance
from polyglance.models import Model
from polyglance.recipes import Recipe
from polyglance.recipes.schema import (
    DataRecipe,
    LossRecipe,
    TasksRecipe,
    TransferRecipe,
)
from polyglance.text.added_words import AddedReader
from polyglance.text.reading import read_words
from polyglance.text.vector_words import VectorReader
from polyglance.training.folder import check_folder
from polyglance.training.trainer import train
from polyglance.training.transfer import begin_model


@dataclass(frozen=True)
class Gain:
    """Recalls in the new language before, with the dictionary alone, and with pairs."""

    photos: int
    read: float
    """Share of the captions' words that mean something to the model."""
    chance: float
    before: Metrics | None
    start: Metrics
    trained: Metrics | None


def extension_recipe(
    source: Model,
    folder: Path,
    code: str,
    transfer: TransferRecipe,
    pairs: int | None,
    epochs: int,
    lr: float,
) -> Recipe:
    """The recipe of `source` with a language added; `pairs` photographs of it train its words."""
    old = source.recipe
    changed = transfer.model_copy(update={"source": str(folder), "keep": True})
    training: dict[str, Any] = {
        "epochs": epochs,
        "updates": None,
        "lr": lr,
        "schedule": "constant",
        "warmup_updates": 0,
        "warmup_epoch": None,
        "multipliers": {},
        "evaluate_every": None,
        "primary": None,
        "patience": 5,
    }
    text = old.text
    if text.embedder == "vectors":
        text = text.model_copy(update={"vectors": transfer.vectors})
    sections = {
        "text": text,
        "data": DataRecipe(languages=[code], photos=pairs),
        "transfer": changed,
        # Few pairs and a frozen encoder: nothing of what made the model is needed.
        "loss": LossRecipe(name="sum-hinge", mask_same_image=True),
        "tasks": TasksRecipe(sampling="languages"),
        "training": old.training.model_copy(update=training),
    }
    return old.model_copy(update=sections)


def extend_model(
    recipe: Recipe,
    out: Path,
    pairs: Dataset | None = None,
    data: Dataset | None = None,
    cache: Path | None = None,
) -> tuple[Model, Model]:
    """The model in `out` with the recipe's language added, and the same before any training.

    `pairs` has photographs with captions in it; `data` is where the dictionary and vectors may
    be made from.
    """
    source = Path(str(recipe.transfer.source))
    old = Model.load(source)
    start = begin_model(recipe, pairs or data, {}, old.feature_dim, source, cache)
    if pairs is None:
        check_folder(out, recipe, "", resume=False)
        start.save(out, captions=0)
        model = Model.load(out)
    else:
        model = train(recipe, hold_out(pairs), out, cache=cache).model
    check_unchanged(old, model)
    return model, start


def check_unchanged(old: Model, new: Model) -> int:
    """How many numbers `old` has; that `new` has all of them, to the last bit, is made sure of."""
    state = new.network.state_dict()
    for name, value in old.network.state_dict().items():
        if name not in state or not state[name].equal(value):
            raise PolyglanceError(f"'{name}' of the model has changed: this is a fault of ours")
    return sum(value.numel() for value in old.network.state_dict().values())


def known_words(model: Model, code: str) -> int:
    """Words of an added language that the model reads."""
    reader = model.reader
    if isinstance(reader, AddedReader):
        return len(reader.added[code].words)
    assert isinstance(reader, VectorReader)
    return len(reader.of(code).words)


def _read(model: Model, code: str, part: Dataset) -> float:
    kind = part.best_kind(code)
    _, texts = read_words(model.recipe.text, part.captions([code], [kind]).texts, code)
    found = [model.reader.recognise(model.recipe.text, words, code) for words in texts]
    total = sum(len(words) for words, _ in found)
    return 1 - sum(len(unknown) for _, unknown in found) / max(total, 1)


def judge_gain(
    old: Model,
    start: Model,
    trained: Model | None,
    code: str,
    dataset: Dataset,
    split: str,
    cache: Path | None = None,
) -> Gain:
    """What the language gained on a split."""
    models = [start, *([trained] if trained is not None else [])]
    options = EvaluateOptions(languages=[code], bootstrap=0)
    reports = [evaluate(m, dataset, split, options, cache=cache) for m in models]
    try:
        before = evaluate(old, dataset, split, options, cache=cache).results[0].metrics
    except PolyglanceError:  # a model with a tower for each language cannot read another
        before = None
    found = [report.results[0] for report in reports]
    outcome = found[0].outcome
    level = chance(outcome.caption_image)
    return Gain(
        len(outcome.photo),
        _read(trained or start, code, dataset.split(split)),
        level,
        before,
        found[0].metrics,
        found[1].metrics if len(found) > 1 else None,
    )
