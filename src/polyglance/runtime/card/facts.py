"""What a model's folder cannot tell its card: stored with an export as `card.json`."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from polyglance.errors import PolyglanceError
from polyglance.recipes import Recipe
from polyglance.runtime.card.languages import count_languages
from polyglance.runtime.card.measured import evaluation_lines
from polyglance.runtime.manifest import CARD, FILE, Manifest, file_digests, read_manifest
from polyglance.storage.files import read_json, write_json
from polyglance.storage.staging import staged

LARGE = ("ranks",)
"""Parts of evaluations that a card does not show."""


class CardFacts(BaseModel):
    """Facts for a card; what is empty is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    licences: list[str] = []
    languages: dict[str, dict[str, int]] = {}
    """Kind of text → language → number of texts."""
    missing: list[str] = []
    """Files of the training data that could not be counted."""
    evaluations: list[dict[str, Any]] = []
    speed: dict[str, dict[str, float]] = {}
    """JSON of `benchmarks/runtime.py`."""
    biases: dict[str, Any] = {}
    """JSON of `benchmarks/biases.py`."""
    reproduce: str = ""
    """How the model was made, if its recipe does not tell."""

    def over(self, stored: "CardFacts") -> "CardFacts":
        """These facts, and stored ones where these are empty."""
        known = {key: value for key, value in self.model_dump().items() if value}
        if "languages" in known:
            known["missing"] = self.missing
        return stored.model_copy(update=known)


@dataclass(frozen=True, kw_only=True)
class CardSources:
    """Where a card's facts come from that a model's folder does not contain.

    Args:
        evaluations: JSON files of `polyglance evaluate --json`, of captions or names; by default
            the folder's `evaluation.json`.
        licences: of the data and of pretrained parts, one line each.
        name: the card's title; the recipe's by default.
        data: the dataset that the model was trained on, to group languages by their kind of text:
            captions, sentences without images, or names of things.
        speed: JSON of `benchmarks/runtime.py`.
        biases: JSON of `benchmarks/biases.py`.
        reproduce: how the model was made, if its recipe does not tell, as after several trainings.
    """

    evaluations: Sequence[str | Path] = ()
    licences: Sequence[str] = ()
    name: str | None = None
    data: str | Path | None = None
    speed: str | Path | None = None
    biases: str | Path | None = None
    reproduce: str = ""


NO_SOURCES = CardSources()


def gather_facts(recipe: Recipe, sources: CardSources) -> CardFacts:
    """Read the facts of a card."""
    data, speed, biases = (
        None if one is None else Path(one) for one in (sources.data, sources.speed, sources.biases)
    )
    counts, missing = ({}, []) if data is None else count_languages(recipe, data)
    reports = [report for path in sources.evaluations for report in read_reports(Path(path))]
    return CardFacts(
        name=sources.name or "",
        licences=list(sources.licences),
        languages=counts,
        missing=missing,
        evaluations=reports,
        speed={} if speed is None else _speed(speed),
        biases={} if biases is None else _biases(biases),
        reproduce=sources.reproduce,
    )


def read_reports(path: Path) -> list[dict[str, Any]]:
    """The reports of an evaluation's JSON file, without ranks."""
    value = read_json(path)
    found = value.get("runs", [value]) if isinstance(value, dict) else value
    if not isinstance(found, list) or not found or not all(map(_is_report, found)):
        raise PolyglanceError(f"{path}: not an evaluation; write one with 'evaluate --json'")
    try:
        evaluation_lines(found)
    except PolyglanceError as error:
        raise PolyglanceError(f"{path}: damaged evaluation ({error})") from None
    return [_small(one) for one in found]


def keep_facts(folder: Path, facts: CardFacts) -> Manifest:
    """Store facts in an exported model's folder; its embeddings and id stay the same."""
    manifest = read_manifest(folder)
    with staged(folder) as new:
        shutil.copytree(folder, new, dirs_exist_ok=True)
        write_json(new / CARD, facts.model_dump(mode="json"))
        changed = manifest.renewed(file_digests(new))
        write_json(new / FILE, changed.model_dump(mode="json"))
    return changed


def stored_facts(folder: Path, manifest: Manifest) -> CardFacts:
    """The facts stored in an exported model's folder; none if there are none."""
    if CARD not in manifest.files:
        return CardFacts()
    try:
        return CardFacts.model_validate(read_json(folder / CARD))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise PolyglanceError(f"{folder / CARD}: field '{field}': {first['msg']}") from None


def _is_report(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("languages"), dict)


def _small(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report without its large parts."""
    return {
        key: _small(value) if isinstance(value, dict) else value
        for key, value in report.items()
        if key not in LARGE
    }


def _speed(path: Path) -> dict[str, dict[str, float]]:
    value = read_json(path)
    parts = list(value.values()) if isinstance(value, dict) else [None]
    if not parts or not all(
        isinstance(part, dict) and all(isinstance(one, int | float) for one in part.values())
        for part in parts
    ):
        raise PolyglanceError(f"{path}: not measurements; write them with benchmarks/runtime.py")
    return value


def _biases(path: Path) -> dict[str, Any]:
    value = read_json(path)
    if not isinstance(value, dict) or not {"pictures", "swapped", "neutral"} <= value.keys():
        raise PolyglanceError(f"{path}: not measurements; write them with benchmarks/biases.py")
    return value
