"""The model card: generated from the folder of a run or exported model and its evaluations."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyglance.core.languages import language_name
from polyglance.core.shipped import BASE
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, check_recipe, load_recipe, recipe_names
from polyglance.runtime.background import read_background
from polyglance.runtime.card.facts import (
    NO_SOURCES,
    CardFacts,
    CardSources,
    gather_facts,
    keep_facts,
    read_reports,
    stored_facts,
)
from polyglance.runtime.card.languages import listed_languages
from polyglance.runtime.card.measured import bias_lines, evaluation_lines, speed_lines
from polyglance.runtime.folders import RUN, check_model_folder, model_folder
from polyglance.runtime.manifest import is_exported, read_manifest
from polyglance.runtime.origin import origin
from polyglance.storage.files import has_file, read_json, read_jsonl

METRICS, EVALUATION = "metrics.jsonl", "evaluation.json"
"""A run's validations, and an evaluation stored with a model."""
UNRECORDED = "not recorded; add them with `polyglance card --licence`"

SHOWS = (
    "It knows only what its training images and captions show, and has their biases: who and what "
    "is shown, and how it is described"
)
UNMEASURED = ". This card does not measure them."
CONTAMINATION = (
    "Contamination: its text encoder starts from the multilingual Universal Sentence Encoder, "
    "which was trained on SNLI among other corpora, and SNLI's premises are captions of Flickr30k. "
    "Results on Flickr30k and on data made from it, such as Flickr8k and Multi30K, may be higher "
    "than on other images."
)


@dataclass(frozen=True)
class ModelFacts:
    """What is known about a model without running it."""

    folder: Path
    recipe: Recipe
    languages: Sequence[str]
    rows: Mapping[str, str]
    drawings: bool
    limits: Sequence[str]
    data: str
    stored: CardFacts = field(default_factory=CardFacts)


def model_card(model: str | Path | None = None, sources: CardSources = NO_SOURCES) -> str:
    """A card in Markdown; unknown facts are listed as such.

    Facts that `keep_card` stored in an export are used unless others are passed.

    Args:
        model: the folder of a run or an exported model; None or "base" is the included model.
        sources: of facts that the folder does not contain.
    """
    folder = model_folder(model)
    facts = _facts(folder)
    given = gather_facts(facts.recipe, sources)
    known = given.over(facts.stored)
    reports = known.evaluations
    if not reports and has_file(folder / EVALUATION):
        reports = read_reports(folder / EVALUATION)
    parts = [
        [f"# {known.name or _title(facts)}", "", *_summary(facts, known.reproduce)],
        ["## Model", "", *_table(facts.rows)],
        [
            "## Languages",
            "",
            *listed_languages(facts.recipe, facts.languages, known.languages, known.missing),
        ],
        ["## Data and licences", "", *_data(facts, known.licences)],
        ["## Evaluation", "", *_evaluations(reports, folder)],
    ]
    if known.speed:
        parts.append(["## Speed and memory", "", *speed_lines(known.speed)])
    if known.biases:
        parts.append(["## Biases", "", *bias_lines(known.biases)])
    limits = [*facts.limits, SHOWS + ("." if known.biases else UNMEASURED)]
    how = [known.reproduce] if known.reproduce else _reproduce(facts)
    parts += [
        ["## Limits", "", *(f"- {line}" for line in limits)],
        ["## How to reproduce it", "", *how],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def keep_card(model: str | Path | None, sources: CardSources) -> None:
    """Store a card's facts in an exported model's folder, for its later cards.

    Facts that are stored already are kept unless others are passed. See `model_card`.

    Args:
        model: the folder of an exported model; None or "base" is the included model.
        sources: of the facts.
    """
    folder = model_folder(model)
    read_manifest(folder)
    facts = _facts(folder)
    given = gather_facts(facts.recipe, sources)
    keep_facts(folder, given.over(facts.stored))


def _facts(folder: Path) -> ModelFacts:
    if not folder.exists():
        check_model_folder(folder)
    return _of_export(folder) if is_exported(folder) else _of_run(folder)


def _of_export(folder: Path) -> ModelFacts:
    manifest = read_manifest(folder)
    recipe = check_recipe(manifest.recipe, str(folder))
    size = sum((folder / name).stat().st_size for name in manifest.files)
    background = read_background(folder, manifest)
    rows = {
        "form": f"ONNX, weights in {manifest.precision}; runs without torch",
        "id": f"`{manifest.id}`",
        **_common(recipe, manifest.dim, manifest.similarity),
        "size": f"{size / 1e6:.1f} MB in {len(manifest.files)} files",
    }
    if background is not None:
        rows["calibration"] = f"images with a score of at least {background.cutoff:.2f} match"
        if background.kept == background.kept:  # a number
            rows["calibration"] += (
                f"; {background.kept:.0%} of matching images do, and {background.refused:.0%} of "
                "galleries without a match have none"
            )
    limits = _limits(recipe, manifest.languages, manifest.drawings)
    if manifest.without_backbone:
        limits.append(f"It has no image network: {manifest.without_backbone}.")
    unknown = "Not recorded in the export; see the card of the run it was made from."
    known = manifest.trained_on or unknown
    stored = stored_facts(folder, manifest)
    return ModelFacts(
        folder, recipe, manifest.languages, rows, manifest.drawings, limits, known, stored
    )


def _of_run(folder: Path) -> ModelFacts:
    path = folder / RUN
    if not has_file(path):
        raise PolyglanceError(f"{folder}: neither a run nor an exported model, it has no {RUN}")
    config = read_json(path)
    if not isinstance(config, dict):
        raise PolyglanceError(f"{path}: not a model; train it again")
    recipe = check_recipe(config.get("recipe"), str(path))
    languages = [str(code) for code in config.get("languages") or []]
    counts = config.get("parameters") or {}
    size = sum(one.stat().st_size for one in folder.glob("model.*"))
    rows = {
        "form": f"a run of polyglance {config.get('version', '(unknown version)')}; needs torch",
        **_common(recipe, recipe.joint.dim, str(recipe.joint.similarity.kind)),
        "size": f"{size / 1e6:.1f} MB",
    }
    if counts:
        rows["parameters"] = ", ".join(f"{part} {count:,}" for part, count in counts.items())
    drawings = config.get("drawings") is True or str(config.get("data")).startswith("generated")
    limits = _limits(recipe, languages, drawings)
    return ModelFacts(folder, recipe, languages, rows, drawings, limits, origin(config))


def _common(recipe: Recipe, dim: int, similarity: str) -> dict[str, str]:
    return {
        "recipe": f"`{recipe.name}`" + (f" ({recipe.paper})" if recipe.paper else ""),
        "images": f"`{recipe.image.feature}`",
        "texts": f"words by `{recipe.text.embedder.kind}`, encoder `{recipe.text.encoder.kind}`",
        "embeddings": f"{dim} dimensions, {similarity} similarity",
    }


def _title(facts: ModelFacts) -> str:
    """The recipe's name, and what was done with that model afterwards."""
    transfer, name = facts.recipe.transfer, facts.recipe.name
    if transfer is None:
        return name
    if transfer.tune:
        return f"{name}, fine-tuned"
    added = ", ".join(language_name(code) for code in facts.recipe.data.languages or ())
    return f"{name} with {added}" if transfer.keep and added else name


def _made_from(recipe: Recipe) -> str:
    """A sentence on the model that this one was made from; empty if there is none."""
    if recipe.transfer is None:
        return ""
    source = recipe.transfer.source
    parent = f"`{BASE}`, the included model" if source == BASE else f"`{Path(source).name}`"
    if recipe.transfer.tune:
        return f"Made from {parent}, by training it further on the data below."
    return f"Made from {parent}, by adding words of another language."


def _summary(facts: ModelFacts, reproduce: str = "") -> list[str]:
    made_from = "" if reproduce else _made_from(facts.recipe)
    lines = [made_from or facts.recipe.summary]
    lines = [line for line in lines if line]
    use = (
        "Finds images by sentences and sentences by images: both are embedded in one joint "
        "space. Intended for searching image collections; it does not identify people, and its "
        "scores must not be used for decisions about people."
    )
    return [*lines, "", use] if lines else [use]


def _table(rows: Mapping[str, str]) -> list[str]:
    return ["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in rows.items())]


def _data(facts: ModelFacts, licences: Sequence[str]) -> list[str]:
    lines = list(licences) or [f"Licences: {UNRECORDED}."]
    if facts.recipe.text.encoder.kind == "sentence":
        lines.append(CONTAMINATION)
    return [facts.data, "", *(f"- {one}" for one in lines)]


def _limits(recipe: Recipe, languages: Sequence[str], drawings: bool) -> list[str]:
    """Limits that follow from the recipe."""
    found = []
    if drawings:
        found.append("It was trained on generated drawings only, not on photos.")
    kind = str(recipe.text.embedder.kind)
    if kind == "table":
        found.append("Words outside its training captions are unknown to it, and reported.")
    if len(languages) == 1:
        found.append("It knows one language.")
    return found


def _evaluations(reports: Sequence[Mapping[str, Any]], folder: Path) -> list[str]:
    if lines := evaluation_lines(reports):
        return lines
    return [
        _validation(folder)
        or "None is stored; run `polyglance evaluate MODEL --data DATA --json evaluation.json`."
    ]


def _validation(folder: Path) -> str:
    """The best validation result of a run."""
    path = folder / METRICS
    rows = [row for _, row in read_jsonl(path)] if has_file(path) else []
    rows = [row for row in rows if isinstance(row, dict) and row.get("mr")]
    if not rows:
        return ""
    best = max(rows, key=lambda row: row.get("rsum", 0))
    scores = ", ".join(f"{code} {value:.1f}" for code, value in best["mr"].items())
    return f"mR on the validation split, by which the weights were selected: {scores}."


def _reproduce(facts: ModelFacts) -> list[str]:
    recipe, changes = facts.recipe, _changes(facts.recipe)
    if changes is not None:
        options = " ".join(f"--set {shlex.quote(one)}" for one in changes)
        command = f"polyglance train {recipe.name} --data DATA --out RUN {options}".rstrip()
        return ["```sh", command, "```"]
    first = ["The recipe is not included in the package. As JSON:"]
    if recipe.transfer is not None and recipe.transfer.tune:
        source = shlex.quote(recipe.transfer.source)
        command = f"polyglance train --from {source} --data DATA --out RUN"
        first = [
            "```sh",
            command,
            "```",
            "",
            "With `--set` for what differs from this recipe:",
        ]
    return [
        *first,
        "",
        "```json",
        json.dumps(recipe.model_dump(mode="json"), ensure_ascii=False, indent=2),
        "```",
    ]


def _changes(recipe: Recipe) -> list[str] | None:
    """Differences from the package's recipe of the same name; None if there is none."""
    if recipe.name not in recipe_names():
        return None
    own = _flat(recipe.model_dump(mode="json"))
    theirs = _flat(load_recipe(recipe.name).model_dump(mode="json"))
    if own.keys() != theirs.keys():
        return None
    return [f"{k}={json.dumps(v)}" for k, v in own.items() if v != theirs[k]]


def _flat(value: Any, above: str = "") -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        return {above: value}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= _flat(inner, f"{above}.{key}" if above else key)
    return found
