"""Values of packaged recipes in version 0.1.0 that have changed since.

To keep the meaning of a recipe file in that version's form, these values are merged into its base.
Recipes based on one listed here need no entry.
"""

from collections.abc import Mapping
from typing import Any

_WORDS: dict[str, Any] = {"text": {"tokenizer": "words"}}
_SORTED: dict[str, Any] = {"training": {"buckets": 50}}
_TUPLES: dict[str, Any] = {
    "sampling": {"epoch": "images"},
    "training": {"buckets": 50, "clip": 2.0},
}

BEFORE: dict[str, dict[str, Any]] = {
    "embn": _TUPLES,
    "gella-vse": _SORTED,
    "kadar-bilingual": _SORTED,
    "kadar-monolingual": _SORTED,
    "liwe": {**_WORDS, **_SORTED},
    "liwe-joint": {
        "sampling": {"epoch": "images"},
        "training": {"schedule": {"every_updates": None}},
    },
    "mule": _TUPLES,
    "nce": {"training": {"epochs": 3}},
    "order": _SORTED,
    "scan-t2i": {**_WORDS, **_SORTED},
    "smalr": {"sampling": {"masking_reduction": "sum", "always_mask": False}},
    "smalr-hem": {
        "text": {
            "embedder": {"rare": {"assignment": {"kind": "paper", "soft": 0.0, "warmup": 0.0}}}
        },
        "loss": {"distance": "euclidean"},
        "sampling": {"epoch": "images", "cross_weight": 1.0, "cross_words_weight": 1.0},
        "training": _TUPLES["training"],
    },
    "translator": _SORTED,
    "video-vsepp": {
        "training": {"buckets": 50, "clip": 2.0},
        "image": {"dropout": 0.2, "output_dropout": 0.0},
        "text": {
            "embedder": {"ends": True},
            "dropout_by": "word",
            "encoder": {"initial": "uniform"},
        },
    },
    "vse-infinity": {**_WORDS, **_SORTED},
    "vsepp": {**_WORDS, **_SORTED},
    "vsrn": {**_WORDS, **_SORTED, "captioning": None, "loss": {"warmup_epochs": 1}},
}
"""Name of a recipe → its former fields, by section."""


def with_old_defaults(value: Mapping[str, Any]) -> dict[str, Any]:
    """Add the defaults of version 0.1.0 to a recipe in today's form.

    That version sorted captions by length, and used every language's best captions for early
    stopping, regardless of the training captions. The best are independent ones, so nothing
    changed for recipes that train on these.

    >>> with_old_defaults({"data": {"kinds": ["translation"]}})["data"]
    {'validation_kinds': 'best', 'kinds': ['translation']}
    >>> with_old_defaults({"training": {"lr": 0.1}, "data": {"kinds": ["independent"]}})
    {'training': {'buckets': 50, 'lr': 0.1}, 'data': {'kinds': ['independent']}}
    """
    training, data = value.get("training", {}), value.get("data")
    result = dict(value)
    if isinstance(training, Mapping):
        result["training"] = _SORTED["training"] | training
    if isinstance(data, Mapping) and data.get("kinds") not in (None, ["independent"]):
        result["data"] = {"validation_kinds": "best", **data}
    return result
