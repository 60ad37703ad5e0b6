"""A run of a pack: what it is, how it ended and its results, checked as it is read."""

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
from polyglance.studies.running.store import Ended

FORMAT = 1
MEASURES = "measures.json"
RESULT_NAME = re.compile(r"(\w[\w.-]*?)\.([\w+-]+)\.([\w-]+)(?:\.[0-9a-f]{12})?\.json")
"""Split, kinds and language of a result's file; the digest of its view."""
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)


@dataclass(frozen=True)
class PackedRun:
    """A finished run without its weights."""

    key: str
    identity: dict[str, Any]
    """What the key is the digest of."""
    ended: Ended
    results: dict[str, dict[str, Any]]
    """By the name of their file; ranks as arrays."""

    def write(self, writer: Writer) -> None:
        """Add the run to a pack."""
        results = {
            name: value if name == MEASURES else outlined(value, writer.put)
            for name, value in sorted(self.results.items())
        }
        about = {"identity": self.identity, "done": self.ended.as_dict(), "results": results}
        text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
        writer.put(f"runs/{self.key}.json", text.encode())


class Pack:
    """A file of finished runs."""

    def __init__(self, path: Path) -> None:
        """Open one, and check that it is one.

        Args:
            path: what `--pack` wrote.
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
        """What a run is; its digest is the key."""
        return self._identity(key, self._json(f"runs/{key}.json"))

    def read(self, key: str) -> PackedRun:
        """A run with everything in it."""
        about = self._json(f"runs/{key}.json")
        identity = self._identity(key, about)
        try:
            ended = _ended(about["done"])
            results = {
                name: _checked(name, value, self._reader.read, self.path)
                for name, value in about["results"].items()
            }
        except PolyglanceError:
            raise
        except _MALFORMED as error:
            raise self._reader.damaged(f"run {key}: {_short(error)}") from None
        return PackedRun(key, identity, ended, results)

    def _identity(self, key: str, about: dict[str, Any]) -> dict[str, Any]:
        identity = about.get("identity")
        if not isinstance(identity, dict) or json_digest(identity)[:24] != key:
            raise self._reader.damaged(f"run {key} is not what its key says")
        return identity

    def _json(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads(self._reader.read(name))
        except (ValueError, RecursionError) as error:
            raise self._reader.damaged(f"{name}: {_short(error)}") from None
        if not isinstance(value, dict):
            raise self._reader.damaged(f"{name} is no object")
        return value


def _ended(value: Any) -> Ended:
    """How a run went, with texts and numbers that a report can show."""
    ended = TypeAdapter(Ended).validate_python(value)
    for text in (ended.finished, ended.machine, ended.commit):
        if text is not None and not (text.isprintable() and len(text) < 200):
            raise ValueError("a text of done.json is none of a line")
    numbers = [ended.seconds, *ended.tokens.values()]
    counts = [ended.updates, ended.parameters, ended.updates_per_epoch, ended.memory]
    counts += [ended.threads, ended.best_update, ended.warmup, *ended.parts.values()]
    if not all(math.isfinite(n) and n >= 0 for n in numbers) or any(n and n < 0 for n in counts):
        raise ValueError("a number of done.json cannot be one")
    return ended


def _checked(name: str, value: Any, get: Callable[[str], bytes], path: Path) -> dict[str, Any]:
    """A result whose ranks are those of its images and captions."""
    if name == MEASURES:
        numbers = TypeAdapter(Measured).validate_python(value).values
        if not all(math.isfinite(number) for number in numbers.values()):
            raise ValueError("a measure is no number")
        return dict(value)
    match = RESULT_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"a result has the name {ascii(name)[:80]}")
    result = filled(value, get)
    names = result["photos"]
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ValueError(f"{name}: its images have no names")
    if type(result["folds"]) is not int or not 1 <= result["folds"] <= len(names):
        raise ValueError(f"{name}: another number of folds")
    report = as_report(result, path)
    if report.split != match[1] or list(result["languages"]) != [match[3]]:
        raise ValueError(f"{name}: of another split or language")
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
            raise ValueError(f"{name}: {what} that cannot be")


def _short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors()[0]
        return f"{'.'.join(map(str, detail['loc']))}: {detail['msg'].lower()}"[:120]
    return ascii(str(error))[1:-1][:120] if not isinstance(error, KeyError) else f"no {error}"[:120]
