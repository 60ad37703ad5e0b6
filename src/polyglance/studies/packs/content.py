"""A run in a pack: its identity, outcome and results, validated when read."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from polyglance.errors import PolyglanceError
from polyglance.evaluation.reports.report import Report, as_report
from polyglance.storage.digest import json_digest
from polyglance.studies.experiments import Measured
from polyglance.studies.packs.archive import ABOUT, Reader, Writer
from polyglance.studies.packs.parts import filled, outlined
from polyglance.studies.running.store import RunOutcome

FORMAT = 1
MEASURES = "measures.json"
RESULT_NAME = re.compile(r"(\w[\w.-]*?)\.([\w+-]+)\.([\w-]+)(?:\.[0-9a-f]{12})?\.json")
"""Split, kinds and language in a result's file name; the digest of its view."""
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)


@dataclass(frozen=True)
class PackedRun:
    """A finished run without its weights."""

    key: str
    identity: dict[str, Any]
    """Its key is the digest of this."""
    outcome: RunOutcome
    results: dict[str, dict[str, Any]]
    """By file name; ranks as arrays."""

    def write(self, writer: Writer) -> None:
        """Add the run to a pack."""
        results = {
            name: value if name == MEASURES else outlined(value, writer.put)
            for name, value in sorted(self.results.items())
        }
        about = {"identity": self.identity, "done": self.outcome.as_dict(), "results": results}
        text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
        writer.put(f"runs/{self.key}.json", text.encode())


class Pack:
    """A file of finished runs."""

    def __init__(self, path: Path) -> None:
        """Open a pack and check its format.

        Args:
            path: a file written by `--pack`.
        """
        self.path, self._reader = path, Reader(path)
        about = self._json(ABOUT)
        found = about.get("format")
        if found != FORMAT:
            raise PolyglanceError(
                f"{path}: finished runs of format {ascii(found)[:20]}, not {FORMAT}; read "
                "it with the version that wrote it"
            )

    @property
    def keys(self) -> list[str]:
        return self._reader.keys

    def close(self) -> None:
        self._reader.close()

    def identity(self, key: str) -> dict[str, Any]:
        """The identity of a run; the key is its digest."""
        return self._identity(key, self._json(f"runs/{key}.json"))

    def read(self, key: str) -> PackedRun:
        """A run with everything in it."""
        about = self._json(f"runs/{key}.json")
        identity = self._identity(key, about)
        try:
            outcome = _read_outcome(about["done"])
            results = {
                name: _checked(name, value, self._reader.read, self.path)
                for name, value in about["results"].items()
            }
        except PolyglanceError:
            raise
        except _MALFORMED as error:
            raise self._reader.damaged(f"run {key}: {_short(error)}") from None
        return PackedRun(key, identity, outcome, results)

    def _identity(self, key: str, about: dict[str, Any]) -> dict[str, Any]:
        identity = about.get("identity")
        if not isinstance(identity, dict) or json_digest(identity)[:24] != key:
            raise self._reader.damaged(f"run {key} does not match its key")
        return identity

    def _json(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads(self._reader.read(name))
        except (ValueError, RecursionError) as error:
            raise self._reader.damaged(f"{name}: {_short(error)}") from None
        if not isinstance(value, dict):
            raise self._reader.damaged(f"{name} is not an object")
        return value


def _read_outcome(value: Any) -> RunOutcome:
    """The outcome of a run, with valid texts and numbers for a report."""
    outcome = TypeAdapter(RunOutcome).validate_python(value)
    for text in (outcome.finished, outcome.machine, outcome.commit):
        if text is not None and not (text.isprintable() and len(text) < 200):
            raise ValueError("a text in done.json is not a single line")
    numbers = [outcome.seconds, *outcome.tokens.values()]
    counts = [outcome.updates, outcome.parameters, outcome.updates_per_epoch, outcome.memory]
    counts += [outcome.threads, outcome.best_update, outcome.warmup, *outcome.parts.values()]
    if not all(math.isfinite(n) and n >= 0 for n in numbers) or any(n and n < 0 for n in counts):
        raise ValueError("a number in done.json is out of range")
    return outcome


def _checked(name: str, value: Any, get: Callable[[str], bytes], path: Path) -> dict[str, Any]:
    """A result whose ranks match its images and captions."""
    if name == MEASURES:
        numbers = TypeAdapter(Measured).validate_python(value).values
        if not all(math.isfinite(number) for number in numbers.values()):
            raise ValueError("a measure is not a number")
        return dict(value)
    match = RESULT_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"a result has the name {ascii(name)[:80]}")
    result = filled(value, get)
    names = result["photos"]
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ValueError(f"{name}: its images have no names")
    if type(result["folds"]) is not int or not 1 <= result["folds"] <= len(names):
        raise ValueError(f"{name}: wrong number of folds")
    report = as_report(result, path)
    if report.split != match[1] or list(result["languages"]) != [match[3]]:
        raise ValueError(f"{name}: wrong split or language")
    _check_ranks(name, report)
    return result


def _check_ranks(name: str, report: Report) -> None:
    outcome = report.results[0].outcome
    images, captions = len(outcome.image), len(outcome.caption_image)
    bounds: Mapping[str, tuple[np.ndarray, int, int]] = {
        "images": (outcome.image, images, len(report.images)),
        "captions": (outcome.caption_image, captions, images),
        "ranks of captions": (outcome.ranks.image_to_text, images, captions),
        "ranks of images": (outcome.ranks.text_to_image, captions, images),
    }
    for what, (found, count, below) in bounds.items():
        if found.shape != (count,) or not count or int(found.max()) >= below:
            raise ValueError(f"{name}: {what} are out of range")


def _short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors()[0]
        return f"{'.'.join(map(str, detail['loc']))}: {detail['msg'].lower()}"[:120]
    return ascii(str(error))[1:-1][:120] if not isinstance(error, KeyError) else f"no {error}"[:120]
