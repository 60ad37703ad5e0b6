"""What a run was trained on, in words for its card and for the cards of its exports."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyglance.runtime.folders import RUN
from polyglance.storage.files import has_file, read_json


def origin(config: Mapping[str, Any]) -> str:
    """A sentence on the training data.

    Args:
        config: content of a run's model.json.

    >>> origin({"data": "photos", "captions": 12000})
    'Trained on `photos`, 12,000 captions.'
    """
    found = f"Trained on `{config.get('data', 'data of an unknown name')}`"
    if "captions" in config:
        found += f", {config['captions']:,} captions"
    if "fingerprint" in config:
        found += f" (fingerprint `{config['fingerprint'][:16]}`)"
    return found + "."


def origin_of_run(folder: Path) -> str:
    """`origin` of the run in a folder; empty if there is none."""
    path = folder / RUN
    config = read_json(path) if has_file(path) else None
    return origin(config) if isinstance(config, dict) else ""
