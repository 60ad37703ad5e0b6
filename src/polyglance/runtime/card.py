"""A model card: what a run's or exported model's folder, and its evaluations, say of it."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyglance.core.languages import language_name
from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe, check_recipe, load_recipe, recipe_names
from polyglance.runtime.background import read_background
from polyglance.runtime.card_languages import listed_languages
from polyglance.runtime.manifest import is_exported, read_manifest
from polyglance.runtime.places import RUN
from polyglance.storage.files import has_file, read_json, read_jsonl

METRICS, EVALUATION = "metrics.jsonl", "evaluation.json"
"""A run's validations, and an evaluation that lies beside a model."""
SHOWN = {"image_to_text": "image → text", "text_to_image": "text → image"}
UNRECORDED = "not recorded; name them with `polyglance card --licence`"


@dataclass(frozen=True)
class Facts:
    """What is known of a model without running it."""

    folder: Path
    recipe: Recipe
    languages: Sequence[str]
    rows: Mapping[str, str]
    drawings: bool
    limits: Sequence[str]
    data: str


def model_card(
    model: str | Path,
    evaluations: Sequence[str | Path] = (),
    licences: Sequence[str] = (),
    name: str | None = None,
    data: str | Path | None = None,
) -> str:
    """A card in Markdown; what is not known is said to be so, and nothing is made up.

    Args:
        model: the folder of a run or of an exported model.
        evaluations: JSON files of `polyglance evaluate --json`; `evaluation.json` of the folder
            is taken where none is named.
        licences: of the data and of pretrained parts, a line each.
        name: the card's title; the recipe's by default.
        data: the dataset that it was trained on: languages are then told by what was trained on
            in them, captions, sentences without pictures, or names of things.
    """
    folder = Path(model)
    facts = _of_export(folder) if is_exported(folder) else _of_run(folder)
    files = [Path(one) for one in evaluations]
    if not files and has_file(folder / EVALUATION):
        files = [folder / EVALUATION]
    parts = [
        [f"# {name or facts.recipe.name}", "", *_summary(facts)],
        ["## Model", "", *_table(facts.rows)],
        ["## Languages", "", *_languages(facts, None if data is None else Path(data))],
        ["## Data and licences", "", *_data(facts, licences)],
        ["## Evaluation", "", *_evaluations(files, folder)],
        ["## Limits", "", *(f"- {line}" for line in facts.limits)],
        ["## How to reproduce it", "", *_reproduce(facts)],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _of_export(folder: Path) -> Facts:
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
        rows["calibration"] = f"pictures fit from a score of {background.cutoff:.2f}"
        if background.kept == background.kept:  # a number
            rows["calibration"] += (
                f"; {background.kept:.0%} of right pictures do, and in {background.refused:.0%} of "
                "galleries without one none does"
            )
    limits = _limits(recipe, manifest.languages, manifest.drawings)
    if manifest.without_backbone:
        limits.append(f"It has no image network: {manifest.without_backbone}.")
    known = "The export does not say; the run that it was made of does."
    return Facts(folder, recipe, manifest.languages, rows, manifest.drawings, limits, known)


def _of_run(folder: Path) -> Facts:
    path = folder / RUN
    if not has_file(path):
        raise PolyglanceError(f"{folder}: neither a run nor an exported model; there is no {RUN}")
    config = read_json(path)
    if not isinstance(config, dict):
        raise PolyglanceError(f"{path}: not a model's; train it again")
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
    known = f"Trained on `{config.get('data', 'data of an unknown name')}`"
    if "captions" in config:
        known += f", {config['captions']:,} captions"
    if "fingerprint" in config:
        known += f" (fingerprint `{config['fingerprint'][:16]}`)"
    limits = _limits(recipe, languages, drawings)
    return Facts(folder, recipe, languages, rows, drawings, limits, known + ".")


def _common(recipe: Recipe, dim: int, similarity: str) -> dict[str, str]:
    return {
        "recipe": f"`{recipe.name}`" + (f" ({recipe.paper})" if recipe.paper else ""),
        "images": f"`{recipe.image.feature}`",
        "texts": f"words by `{recipe.text.embedder.kind}`, encoder `{recipe.text.encoder.kind}`",
        "embeddings": f"{dim} dimensions, {similarity} similarity",
    }


def _summary(facts: Facts) -> list[str]:
    lines = [facts.recipe.summary] if facts.recipe.summary else []
    use = (
        "Finds pictures with sentences and sentences with pictures: embeddings of both in one "
        "space. Intended for searching collections of pictures; it names nobody, and its scores "
        "are no ground for decisions about people."
    )
    return [*lines, "", use] if lines else [use]


def _table(rows: Mapping[str, str]) -> list[str]:
    return ["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in rows.items())]


def _languages(facts: Facts, data: Path | None) -> list[str]:
    return listed_languages(facts.recipe, facts.languages, data)


def _data(facts: Facts, licences: Sequence[str]) -> list[str]:
    return [facts.data, "", *(f"- {one}" for one in licences or [f"Licences: {UNRECORDED}."])]


def _limits(recipe: Recipe, languages: Sequence[str], drawings: bool) -> list[str]:
    """What follows from how the model is made."""
    found = []
    if drawings:
        found.append("It was trained on generated drawings only, not on photographs.")
    kind = str(recipe.text.embedder.kind)
    if kind == "table":
        found.append("Words that its training captions do not have are unknown to it, and named.")
    if len(languages) == 1:
        found.append("It knows one language.")
    found.append(
        "What its training pictures and captions do not show it cannot know, and it has their "
        "biases: who and what is pictured, and how it is described. None of them is measured here."
    )
    return found


def _evaluations(files: Sequence[Path], folder: Path) -> list[str]:
    lines: list[str] = []
    for path in files:
        for report in _reports(path):
            lines += [*_scores(report, path), ""]
    if not lines and (found := _validation(folder)):
        return [found]
    return lines[:-1] or [
        "None is stored: `polyglance evaluate MODEL --data DATA --json evaluation.json` makes one."
    ]


def _reports(path: Path) -> list[dict[str, Any]]:
    value = read_json(path)
    found = value.get("runs", [value]) if isinstance(value, dict) else []
    if not found or not all(isinstance(one, dict) and "languages" in one for one in found):
        raise PolyglanceError(f"{path}: not an evaluation; write one with 'evaluate --json'")
    return found


def _scores(report: Mapping[str, Any], path: Path) -> Iterator[str]:
    yield (
        f"Split `{report['split']}` of `{report['dataset']}`, {report['photographs']:,} images, "
        f"in percent, with 95 % intervals where there are any:"
    )
    yield ""
    ways = [f"{way} R@{k}" for way in SHOWN.values() for k in (1, 5, 10)]
    yield f"| language | {' | '.join(ways)} | mR |"
    yield f"| --- |{' ---: |' * (len(ways) + 1)}"
    try:
        for code, entry in report["languages"].items():
            cells = [f"{entry[way][f'r{k}']:.1f}" for way in SHOWN for k in (1, 5, 10)]
            yield f"| {language_name(code)} | {' | '.join(cells)} | {_with_interval(entry)} |"
        for label, entry in report.get("averages", {}).items():
            cells = [f"{entry[way][f'r{k}']:.1f}" for way in SHOWN for k in (1, 5, 10)]
            yield f"| mean ({label}) | {' | '.join(cells)} | {_with_interval(entry)} |"
    except (KeyError, TypeError) as error:
        raise PolyglanceError(f"{path}: damaged evaluation ({error!r}); write it again") from None


def _with_interval(entry: Mapping[str, Any]) -> str:
    pair = entry.get("intervals", {}).get("mr")
    value = f"{entry['mr']:.1f}"
    return value if pair is None else f"{value} ({pair[0]:.1f}–{pair[1]:.1f})"


def _validation(folder: Path) -> str:
    """The best validation of a run."""
    path = folder / METRICS
    rows = [row for _, row in read_jsonl(path)] if has_file(path) else []
    rows = [row for row in rows if isinstance(row, dict) and row.get("mr")]
    if not rows:
        return ""
    best = max(rows, key=lambda row: row.get("rsum", 0))
    scores = ", ".join(f"{code} {value:.1f}" for code, value in best["mr"].items())
    return f"On the validation split, which chose the weights, mR: {scores}."


def _reproduce(facts: Facts) -> list[str]:
    recipe, changes = facts.recipe, _changes(facts.recipe)
    if changes is not None:
        options = " ".join(f"--set {shlex.quote(one)}" for one in changes)
        command = f"polyglance train {recipe.name} --data DATA --out RUN {options}".rstrip()
        return ["```sh", command, "```"]
    return [
        "The recipe is not among the package's. As JSON:",
        "",
        "```json",
        json.dumps(recipe.model_dump(mode="json"), ensure_ascii=False, indent=2),
        "```",
    ]


def _changes(recipe: Recipe) -> list[str] | None:
    """What differs from the package's recipe of the same name; None where it has none."""
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
